"""Tokens in a table."""

import time

import pytest

from tests.http.accounts.people import clock, everywhere


@pytest.fixture
def stored(app, store):
    now = int(time.time())
    stored = {
        "id": "0" * 32,
        "kind": "reset",
        "owner": "1",
        "digest": "a",
        "state": "",
        "issued": now,
        "expires": now + 60,
        "address": "",
    }

    with app.test_request_context():
        store.add(stored)
        yield stored


@everywhere
def test_token_of_its_kind_is_found_until_it_expires(store, stored):
    assert store.get(stored["id"], "reset") == stored
    assert store.get(stored["id"], "refresh") is None

    with clock(61):
        assert store.get(stored["id"], "reset") is None


@everywhere
def test_token_is_replaced_by_its_digest(store, stored):
    done = [
        store.replace(stored["id"], "b", state="x"),
        store.replace(stored["id"], "a", digest="b"),
        store.replace(stored["id"], "a", state="x"),
    ]

    assert done == [False, True, False]
    assert store.get(stored["id"], "reset") == {**stored, "digest": "b"}


@everywhere
def test_token_is_removed_once(store, stored):
    assert [store.remove(stored["id"]) for _ in range(2)] == [True, False]
