"""Tokens that are remembered as verified."""

from __future__ import annotations

import time

import pytest

from flask_records import NotAuthenticated
from flask_records.authentication.tokens import MAX_VERIFIED, Tokens, VerifiedTokens
from tests.authentication import SECRET
from tests.http.authentication.token_files import OLDER


def test_remembered_token_expires():
    verified = VerifiedTokens()
    verified.add(b"1", {"exp": time.time() + 60})
    verified.add(b"2", {"exp": time.time()})

    assert verified.find(b"1") is not None
    assert verified.find(b"2") is None


def test_remembered_token_is_that_of_its_keys():
    tokens, others = Tokens(SECRET, (SECRET,)), Tokens(OLDER, (OLDER,))
    token, payload = tokens.create_token(1, token_id="x")
    assert tokens.verify_token(token) == payload

    with pytest.raises(NotAuthenticated, match="invalid signature"):
        others.verify_token(token)


def test_claims_of_a_remembered_token_are_nobody_elses_to_change():
    tokens = Tokens(SECRET, (SECRET,))
    token, payload = tokens.create_token(1, token_id="x")

    for _ in range(3):
        claims = tokens.verify_token(token)
        assert claims == payload
        claims["sub"] = "2"


def test_claims_that_can_be_changed_inside_are_not_remembered():
    verified = VerifiedTokens()
    verified.add(b"1", {"exp": time.time() + 60, "roles": ["admin"]})

    assert verified.find(b"1") is None


def test_only_so_many_tokens_are_remembered():
    verified, claims = VerifiedTokens(), {"exp": time.time() + 60}

    for number in range(MAX_VERIFIED + 1):
        verified.add(number.to_bytes(2), claims)

    assert verified.find((0).to_bytes(2)) is None
    assert verified.find(MAX_VERIFIED.to_bytes(2)) == claims
