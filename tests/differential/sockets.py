"""Calls as they come over a socket, where values have types."""

from __future__ import annotations

from werkzeug.datastructures import Headers

from flask_records.realtime.calls import answer
from flask_records.realtime.connection import Connection


def over_socket(app, path, query):
    """Return what a find gives to a connection."""
    connection = Connection("test", Headers(), calls_per_second=10**9)

    with app.app_context():
        records = app.extensions["records"]
        error, found = answer(records, connection, "find", [path, query])

    return found
