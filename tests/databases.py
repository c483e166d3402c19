"""Databases of tests: new and empty ones, on servers that others use as well, too."""

import os
import uuid
from contextlib import contextmanager, ExitStack

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase

from flask_records import FlaskRecords, SQLAlchemyService

SERVERS = {"postgresql": "TEST_POSTGRESQL_URL", "mariadb": "TEST_MARIADB_URL"}
"""The databases that run as servers, and what tells their URL."""

MISSING = {server: name for server, name in SERVERS.items() if not os.environ.get(name)}
"""Those that the environment does not name."""

DATABASES = ["sqlite", *(server for server in SERVERS if server not in MISSING)]
"""The kinds of databases that tests of all databases run on. A summary names the
others, since thousands of skipped tests take long.
"""


@contextmanager
def new_database(url):
    """Yield the URL of a new, empty database on the same server, and drop it after the
    block: nothing is found of an earlier run, or left to a later one. A URL of SQLite
    is yielded as it is.
    """
    kind = sa.make_url(url).get_backend_name()

    if kind == "sqlite":
        yield url
        return

    name = f"records_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")

        if kind == "postgresql":
            connection.exec_driver_sql(
                f"ALTER DATABASE {name} SET synchronous_commit = off"
            )

    try:
        yield engine.url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name}")

        engine.dispose()


def url_of(database, server_urls, path=""):
    """The URL of an empty database of a kind. A test is skipped where the environment
    names no server of that kind.

    :param path: The file of SQLite's database. It is in memory by default.
    """
    if database in SERVERS and database not in server_urls:
        pytest.skip(f"{SERVERS[database]} is not set")

    return server_urls.get(database, f"sqlite:///{path}" if path else "sqlite://")


def url_in(variable):
    """The URL in a variable of the environment. A test is skipped without it."""
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set")

    return os.environ[variable]


def redis_url():
    return url_in("TEST_REDIS_URL")


@contextmanager
def served(db, records, url, **config):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config.from_mapping(SQLALCHEMY_DATABASE_URI=url, **config)
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        sa.event.listen(db.engine, "connect", enforce_foreign_keys)
        db.create_all()

    try:
        yield app
    finally:
        with app.app_context():
            leave(db)


@contextmanager
def serving_models(url, services, records=None, **config):
    """A client of public services over models, on an empty database.

    :param services: The services by their paths, or models, of which clients may
        write many records at once.
    """
    records = records or FlaskRecords()

    for path, service in services.items():
        if isinstance(service, type):
            service = SQLAlchemyService(service, multi=True)

        bases = [*service.model.__mro__]
        records.add(path, service, public=True)

    db = SQLAlchemy(model_class=bases[bases.index(DeclarativeBase) - 1])

    with served(db, records, url, **config) as app:
        client = app.test_client()
        client.db, client.records = db, records
        yield client


EMPTYING = {
    "sqlite": ["DELETE FROM {}"],
    "postgresql": ["TRUNCATE {} RESTART IDENTITY CASCADE"],
    "mariadb": ["DELETE FROM {}", "ALTER TABLE {} AUTO_INCREMENT = 1"],
}


def empty(connection, table):
    """Remove all records of a table, and count from 1 again."""
    for statement in EMPTYING[connection.dialect.name]:
        connection.execute(sa.text(statement.format(table.name)))


def leave(db):
    """Disconnect from a database, and leave it empty."""
    db.session.remove()

    # A database in memory ends with its only connection.
    if not isinstance(db.engine.pool, sa.StaticPool):
        db.drop_all()

    db.engine.dispose()


@sa.event.listens_for(sa.Engine, "connect")
def leave_the_disk_alone(connection, record):
    """Let SQLite not wait for the disk, which takes longer than most tests."""
    is_sqlite = type(connection).__module__.startswith("sqlite3")

    # Python 3.12 may have begun a transaction already, by an option.
    if is_sqlite and not connection.in_transaction:
        connection.execute("PRAGMA synchronous = OFF")


def enforce_foreign_keys(connection, record):
    if "sqlite3" in type(connection).__module__:
        connection.execute("PRAGMA foreign_keys = ON")


@pytest.fixture(scope="session")
def server_urls():
    """The URL of a new, empty database on each server that the environment names."""
    with ExitStack() as databases:
        yield {
            server: databases.enter_context(new_database(os.environ[variable]))
            for server, variable in SERVERS.items()
            if server not in MISSING
        }


@pytest.fixture(params=DATABASES)
def database_url(request, server_urls, tmp_path):
    """The URL of an empty database of each kind."""
    return url_of(request.param, server_urls, tmp_path / "test.db")


@pytest.fixture(scope="module", params=DATABASES)
def module_url(request, server_urls):
    """The URL of an empty database of each kind, for what a module makes once."""
    return url_of(request.param, server_urls)


def pytest_terminal_summary(terminalreporter):
    for server, name in MISSING.items():
        terminalreporter.write_line(f"No test ran on {server}: {name} is not set.")
