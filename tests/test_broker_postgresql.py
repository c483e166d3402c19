"""The needs of the broker for PostgreSQL."""

from __future__ import annotations

import socket
import threading
import uuid
from contextlib import contextmanager
from contextlib import suppress

import pytest
import sqlalchemy as sa

from flask_records.realtime.bus.broker import BrokerError
from flask_records.realtime.bus.postgresql import GRANTS
from flask_records.realtime.bus.postgresql import PostgreSQLBroker
from flask_records.realtime.bus.postgresql import TABLE

from .databases import url_of
from .faults.postgresql import postgresql

KEY_DATA = b"K\0\0\0\x0c"
"""The head of the message with the id of the process that serves a connection."""


@pytest.fixture
def database(server_urls):
    """The URL of an empty database."""
    return sa.make_url(url_of("postgresql", server_urls))


@pytest.fixture
def engine(database):
    engine = sa.create_engine(database, isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


@pytest.fixture
def channel(engine):
    channel = f"tests {uuid.uuid4().hex}"
    yield channel

    with engine.connect() as connection:
        connection.exec_driver_sql(f'DROP SCHEMA IF EXISTS "{channel}" CASCADE')


@contextmanager
def broker_at(url, channel):
    broker = PostgreSQLBroker(url.render_as_string(hide_password=False), channel)

    try:
        yield broker
    finally:
        broker.close()


@pytest.fixture
def plain_user(engine, channel):
    """A user who may make nothing."""
    name = f"plain_{uuid.uuid4().hex[:12]}"

    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")

    yield name

    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP OWNED BY {name}")
        connection.exec_driver_sql(f"DROP ROLE {name}")


def test_statements_for_the_owner_are_in_the_error(database, channel, plain_user):
    url = database.set(username=plain_user, password="secret")
    table = TABLE.format(schema=f'"{channel}"')
    grants = GRANTS.format(schema=f'"{channel}"', user=f'"{plain_user}"')

    with broker_at(url, channel) as broker:
        with pytest.raises(BrokerError) as raised:
            broker.append(b"one")

    assert str(raised.value).endswith(
        f"Run this as the owner of the database:\n{table}{grants}"
    )


def test_plain_user_needs_what_the_error_says(database, engine, channel, plain_user):
    url = database.set(username=plain_user, password="secret")

    with engine.connect() as connection:
        for script in (TABLE, GRANTS):
            names = {"schema": f'"{channel}"', "user": f'"{plain_user}"'}
            connection.exec_driver_sql(script.format(**names))

    with broker_at(url, channel) as broker:
        start = broker.end()
        id = broker.append(b"one")

        assert broker.read(start, 10) == broker.recent() == [(id, b"one")]
        assert broker.lock("name", "token", 5)


def test_connections_that_wait_are_not_ended(database, engine, channel):
    with engine.connect() as connection:
        if connection.dialect.server_version_info < (14,):
            pytest.skip("PostgreSQL 13 does not end them")

    url = database.update_query_dict({"options": "-c idle_session_timeout=100"})

    with broker_at(url, channel) as broker:
        start = broker.end()
        assert broker.lock("name", "token", 5)

        assert broker.read(start, 0.5) == []

        assert not broker.lock("name", "other", 5)
        assert broker.read(broker.append(b"one"), 0) == []


@pytest.mark.slow
def test_entry_that_comes_too_late_is_not_appended():
    """The worker has sent it to its own connections, and later ones after it."""
    with postgresql() as server, broker_at(sa.make_url(server.url), "tests") as broker:
        broker.append(b"one")

        with server.paused():
            with pytest.raises(BrokerError):
                broker.append(b"late")

        broker.append(b"later")
        # What PostgreSQL has got meanwhile is done by then.
        broker.append(b"last")

        recent = [entry.data for entry in broker.recent()]
        assert recent == [b"one", b"later", b"last"]


def test_pooler_is_named(database, channel):
    with pooler(database) as url, broker_at(url, channel) as broker:
        for call in (broker.end, lambda: broker.read("1-1", 0)):
            with pytest.raises(BrokerError, match="A pooler, such as PgBouncer"):
                call()


@contextmanager
def pooler(database):
    """The URL of a server that hands connections to a database, and tells other ids of
    processes, as poolers do.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, args=(server, database), daemon=True).start()
        port = server.getsockname()[1]
        yield database.set(host="127.0.0.1", port=port)


def accept(server, database):
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            own = socket.create_connection((database.host, database.port or 5432))

            for each in ((client, own, bytes), (own, client, with_other_id)):
                threading.Thread(target=hand_over, args=each, daemon=True).start()


def hand_over(source, target, change):
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(change(data))

    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)

        each.close()


def with_other_id(data):
    head, key, rest = data.partition(KEY_DATA)
    return head + key + b"\x7f\x7f" + rest[2:] if key else data
