"""An application that everybody may call, served by a gunicorn of one worker."""

import http.client
import json
import os
from contextlib import contextmanager

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, SQLAlchemyService

from .models import Base, Message
from .processes import started

WHITELIST = ["$and", "$ilike", "$like", "$not", "$search"]


def create_app():
    db, records = SQLAlchemy(model_class=Base), FlaskRecords(app_errors=True)
    service = SQLAlchemyService(
        Message, multi=True, whitelist=WHITELIST, paginate={"default": 10}
    )
    records.add("messages", service, public=True)
    app = Flask("tests.bounds")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["DATABASE_URL"]
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app


@contextmanager
def worker(folder, *options):
    """A gunicorn that serves the application from a file, and is stopped afterwards."""
    own = {"DATABASE_URL": f"sqlite:///{folder}/bounds.db"}
    environment = {**os.environ, **own, "XDG_RUNTIME_DIR": str(folder)}

    arguments = ["-w", "1", *options, "tests.bounds:create_app()"]

    with started(arguments, environment) as server:
        yield server


def request(host, verb, path, body=None, content_type="application/json"):
    """The status and the message of an answer."""
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request(verb, path, body, {"Content-Type": content_type})
    response = connection.getresponse()
    status, answer = response.status, json.loads(response.read())
    connection.close()
    return status, answer.get("message") if isinstance(answer, dict) else answer
