"""Hashes of several formats in one application."""

from __future__ import annotations

import logging
import sys

import bcrypt
import pytest
from werkzeug import security

from tests.authentication import (
    ANN,
    bearer,
    log_in,
    LOGIN,
    make_records,
    SECRET,
    serving,
)

PASSWORD = ANN["password"]

STARTS = {"argon2": "$argon2id$", "werkzeug": "scrypt:", "bcrypt": "$2b$12$"}
"""The beginnings of new hashes, by the names of their hashers."""

SCRYPT = security.generate_password_hash(PASSWORD, "scrypt:1024:8:1")


def client_of(**options):
    """A client of an application whose only user is Ann."""
    return serving(make_records(**options), {"secret": SECRET})


def stored(client, hash=None):
    """The password hash of Ann, which may be replaced first."""
    users = client.application.extensions["records"]["users"]

    with client.application.app_context():
        if hash is not None:
            users._patch(1, {"password": hash})

        return users._get(1)["password"]


@pytest.mark.parametrize("name", STARTS)
def test_hasher_makes_the_hashes_of_passwords(name):
    with client_of(hasher=name) as client:
        hash = stored(client)
        response = client.post("/authentication", json=LOGIN)

    assert hash.startswith(STARTS[name])
    assert response.status_code == 201


@pytest.mark.parametrize(
    "name", ["argon2", "werkzeug", pytest.param("bcrypt", marks=pytest.mark.slow)]
)
def test_rehash_replaces_hashes_with_those_of_the_hasher(name):
    legacy = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    pbkdf2 = security.generate_password_hash(PASSWORD, "pbkdf2:sha256:10")

    with client_of(hasher=name, rehash=True) as client:
        hashes = []

        for hash in (legacy, pbkdf2):
            stored(client, hash)
            client.post("/authentication", json={**LOGIN, "password": "wrong"})
            assert stored(client) == hash

            for _ in range(2):
                client.post("/authentication", json=LOGIN)
                hashes.append(stored(client))

    assert all(hash.startswith(STARTS[name]) for hash in hashes)
    assert (hashes[0], hashes[2]) == (hashes[1], hashes[3])


def test_new_password_of_the_same_text_ends_tokens_whatever_the_hasher():
    with client_of(hasher="werkzeug") as client:
        headers = bearer(log_in(client))
        client.patch("/users/1", json={"password": PASSWORD}, headers=headers)

        assert client.get("/secrets", headers=headers).json["message"] == "jwt revoked"


def test_hasher_that_is_not_there_is_refused_at_the_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "bcrypt", None)
    unknown = r"hasher='md5'\) is not known. It can be 'argon2', 'bcrypt', 'werkzeug'"

    for name, message in [("bcrypt", r"services\[bcrypt\]"), ("md5", unknown)]:
        with pytest.raises(RuntimeError, match=message), client_of(hasher=name):
            pass


@pytest.mark.parametrize(
    ("name", "password"), [("bcrypt", "é" * 37), ("werkzeug", "\ud800")]
)
def test_password_that_the_hasher_refuses_is_a_400(name, password):
    with client_of(hasher=name) as client:
        body = {"email": "b@example.com", "password": password}
        response = client.post("/users", json=body)
        login = client.post("/authentication", json={**body, "strategy": "local"})

    assert response.status_code == 400
    assert response.json["errors"].keys() == {"password"}
    assert login.status_code == 401


def test_hash_of_an_unknown_format_is_logged_without_it(caplog):
    with client_of() as client, caplog.at_level(logging.WARNING):
        stored(client, "{SSHA}c2VjcmV0")
        response = client.post("/authentication", json=LOGIN)

    (record,) = caplog.records
    assert response.json["message"] == "Invalid login"
    assert record.getMessage().startswith("User 1 of 'users' can't log in, because")
    assert "c2VjcmV0" not in caplog.text


@pytest.mark.parametrize(
    ("hash", "password", "is_valid"),
    [
        (SCRYPT, PASSWORD, True),
        (SCRYPT, "wrong", False),
        (SCRYPT, "x" * 1025, False),
        (None, PASSWORD, False),
        ("", "", False),
    ],
)
def test_view_verifies_a_password(hash, password, is_valid):
    with client_of() as client, client.application.app_context():
        service = client.application.extensions["records"].authentication()
        assert service.verify_password(password, hash) is is_valid
