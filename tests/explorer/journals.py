"""Applications whose calls are recorded, over real HTTP."""

from __future__ import annotations

from contextlib import contextmanager

import requests
import sqlalchemy as sa
from flask import Blueprint
from flask import Flask

from flask_records.explorer.journal.views import add_calls

from ..conftest import running
from ..models import Message


def allow_all(params):
    """Let all callers see calls."""


class Site:
    """A running application, and a look at its last calls."""

    def __init__(self, app, url):
        self.app = app
        self.url = url

    def send(self, verb, path, **options):
        """The response to a request."""
        return requests.request(verb, f"{self.url}/{path}", timeout=20, **options)

    def calls(self, after=0):
        """The last calls, newest first."""
        response = self.send("GET", f"_records/calls.json?after={after}")
        assert response.status_code == 200, response.text
        return response.json()["calls"]

    def call(self, id=None):
        """A call with its statements: the last one by default."""
        id = self.calls()[0]["id"] if id is None else id
        response = self.send("GET", f"_records/calls/{id}.json")
        assert response.status_code == 200, response.text
        return response.json()

    def call_of(self, verb, path, **options):
        """The call of a request."""
        self.send(verb, path, **options)
        return self.call()


@contextmanager
def recorded(db, records, url, check=allow_all, is_debug=True):
    """A site on an empty database."""
    app = Flask("tests")
    app.debug = is_debug
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SECRET_KEY"] = "tests only, and long enough for a key"
    db.init_app(app)
    records.init_app(app)
    explorer = Blueprint("explorer", __name__)
    explorer.register_error_handler(Exception, records.errors.handle)
    add_calls(explorer, check)
    app.register_blueprint(explorer, url_prefix="/_records")

    with app.app_context():
        db.create_all()

    try:
        with running(app) as address:
            yield Site(app, address)
    finally:
        with app.app_context():
            db.session.remove()
            db.drop_all()
            db.engine.dispose()


def fill(db, app, number=1500):
    """Add messages, so many that reading all of them is a warning."""
    with app.app_context():
        rows = [{"text": f"text {n}", "rank": n} for n in range(number)]
        db.session.execute(sa.insert(Message), rows)
        db.session.commit()

        if db.engine.dialect.name == "postgresql":
            db.session.execute(sa.text("ANALYZE"))
            db.session.commit()


def flat(parts):
    """The phases and names of parts, those inside of others after these."""
    return [
        step
        for part in parts
        for step in [(part["phase"], part["name"]), *flat(part["parts"])]
    ]
