from __future__ import annotations

import os
import threading
import uuid
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from werkzeug.serving import make_server

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .models import Base
from .models import Message
from .models import Room
from .models import User

SERVERS = {
    "postgresql": "TEST_POSTGRESQL_URL",
    "mariadb": "TEST_MARIADB_URL",
}
"""The databases that run as servers, and what tells their URL."""


@pytest.fixture(scope="session")
def server_urls():
    """The URL of a new, empty database on each server that the environment names."""
    urls = {}
    engines = []
    name = f"records_{uuid.uuid4().hex[:12]}"

    for server, variable in SERVERS.items():
        if os.environ.get(variable):
            url = sa.make_url(os.environ[variable])
            engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
            engines.append(engine)
            urls[server] = url.set(database=name)

            with engine.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")

    yield urls

    for engine in engines:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name}")

        engine.dispose()


@pytest.fixture(params=["sqlite", *SERVERS])
def database_url(request, server_urls, tmp_path):
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"

    if request.param not in server_urls:
        pytest.skip(f"{SERVERS[request.param]} is not set")

    return server_urls[request.param].render_as_string(hide_password=False)


@pytest.fixture(scope="module", params=["sqlite", *SERVERS])
def module_url(request, server_urls):
    """The URL of an empty database of each kind, for what a module makes once."""
    if request.param != "sqlite" and request.param not in server_urls:
        pytest.skip(f"{SERVERS[request.param]} is not set")

    return server_urls.get(request.param, "sqlite://")


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def records():
    return FlaskRecords(app_errors=True)


@pytest.fixture
def users(records):
    return records.add(
        "users",
        SQLAlchemyService(User, hidden=["password"], whitelist=["$populate"]),
        public=True,
    )


@pytest.fixture
def rooms(records):
    return records.add(
        "rooms", SQLAlchemyService(Room, whitelist=["$populate"]), public=True
    )


@pytest.fixture
def messages(records):
    """A service with pages, where many records can be written at once."""
    return records.add(
        "messages",
        SQLAlchemyService(
            Message,
            paginate={"default": 10, "max": 50},
            multi=True,
            whitelist=["$populate", "$and", "$nor", "$not", "$like", "$search"],
        ),
        public=True,
    )


@pytest.fixture
def app(db, records, users, rooms, messages):
    """An app with the three services, on SQLite in memory."""
    with served(db, records, "sqlite://") as app:
        yield app


@contextmanager
def served(db, records, url):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        sa.event.listen(db.engine, "connect", enforce_foreign_keys)
        db.create_all()

    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.drop_all()
            db.engine.dispose()


def enforce_foreign_keys(connection, record):
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA foreign_keys = ON")


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def app_context(app):
    with app.app_context():
        yield


@contextmanager
def running(app):
    """The address of a server that answers real HTTP for an app."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()

    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def counted(engine):
    """The list of the statements that an engine runs in the block."""
    statements = []

    def remember(connection, cursor, statement, *rest):
        statements.append(statement)

    sa.event.listen(engine, "before_cursor_execute", remember)
    yield statements
    sa.event.remove(engine, "before_cursor_execute", remember)
