"""Passwords that users register and log in with."""

from __future__ import annotations

import pytest
from flask import Flask
from werkzeug.security import generate_password_hash

from flask_records import (
    AuthenticationService,
    BadRequest,
    FlaskRecords,
    hash_password,
    NotAuthenticated,
)
from tests.authentication import ANY_LOGIN
from tests.unit.test_passwords import ARGON2, CHEAP, HASHES, MALFORMED, PASSWORD


class Users:
    """One user, with the password of the registration."""

    user: dict[str, object] = {}

    def find(self, params):
        return [self.user] if self.user.get("email") == params.query["email"] else []

    def get(self, id, params):
        return self.user

    def create(self, data, params):
        self.user = {"id": 1, **data}
        return {"id": 1}

    def patch(self, id, data, params):
        self.user = {**self.user, **data}
        return self.user


@pytest.fixture
def users():
    return Users()


def client_of(users, costs=CHEAP, **options):
    """A client of an app with one user."""
    records = FlaskRecords(allow=ANY_LOGIN)
    records.add("users", users, public=["create"]).before("create")(hash_password())
    records.add("authentication", AuthenticationService(**options))
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32, "passwords": costs}
    records.init_app(app)
    return app.test_client()


@pytest.fixture
def client(users):
    return client_of(users)


def register(client, password):
    return client.post("/users", json={"email": "ann@a.test", "password": password})


def log_in(client, password, email="ann@a.test"):
    login = {"strategy": "local", "email": email, "password": password}
    return client.post("/authentication", json=login)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        *(
            ({"memory": value}, r"\['memory'\] must be an integer of 8 or more, not")
            for value in (0, 7, 1.5, "64", True, None)
        ),
        ("cheap", r"\['passwords'\] must be a mapping, not 'cheap'"),
        ({"rounds": 12}, r"\['passwords'\] has no key 'rounds'. The keys are 'memory'"),
    ],
)
def test_wrong_costs_are_refused_at_the_start(users, costs, message):
    with pytest.raises(RuntimeError, match=message):
        client_of(users, costs)


@pytest.mark.parametrize("password", ["a\0b", "\ud800", "\U0001f600" * 1024])
def test_user_logs_in_with_the_password_of_the_registration(client, password):
    registered = register(client, password)

    assert registered.status_code == 201
    assert log_in(client, password).status_code == 201
    assert log_in(client, password[:-1] + "?").status_code == 401


@pytest.mark.parametrize("call", [register, log_in])
def test_password_that_is_too_long_is_told_over_http(client, call):
    response = call(client, "x" * 1025)

    assert response.status_code == 400
    assert (
        response.json
        == BadRequest(
            "'password' has 1024 characters at most.",
            errors={"password": "is too long"},
        ).to_dict()
    )


@pytest.mark.parametrize("email", ["ann@a.test", "nobody@a.test"])
@pytest.mark.parametrize("hash", [None, ARGON2, MALFORMED[3]])
def test_failed_login_looks_the_same_whatever_there_is(client, users, hash, email):
    users.user = {"id": 1, "email": "ann@a.test", "password": hash}

    response = log_in(client, "wrong", email)

    assert response.status_code == 401
    assert response.json == NotAuthenticated("Invalid login").to_dict()


@pytest.mark.parametrize("name", HASHES)
def test_login_leaves_a_hash_of_any_kind_as_it_is(client, users, name):
    users.user = {"id": 1, "email": "ann@a.test", "password": HASHES[name]}

    responses = [log_in(client, PASSWORD), log_in(client, PASSWORD)]

    assert [response.status_code for response in responses] == [201, 201]
    assert users.user["password"] == HASHES[name]


@pytest.mark.parametrize(("options", "shortest"), [({}, 8), ({"min_length": 3}, 3)])
def test_new_password_has_a_shortest_length(users, options, shortest):
    costs = {"memory": 64, "passes": 1, **options}
    client = client_of(users, costs)

    short = register(client, "x" * (shortest - 1))
    statuses = [register(client, "x" * shortest).status_code]
    users.user["password"] = generate_password_hash("old")
    statuses.append(log_in(client, "old").status_code)

    problem = f"has fewer than {shortest} characters"
    assert (short.status_code, short.json["errors"]) == (400, {"password": problem})
    # Who has a shorter one goes on with it.
    assert statuses == [201, 201]
