"""Several authentication services and applications."""

import pytest
from argon2 import PasswordHasher

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
from tests.authentication import (
    ANN,
    ANY_LOGIN,
    bearer,
    CHEAP,
    Echo,
    log_in,
    LOGIN,
    make_records,
    SECRET,
    serving,
)
from tests.http.authentication.authenticated import SETTINGS, start, USER
from tests.models import User

ADMINS = {**SETTINGS, "issuer": "admins"}


def two_doors():
    """An extension with a service for each of two authentication services."""
    records = make_records()
    admin = AuthenticationService(settings="RECORDS_ADMIN_AUTHENTICATION")
    records.add("admin/authentication", admin)
    records.add("admin/secrets", Echo(), authentication="/admin/authentication/")
    return records


@pytest.mark.parametrize(
    "config",
    [
        {"RECORDS_ADMIN_AUTHENTICATION": ADMINS},
        {"RECORDS_ADMIN_AUTHENTICATION": {**SETTINGS, "audience": "admins"}},
    ],
)
def test_each_authentication_service_accepts_its_own_tokens(config):
    paths = ["/secrets", "/admin/secrets"]

    with serving(two_doors(), **config) as client:
        tokens = log_in(client), log_in(client, "/admin/authentication")
        statuses = [
            [client.get(path, headers=bearer(token)).status_code for path in paths]
            for token in tokens
        ]

    assert statuses == [[200, 401], [401, 200]]


def test_login_at_one_service_is_none_for_calls_of_another():
    records = two_doors()

    class Relay:
        def find(self, params):
            return records["echo"].as_caller(params).find()

    records.add("admin/relay", Relay(), authentication="admin/authentication")

    with serving(records, RECORDS_ADMIN_AUTHENTICATION=ADMINS) as client:
        headers = bearer(log_in(client, "/admin/authentication"))
        echo = client.get("/admin/relay", headers=headers).json

    assert (echo["authenticated"], echo["user"]) == (False, None)


@pytest.mark.parametrize("admin", [{}, {"secret": "a" * 32}])
def test_services_that_might_accept_the_same_tokens_do_not_start(admin):
    """Number 1 of the users may be number 1 of the admins."""
    message = "'admin/authentication' would accept tokens of 'authentication'"

    with pytest.raises(RuntimeError, match=message):
        start(two_doors(), SECRET_KEY=SECRET, RECORDS_ADMIN_AUTHENTICATION=admin)


def test_authentication_has_the_path_that_it_is_added_at():
    records = FlaskRecords()
    service = AuthenticationService("people", custom_hashing=True)
    records.add("v1/login", service)
    users = SQLAlchemyService(User, hidden=["password"])
    records.add("people", users, public=["create"], allow=ANY_LOGIN).before("create")(
        lambda method, context: context.bodies[0].update(
            password=PasswordHasher(1, 8, 1).hash(context.data["password"])
        )
    )

    with serving(records) as client:
        assert client.post("/people", json=ANN).status_code == 201

        token = log_in(client, "/v1/login")

        assert client.get("/people/1", headers=bearer(token)).json == USER
        assert client.post("/authentication", json=LOGIN).status_code == 404


def test_apps_of_one_extension_have_their_own_secrets():
    records = make_records()
    other = {"secret": "t" * 32, "passwords": CHEAP}

    with serving(records) as one, serving(records, other) as two:
        tokens = log_in(one), log_in(two)
        statuses = [
            [
                client.get("/secrets", headers=bearer(token)).status_code
                for token in tokens
            ]
            for client in (one, two)
        ]

    assert statuses == [[200, 401], [401, 200]]
