"""Logouts, and the methods of an authentication service."""

import json

import jwt
import pytest

from tests.authentication import bearer, log_in, LOGIN, signed
from tests.http.authentication.authenticated import KEY, NOT_ALLOWED, refused, USER


@pytest.mark.parametrize("is_logged_in", [True, False])
@pytest.mark.parametrize("path", ["/authentication", "/authentication/1"])
@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH"])
def test_authentication_is_created_and_removed_only(client, verb, path, is_logged_in):
    headers = bearer(log_in(client)) if is_logged_in else {}
    data = None if verb == "GET" else LOGIN

    response = client.open(path, method=verb, json=data, headers=headers)

    assert response.status_code == 405
    assert response.headers["Allow"] == "POST,DELETE"


@pytest.mark.parametrize(
    ("verb", "path", "data", "status"),
    [
        ("POST", "/authentication", json.dumps(LOGIN), 201),
        ("POST", "/authentication/", json.dumps(LOGIN), 201),
        ("POST", "/authentication", "{}", 401),
        ("POST", "/authentication", "{", 400),
        ("POST", "/authentication", "{" * 2**21, 413),
        ("POST", "/authentication/1", "{}", 405),
        ("DELETE", "/authentication", None, 401),
        ("DELETE", "/authentication/1", None, 401),
        ("GET", "/authentication", None, 405),
        ("HEAD", "/authentication", None, 405),
        ("PUT", "/authentication/1", "{}", 405),
        ("OPTIONS", "/authentication", None, 204),
    ],
)
def test_nobody_keeps_an_answer_of_authentication(client, verb, path, data, status):
    response = client.open(
        path, method=verb, data=data, content_type="application/json"
    )

    assert response.status_code == status
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/authentication", "/authentication/{}"])
def test_logout_answers_with_what_the_token_says(client, path):
    token = log_in(client)

    response = client.delete(path.format(token), headers=bearer(token))

    claims = jwt.decode(token, options={"verify_signature": False})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    assert response.json == {
        "accessToken": token,
        "authentication": {"strategy": "jwt", "accessToken": token, "payload": claims},
        "user": USER,
    }


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("", {}, "Not authenticated"),
        ("/{good}", {}, "Not authenticated"),
        ("/other", bearer("{good}"), "Invalid access token"),
        ("/{other}", bearer("{good}"), "Invalid access token"),
        ("", bearer("{forged}"), "invalid signature"),
        ("/{forged}", bearer("{forged}"), "invalid signature"),
        ("", bearer("garbage"), "jwt malformed"),
        ("", KEY, NOT_ALLOWED),
    ],
    ids=str,
)
def test_logout_needs_the_token(client, path, headers, message):
    tokens = {"good": signed(), "other": signed(), "forged": signed("x" * 32)}
    headers = {name: value.format(**tokens) for name, value in headers.items()}

    response = client.delete(f"/authentication{path.format(**tokens)}", headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)
