"""Marks that revoke tokens, and their end."""

import time
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from tests.http.accounts.people import everywhere, is_valid, Token
from tests.http.revocation.revocations import log_in, log_out


@everywhere
def test_mark_of_a_key_never_goes_back(app, store):
    later = int(time.time()) + 60

    def put(mark):
        with app.app_context():
            store.put_mark("key", mark, later)
            return store.latest_mark("key", "other")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [7] * 8))

    assert [put(9), put(8), put(10)] == [9, 9, 10]


@everywhere
def test_user_and_revocation_of_a_token_are_read_by_one_statement(app, client, ann):
    token, statements = log_in(client), []
    is_valid(client, token)

    with app.app_context():
        engine = app.extensions["sqlalchemy"].engine

    sa.event.listen(
        engine, "before_cursor_execute", lambda *args: statements.append(args[2])
    )
    is_valid(client, token)

    assert ["FROM token" in statement for statement in statements] == [True, False]


@everywhere
def test_mark_is_removed_once_it_has_expired(app, client, ann, store):
    with app.app_context():
        store.put_mark("expired", 1, int(time.time()) - 1)
        store.put_mark("kept", 1, int(time.time()) + 60)

    log_out(client, log_in(client))

    with app.app_context():
        session = app.extensions["sqlalchemy"].session
        keys = set(session.scalars(sa.select(Token.digest)))

    assert (len(keys), "expired" in keys, "kept" in keys) == (2, False, True)
