"""A database that can't serve a call at the moment is a 503, in a bounded time."""

import pytest
import sqlalchemy as sa
from flask import Flask

from ..databases import served, SERVERS, url_of
from ..processes import free_port

CALLS = [
    ("GET", "/messages", None),
    ("POST", "/messages", {"text": "Hello"}),
    ("DELETE", "/messages", None),
]


@pytest.fixture
def away(db, records, messages, request, tmp_path):
    """An app whose database is away."""
    port = free_port()
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'nowhere' / 'test.db'}",
        "postgresql": f"postgresql+psycopg://ann:secret@127.0.0.1:{port}/test",
        "mariadb": f"mariadb+pymysql://ann:secret@127.0.0.1:{port}/test",
    }
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = urls[request.param]
    db.init_app(app)
    records.init_app(app)
    return app


def assert_unavailable(answer, message):
    assert (answer.status_code, answer.json["message"]) == (503, message)
    assert answer.json["className"] == "unavailable"
    assert answer.headers["Retry-After"] == "1"


everywhere = pytest.mark.parametrize(
    "away", ["sqlite", "postgresql", "mariadb"], indirect=True
)


@everywhere
def test_calls_while_the_database_is_away(away, caplog):
    client = away.test_client()

    for _ in range(2):
        for method, path, body in CALLS:
            answer = client.open(path, method=method, json=body)
            assert_unavailable(answer, "The database is not available. Try again.")

    lines = [entry for entry in caplog.records if entry.name == "tests"]
    assert 1 <= len(lines) <= 3
    assert lines[0].message.startswith(
        "GET '/messages' failed. The database is not available. Try again. (Operational"
    )
    assert [entry.exc_info for entry in lines] == [None] * len(lines)
    assert "secret" not in caplog.text


@pytest.fixture
def crowded(db, records, messages, database_url):
    """An app with one connection, for which a call waits for a moment."""
    options = {
        "pool_size": 1,
        "max_overflow": 0,
        "pool_timeout": 0.1,
        "poolclass": sa.QueuePool,
    }

    with (
        served(db, records, database_url, SQLALCHEMY_ENGINE_OPTIONS=options) as app,
        app.app_context(),
    ):
        app.test_client().post("/messages", json={"text": "first"})
        yield app


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_wait_for_a_connection_that_the_application_holds(crowded, db, call):
    method, path, body = call

    with db.engine.connect():
        answer = crowded.test_client().open(path, method=method, json=body)

    assert_unavailable(answer, "The database is not available. Try again.")
    assert crowded.test_client().get("/messages/1").json["text"] == "first"


KILLS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mariadb": "SELECT CONCAT('KILL ', id) FROM information_schema.processlist"
    " WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}
"""The statements that end the connections of others, or select such statements."""


def end_connections(engine):
    """End the connections of an engine, as a server does that is restarted."""
    with sa.create_engine(engine.url, poolclass=sa.NullPool).connect() as connection:
        rows = connection.exec_driver_sql(KILLS[engine.dialect.name]).all()

        if engine.dialect.name == "mariadb":
            for (statement,) in rows:
                connection.exec_driver_sql(statement)


@pytest.fixture(params=SERVERS)
def on_server(request, db, records, messages, server_urls):
    """An app on a database that runs as a server."""
    url = url_of(request.param, server_urls)

    with served(db, records, url) as app, app.app_context():
        app.test_client().post("/messages", json={"text": "first"})
        yield app


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_connection_that_the_server_has_ended(on_server, db, call):
    method, path, body = call
    client = on_server.test_client()
    db.session.remove()
    end_connections(db.engine)

    answer = client.open(path, method=method, json=body)

    assert_unavailable(answer, "The database is not available. Try again.")
    assert client.open(path, method=method, json=body).status_code in (200, 201)
    assert client.get("/messages").status_code == 200
    assert db.engine.pool.checkedout() == 0


def test_connection_that_the_server_ends_in_a_call(on_server, db, messages):
    @messages.after("create")
    def end(method, context):
        end_connections(db.engine)

    client = on_server.test_client()

    answer = client.post("/messages", json={"text": "second"})

    assert_unavailable(answer, "The database is not available. Try again.")
    messages.after.disconnect(end, "create")
    assert [each["text"] for each in client.get("/messages").json["data"]] == ["first"]
