"""Hashes of several formats in one application."""

import logging
import sys

import pytest
from werkzeug import security

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
from tests.authentication import (
    ANN,
    ANY_LOGIN,
    bearer,
    log_in,
    LOGIN,
    make_records,
    SECRET,
    serving,
)
from tests.models import User

PASSWORD = ANN["password"]

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


def test_another_hash_of_the_same_password_ends_tokens():
    with client_of() as client:
        headers = bearer(log_in(client))
        client.patch("/users/1", json={"password": PASSWORD}, headers=headers)
        ended = client.get("/secrets", headers=headers)

    assert ended.json["message"] == "jwt revoked"


def test_hashes_of_the_application_are_those_of_logins():
    """A hook may make hashes that other programs know."""
    records = FlaskRecords(allow=ANY_LOGIN)
    records.add("authentication", AuthenticationService(custom_hashing=True))
    service = SQLAlchemyService(User, hidden=["password"])

    @records.add("users", service, public=["create"]).before("create")
    def hash_password(method, context):
        for body in context.bodies:
            body["password"] = security.generate_password_hash(body["password"])

    with serving(records, {"secret": SECRET}) as client:
        assert log_in(client)
        assert stored(client).startswith("scrypt:")


def test_spaces_after_a_hash_are_of_its_column():
    with client_of() as client:
        stored(client, f"{SCRYPT}   ")

        assert log_in(client)


def test_hash_of_bcrypt_needs_its_package(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "bcrypt", None)

    with client_of() as client:
        stored(client, "$2b$04$x")
        response = client.post("/authentication", json=LOGIN)

    assert response.status_code == 500
    assert "services[bcrypt]" in caplog.text


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
