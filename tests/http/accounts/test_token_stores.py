"""Tokens in a table."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from flask_records.authentication.token_stores import (
    digest_of,
    find_token,
    id_of,
    new_token,
    StoredToken,
)
from tests.http.accounts.people import clock, everywhere


@pytest.fixture
def context(app):
    with app.test_request_context():
        yield


@pytest.fixture
def token(context):
    return new_token()


@pytest.fixture
def stored(store, token):
    now = int(time.time())
    stored = StoredToken(
        id=id_of(token),
        kind="reset",
        owner="1",
        digest=digest_of(token),
        state="0" * 32,
        issued=now,
        expires=now + 60,
    )
    store.add(stored)
    return stored


@everywhere
def test_token_is_found_by_its_text_alone(store, token, stored):
    texts = [token, token.swapcase(), stored.digest, f"{stored.id}.{stored.digest}"]

    assert [find_token(store, "reset", text) for text in texts] == [stored, *[None] * 3]
    assert find_token(store, "refresh", token) is None


@everywhere
def test_token_is_not_found_once_it_has_expired(store, token, stored):
    with clock(61):
        assert find_token(store, "reset", token) is None


@everywhere
def test_token_is_replaced_by_its_digest(store, stored):
    digest = digest_of("another")

    done = [
        store.replace(stored.id, digest, state=""),
        store.replace(stored.id, stored.digest, digest=digest, expires=stored.expires),
        store.replace(stored.id, stored.digest, state=""),
    ]

    assert done == [False, True, False]
    assert store.get(stored.id) == replace(stored, digest=digest)


@everywhere
def test_token_is_removed_once(store, stored):
    assert [store.remove(stored.id) for _ in range(2)] == [True, False]
    assert store.get(stored.id) is None
