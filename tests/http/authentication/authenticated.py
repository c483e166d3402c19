"""A client of an application with users, and its answers."""

from __future__ import annotations

from flask import Flask

from flask_records import FlaskRecords
from tests.authentication import CHEAP, Echo, SECRET

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

KEY = {"X-Api-Key": "robot's key"}

USER = {"id": 1, "email": "ann@example.com", "age": None}

INVALID = "Invalid authentication information"

NOT_ALLOWED = f"{INVALID} (strategy not allowed in authStrategies)"


def refused(message):
    return {
        "name": "NotAuthenticated",
        "message": message,
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


def start(records=None, **config):
    """An application with the services of an extension, or with one that is closed."""
    app = Flask("tests")
    app.config.update(config)
    records = records or FlaskRecords()

    if not records.services:
        records.add("messages", Echo())

    records.init_app(app)
    return app
