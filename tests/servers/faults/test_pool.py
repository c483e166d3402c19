"""A pool without a free connection puts calls off, and works again."""

from __future__ import annotations

import time
import uuid
from concurrent import futures
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from ...databases import url_of
from ...processes import call, connected, drop_tables, exchange, gunicorn, logged_in

pytestmark = pytest.mark.slow

VARIABLES = {
    "FLASK_SQLALCHEMY_ENGINE_OPTIONS": '{"pool_size": 1, "max_overflow": 0,'
    ' "pool_timeout": 1}',
}
LOCK = ["BEGIN", "SELECT id FROM message FOR UPDATE"]
"""The statements after which a patch of a message waits."""


@pytest.fixture(scope="module")
def site(server_urls, tmp_path_factory):
    """The URL of a database, and a server with one connection for each worker."""
    folder = tmp_path_factory.mktemp("pool")
    text = url_of("postgresql", server_urls)

    with gunicorn(text, folder, **VARIABLES) as server:
        yield sa.make_url(text), server

    drop_tables(text)


@contextmanager
def locked(url):
    """Hold a lock that the writers of a message wait for."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

    with engine.connect() as connection:
        for statement in LOCK:
            connection.exec_driver_sql(statement)

        yield
        connection.exec_driver_sql("ROLLBACK")

    engine.dispose()


def answer(host, *request):
    """The status of an answer, and when to try again."""
    with closing(connected(host)) as connection:
        response, _ = exchange(connection, *request)

    return response.status, response.getheader("Retry-After")


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_calls_without_a_connection_are_put_off_and_served_later(site, verb):
    url, server = site

    with closing(connected(server.host)) as connection:
        token = logged_in(connection, uuid.uuid4().hex)
        _, message = call(connection, "POST", "/messages", {"text": "old"}, token)

    patch = "PATCH", f"/messages/{message['id']}", {"text": "new"}, token
    other = verb, "/messages", {"text": "later"} if verb == "POST" else None, token

    with futures.ThreadPoolExecutor(16) as pool:
        with locked(url):
            # Several for each worker, which has one connection.
            patches = [pool.submit(answer, server.host, *patch) for _ in range(6)]
            time.sleep(0.5)
            others = [pool.submit(answer, server.host, *other) for _ in range(8)]
            answers = [each.result() for each in others]

        patched = {each.result() for each in patches}

    assert (503, "1") in answers
    assert set(answers) <= {(200, None), (201, None), (503, "1")}
    assert (200, None) in patched
    assert patched <= {(200, None), (503, "1")}
    assert answer(server.host, *other)[0] in (200, 201)
    assert "Traceback" not in "".join(server.log)
