"""Strategies of an application."""

import pytest

from flask_records import Strategy
from tests.authentication import API_KEY, bearer, LOGIN, make_records, serving, signed
from tests.http.authentication.authenticated import (
    KEY,
    NOT_ALLOWED,
    refused,
    SETTINGS,
    USER,
)


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("/vault", {"X-Api-Key": "guess"}, "Invalid API key"),
        ("/vault", {"X-Api-Key": ""}, "Invalid API key"),
        ("/vault", bearer("garbage"), "jwt malformed"),
        ("/vault", {}, "Not authenticated"),
        ("/secrets", KEY, NOT_ALLOWED),
    ],
)
def test_service_accepts_its_strategies_only(client, path, headers, message):
    response = client.get(path, headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)


def test_token_of_services_counts_whatever_others_there_are(client):
    response = client.get("/vault", headers={**KEY, **bearer(signed())})

    assert response.json["user"] == USER


def test_credentials_for_a_strategy_that_is_not_accepted_are_refused():
    own = Strategy(
        API_KEY.authenticate, lambda headers: {"strategy": "local", "email": "ann"}
    )

    with serving(make_records(strategies={"api-key": own})) as client:
        response = client.get("/vault")

    assert response.status_code == 401
    assert response.json == refused(NOT_ALLOWED)


@pytest.mark.parametrize(
    ("names", "statuses"),
    [
        (["local", "jwt"], [201, 201]),
        (["local"], [201, 401]),
        (["jwt"], [401, 201]),
        ([], [401, 401]),
    ],
)
def test_tokens_are_got_with_the_strategies_of_the_settings(names, statuses):
    logins = [LOGIN, {"strategy": "jwt", "accessToken": signed()}]

    with serving(make_records(), {**SETTINGS, "strategies": names}) as client:
        answers = [client.post("/authentication", json=one) for one in logins]

    assert [answer.status_code for answer in answers] == statuses


def test_token_is_issued_for_a_user_only():
    with serving(make_records(), {**SETTINGS, "strategies": ["api-key"]}) as client:
        data = {"strategy": "api-key", "key": "robot's key"}
        response = client.post("/authentication", json=data)

    assert response.status_code == 401
    assert response.json == refused("A token is issued for a user only.")


def test_strategy_of_the_application_gets_a_token_for_a_user():
    by_pin = Strategy(lambda service, data, params: {"user": service.get_user(1)})
    records = make_records(strategies={"api-key": API_KEY, "pin": by_pin})

    with serving(records, {**SETTINGS, "strategies": ["pin"]}) as client:
        response = client.post("/authentication", json={"strategy": "pin"})
        headers = bearer(response.json["accessToken"])

        assert response.json["authentication"]["strategy"] == "pin"
        assert client.get("/secrets", headers=headers).json["user"] == USER
