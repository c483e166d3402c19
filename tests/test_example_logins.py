"""Logins of the example application, and what is closed without one."""

from __future__ import annotations

from itertools import product

import pytest

from flask_records import Params
from flask_records.authentication.oauth_strategy import LOGIN
from flask_records.authentication.oauth_strategy import OAuthLogin
from flask_records.authentication.providers import KNOWN

from .authentication import bearer
from .example import CHANGES
from .example import data_of
from .example import kind
from .example import new_room
from .example import ON_SQLITE

CLOSED = [
    *product(["GET", "POST", *CHANGES], ["/rooms", "/rooms/1"]),
    *product(["GET", "POST", *CHANGES], ["/messages", "/messages/1"]),
    *product(["GET", *CHANGES], ["/users", "/users/1"]),
    *product(["DELETE"], ["/authentication", "/authentication/1"]),
]


@ON_SQLITE
@pytest.mark.parametrize(
    "header", [None, "Bearer", "Bearer x", "Bearer a.b.c", "Basic YTpi"]
)
@pytest.mark.parametrize(("verb", "path"), CLOSED)
def test_services_are_closed_without_a_token(api, verb, path, header):
    headers = {"Authorization": header} if header else {}

    answer = api(verb, path, {}, headers=headers)

    assert kind(answer) == (401, "NotAuthenticated")


@pytest.mark.parametrize("path", ["/users", "/users/1", "/rooms", "/messages/1"])
def test_head_is_closed_without_a_token(api, path):
    assert api("HEAD", path)[0] == 401


@pytest.mark.parametrize(
    ("verb", "path"),
    [(verb, "/authentication") for verb in ("GET", "PUT", "PATCH")]
    + [("POST", "/users/1")],
)
def test_what_is_not_there_is_not_there_without_a_token(api, verb, path):
    assert kind(api(verb, path, {})) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    "method", ["find", "get", "update", "patch", "remove", "_find"]
)
def test_open_registration_opens_no_other_method(api, method):
    headers = {"X-Service-Method": method}

    answer = api("POST", "/users", data_of("/users"), headers=headers)

    assert kind(answer) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("header", ["Bearer x", "Basic YTpi", "Bearer a.b.c"])
def test_wrong_token_does_not_hinder_registration_and_login(api, header):
    headers = {"Authorization": header}
    user = data_of("/users")
    login = {"strategy": "local", **user}

    registered = api("POST", "/users", user, headers=headers)
    logged_in = api("POST", "/authentication", login, headers=headers)

    assert (registered[0], logged_in[0]) == (201, 201)


def test_token_of_a_removed_user_is_refused(api, ann):
    api("DELETE", ann.path, None, ann.token)

    _, user = api.register(ann.email)
    answer = api("GET", "/rooms", None, ann.token)

    assert kind(answer) == (401, "NotAuthenticated")
    assert user["id"] > ann.id


def test_logout_ends_one_login(api, ann):
    other = api.token(ann.email)

    status, _ = api("DELETE", "/authentication", None, ann.token)

    verbs = [
        *(("GET", path) for path in ("/users", "/rooms", "/messages")),
        ("DELETE", "/authentication"),
    ]
    refused = [api(verb, path, None, ann.token) for verb, path in verbs]
    assert status == 200
    assert [(code, body["message"]) for code, body in refused] == [
        (401, "jwt revoked")
    ] * 4
    assert api("GET", "/rooms", None, other)[0] == 200


def test_token_logs_in_again_until_logout(api, ann):
    data = {"strategy": "jwt", "accessToken": ann.token}

    before = api("POST", "/authentication", data)
    api("DELETE", f"/authentication/{ann.token}", None, ann.token)
    after = api("POST", "/authentication", data)

    assert (before[0], before[1]["accessToken"]) == (201, ann.token)
    assert kind(after) == (401, "NotAuthenticated")


def test_token_in_the_query_string_or_the_body_is_none(api, ann):
    answers = [
        api("GET", f"/rooms?accessToken={ann.token}"),
        api("GET", f"/rooms?access_token={ann.token}"),
        api("POST", "/rooms", {**new_room(), "accessToken": ann.token}),
        api("GET", "/rooms", headers={"X-Authorization": f"Bearer {ann.token}"}),
        api("GET", "/rooms", headers={"Cookie": f"accessToken={ann.token}"}),
    ]

    assert [kind(answer) for answer in answers] == [(401, "NotAuthenticated")] * 5


def test_body_does_not_name_the_user_who_calls(api, ann, bob):
    data = {**new_room(), "user": {"id": bob.id}, "authenticated": True}
    headers = {**bearer(ann.token), "X-User": str(bob.id), "User": bob.path}

    refused = api("POST", "/rooms", data, headers=headers)
    _, room = api("POST", "/rooms", new_room(), headers=headers)

    assert (refused[0], sorted(refused[1]["errors"])) == (
        400,
        ["authenticated", "user"],
    )
    assert room["userId"] == ann.id


@pytest.mark.parametrize("name", ["google", "github"])
@pytest.mark.parametrize(
    "profile",
    [
        {"picture": "data:image/png;base64,AAAA", "avatar_url": "data:x"},
        {"picture": "HTTPS://img.example/1", "avatar_url": "//img.example/1"},
        {"email": "a" * 65 + "@example.com", "email_verified": True},
        {"email": "\ufb03@example.com", "email_verified": True},
        {"email": "Ada@Example.COM", "email_verified": True},
        {"name": "n" * 300},
        {"sub": "i" * 255, "id": "i" * 255},
    ],
    ids=lambda profile: ascii(profile)[:40],
)
def test_the_example_lets_users_in_with_such_fields(example, name, profile):
    login = OAuthLogin(KNOWN[name], {"sub": "1", "id": "1", **profile})

    with example.app.test_request_context():
        authentication = example.records["authentication"]
        params = Params(extra={LOGIN: login})
        user = authentication.create({"strategy": name}, params)["user"]
        stored = example.users.get(user["id"])
        example.users.remove(user["id"])

    assert {**user, "password": None} == stored
    assert user[f"{name}Id"] == login.raw["sub"]
    assert user["email"] in (None, "ada@example.com", "ffi@example.com")
