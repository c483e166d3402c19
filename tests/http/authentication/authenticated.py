"""A client of an application with users, and its answers."""

import re

from flask import Flask

from flask_records import FlaskRecords
from tests.authentication import CHEAP, Echo, SECRET

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

KEY = {"X-Api-Key": "robot's key"}

USER = {"id": 1, "email": "ann@example.com", "age": None}

INVALID = "Invalid authentication information"

NOT_ALLOWED = f"{INVALID} (strategy not allowed in authStrategies)"


TOKEN_REFUSAL = re.compile(r"jwt (?!revoked)|invalid (token|signature|algorithm)")


def refused(message):
    """The answer to a refused call. Programs learn what a token lacks from its data."""
    data = {"data": {"name": "JsonWebTokenError"}}
    return {
        "name": "NotAuthenticated",
        "message": message,
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
        **(data if TOKEN_REFUSAL.match(message) else {}),
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
