"""Calls as they come over a socket, where values have types."""

from __future__ import annotations

import json

from flask_records import Params
from flask_records.http.formatter import dumps
from flask_records.realtime.named_calls import context_of, run


def over_socket(app, path, query):
    """Return what a find gives to a connection."""

    def params_of(query):
        return Params(query, provider="socketio")

    with app.app_context():
        records = app.extensions["records"]
        context = run(context_of(records, "find", [path, query], params_of))
        return json.loads(dumps(context.sent))
