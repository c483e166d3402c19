"""Tests of an application, each in a transaction that is rolled back in the end."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask

from ...test_docs import module as module
from .documented import run_examples


@pytest.fixture
def app(module, database_url):
    """An application with the services of the page on a database of each kind."""
    run_examples("existing-tools.md", module)
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = database_url
    module.db.init_app(app)
    module.records.init_app(app)

    with app.app_context():
        if module.db.engine.dialect.name == "sqlite":
            module.begin_by_sqlalchemy(module.db.engine)

        module.db.create_all()
        yield app
        module.db.session.remove()
        module.db.drop_all()
        module.db.engine.dispose()


def texts(client):
    return [note["text"] for note in client.get("/notes").json]


def test_services_are_part_of_the_outer_transaction(module, app):
    db = module.db

    for _ in range(2):
        with module.rolled_back(app) as client:
            db.session.add(module.Note(text="by the application"))
            db.session.commit()
            assert texts(client) == ["by the application"]

            created = client.post("/notes", json={"text": "by a client"}).json
            refused = [{"text": "first"}, {"text": "second", "nope": 1}]
            assert client.post("/notes", json=refused).status_code == 400
            assert texts(client) == ["by the application", "by a client"]

            note = db.session.get(module.Note, created["id"])
            note.text = "changed by the application"
            db.session.commit()
            assert client.get(f"/notes/{note.id}").json["text"] == note.text

            assert client.delete(f"/notes/{note.id}").status_code == 200
            count = db.session.scalar(sa.select(sa.func.count(module.Note.id)))
            assert count == 1

        assert texts(app.test_client()) == []


def test_error_of_the_database_leaves_the_writes_of_the_test(module, app):
    with module.rolled_back(app) as client:
        assert client.post("/notes", json={"text": "first"}).status_code == 201

        def fail(method, context):
            module.db.session.execute(sa.text("SELECT * FROM nowhere"))

        with module.notes.after.connected_to(fail, "create"):
            assert client.post("/notes", json={"text": "next"}).status_code == 500

        assert texts(client) == ["first"]

    assert texts(app.test_client()) == []
