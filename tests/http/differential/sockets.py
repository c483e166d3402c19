"""Calls as they come over a socket, where values have types."""

import json

from werkzeug.datastructures import Headers

from flask_records.http.test_client import error_of
from flask_records.realtime import Connection
from flask_records.realtime.calls import answer_json


def over_socket(app, path, query):
    """Return what a find gives to a connection."""
    connection = Connection("1", Headers())

    with app.app_context():
        records = app.extensions["records"]
        error, *result = json.loads(
            answer_json(records, connection, "find", (path, query))
        )

    if error is not None:
        raise error_of(error)

    return result[0]
