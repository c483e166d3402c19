"""Hashes of the application and ours, in one application."""

from __future__ import annotations

import logging
import sys

import bcrypt
import pytest
from argon2 import PasswordHasher
from flask import current_app
from werkzeug import security

from flask_records import check_password_hash, generate_password_hash
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


class Reversed:
    """A hasher of an application, with a format of its own."""

    def hash(self, password):
        return f"reversed:{password[::-1]}"

    def verify(self, password, hash):
        if not hash.startswith("reversed:"):
            raise ValueError("not reversed")

        return hash == self.hash(password)


class Updating(Reversed):
    def needs_update(self, hash):
        return not hash.startswith("reversed:")


class Peppered(Reversed):
    """A hasher that reads a setting of the application."""

    def hash(self, password):
        return super().hash(password + current_app.config["PEPPER"])


class Inconsistent:
    def hash(self, password):
        return password

    def verify(self, password, hash):
        return True


def client_of(**options):
    """A client of an application whose only user is Ann."""
    return serving(make_records(**options), {"secret": SECRET}, PEPPER="pepper")


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

    with client_of(hasher=name, rehash=True) as client:
        hashes = []

        for hash in (
            legacy,
            security.generate_password_hash(PASSWORD, "pbkdf2:sha256:10"),
        ):
            stored(client, hash)
            client.post("/authentication", json=LOGIN)
            hashes.append(stored(client))
            client.post("/authentication", json=LOGIN)
            hashes.append(stored(client))

    assert all(hash.startswith(STARTS[name]) for hash in hashes)
    assert (hashes[0], hashes[2]) == (hashes[1], hashes[3])


def test_new_password_of_the_same_text_ends_tokens_whatever_the_hasher():
    with client_of(hasher="werkzeug") as client:
        headers = bearer(log_in(client))
        client.patch("/users/1", json={"password": PASSWORD}, headers=headers)

        assert client.get("/secrets", headers=headers).json["message"] == "jwt revoked"


def test_hasher_of_the_application_makes_and_verifies_hashes():
    with client_of(hasher=Reversed()) as client:
        hash = stored(client)
        right = client.post("/authentication", json=LOGIN)
        wrong = client.post("/authentication", json={**LOGIN, "password": "wrong"})

    assert hash == "reversed:esroh tcerroc"
    assert (right.status_code, wrong.status_code) == (201, 401)


def test_hashes_that_the_hasher_of_the_application_does_not_know_are_verified():
    with client_of(hasher=Reversed()) as client:
        stored(client, SCRYPT)
        right = client.post("/authentication", json=LOGIN)
        wrong = client.post("/authentication", json={**LOGIN, "password": "wrong"})

    assert (right.status_code, wrong.status_code) == (201, 401)


def test_hasher_of_the_application_may_use_the_application():
    with client_of(hasher=Peppered()) as client:
        hash = stored(client)
        response = client.post("/authentication", json=LOGIN)

    assert hash == "reversed:reppepesroh tcerroc"
    assert response.status_code == 201


@pytest.mark.parametrize(
    "hasher", [Inconsistent(), object(), PasswordHasher(1, 8, 1)], ids=type
)
def test_hasher_that_does_not_verify_is_refused_at_the_start(hasher):
    with pytest.raises(RuntimeError, match="does not verify the hashes that it makes"):
        with client_of(hasher=hasher):
            pass


def test_bcrypt_without_its_package_is_refused_at_the_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "bcrypt", None)

    with pytest.raises(RuntimeError, match=r"flask-record-services\[bcrypt\]"):
        with client_of(hasher="bcrypt"):
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
    assert response.json["errors"] == {"password": "can't be hashed"}
    assert login.status_code == 401


def test_hash_of_an_unknown_format_is_logged_without_it(caplog):
    with client_of() as client, caplog.at_level(logging.WARNING):
        stored(client, "{SSHA}c2VjcmV0")
        response = client.post("/authentication", json=LOGIN)

    (record,) = caplog.records
    assert response.json["message"] == "Invalid login"
    assert record.getMessage().startswith("User 1 of 'users' can't log in, because")
    assert "c2VjcmV0" not in caplog.text


def test_views_hash_as_logins_verify():
    password = "a new secret"

    with client_of(hasher="werkzeug") as client:
        with client.application.app_context():
            hash = generate_password_hash(password)

        stored(client, hash)
        response = client.post("/authentication", json={**LOGIN, "password": password})

    assert security.check_password_hash(hash, password)
    assert response.status_code == 201


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
        assert check_password_hash(hash, password) is is_valid


class Counting(Reversed):
    """Counts the checks."""

    def __init__(self):
        self.checks = 0

    def verify(self, password, hash):
        self.checks += 1
        return super().verify(password, hash)


def test_unknown_name_takes_a_check_of_the_hasher():
    """Its time would tell who is a user otherwise."""
    hasher = Counting()

    with client_of(hasher=hasher) as client:
        checks = hasher.checks
        client.post("/authentication", json={**LOGIN, "email": "nobody@a.test"})

    assert hasher.checks == checks + 1
