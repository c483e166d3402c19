"""Callers of services, by their tokens and the hooks of their users."""

import jwt
import pytest
from werkzeug.test import EnvironBuilder

from flask_records import BadRequest, Forbidden, NotAuthenticated, NotFound, Unavailable
from flask_records.http.blueprint import max_body_size
from tests.authentication import bearer, log_in, LOGIN, make_records, serving, signed
from tests.http.authentication.authenticated import refused, USER

STRANGER = {"user": None, "authentication": {}, "authenticated": False, "extra": {}}


@pytest.mark.parametrize(
    "header",
    [
        "Bearer {}",
        "bearer {}",
        "BEARER {}",
        "bEaReR  {}",
        "Bearer\t{}",
        "JWT {}",
        "jwt {}",
        "Jwt {}",
        "{}",
    ],
)
def test_schemes_that_have_a_token(client, header):
    headers = {"Authorization": header.format(log_in(client))}

    assert client.get("/secrets", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "Not authenticated"),
        ("Basic {}", "Not authenticated"),
        ("Basic YTpi", "Not authenticated"),
        ("Token {}", "Not authenticated"),
        ("Bearer: {}", "Not authenticated"),
        ("Bearers {}", "Not authenticated"),
        ("Digest username=ann, {}", "Not authenticated"),
        ("Bearer", "jwt malformed"),
        ("Bearer garbage", "jwt malformed"),
        ('Bearer "{}"', "invalid token"),
        ("Bearer {},", "invalid token"),
        ("Bearer Bearer {}", "jwt malformed"),
    ],
)
def test_headers_that_let_nobody_in(client, header, message):
    headers = {"Authorization": header.format(log_in(client))}

    response = client.get("/secrets", headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)


def test_public_method_knows_the_user_of_a_token(client):
    response = client.get("/echo", headers=bearer(log_in(client)))

    claims = response.json["authentication"]["payload"]
    assert claims["sub"] == "1"
    assert response.json == {
        "user": USER,
        "authentication": {"strategy": "jwt", "payload": claims},
        "authenticated": True,
        "extra": {},
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda: "garbage",
        lambda: "\xff.\xfe.\xfd",
        lambda: signed("x" * 32),
        lambda: signed(exp=1),
        lambda: signed(sub="99"),
    ],
    ids=["garbage", "bytes", "another secret", "expired", "nobody"],
)
def test_public_method_ignores_a_bad_token(client, make):
    response = client.get("/echo", headers=bearer(make()))

    assert response.status_code == 200
    assert response.json == {**STRANGER, "authentication": {"strategy": "jwt"}}


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_client_can_not_set_the_user(client, verb):
    claimed = {
        "user": {"id": 1},
        "authenticated": True,
        "authentication": {"strategy": "jwt", "payload": {"sub": "1"}},
        "params": {"user": {"id": 1}, "authenticated": True},
        "provider": None,
        "extra": {"user": {"id": 1}},
    }
    query = (
        "user[id]=1&authenticated=true&authentication[strategy]=jwt&provider="
        "&params[user][id]=1&extra[user][id]=1"
    )
    headers = {"User": "1", "Authenticated": "true", "X-User": "1", "Remote-User": "1"}
    data = claimed if verb == "POST" else None

    echo = client.open(f"/echo?{query}", method=verb, json=data, headers=headers)
    closed = client.open(f"/secrets?{query}", method=verb, json=data, headers=headers)

    assert echo.json == STRANGER
    assert (closed.status_code, closed.json) == (401, refused("Not authenticated"))


def test_hash_of_a_user_is_not_seen_even_if_nothing_hides_it():
    class Users:
        user = {"id": 1, "email": "ann@example.com", "age": None}

        def find(self, params):
            return [self.user]

        def get(self, id, params):
            return self.user

        def create(self, data, params):
            self.user = {**self.user, **data}
            return {"id": 1}

    with serving(make_records(users=Users())) as client:
        login = client.post("/authentication", json=LOGIN).json
        echo = client.get("/echo", headers=bearer(login["accessToken"])).json

    assert login["user"] == echo["user"] == USER


def test_login_and_logout_are_events_without_the_token():
    records = make_records()
    heard = []
    records.events()(lambda event, record, context: heard.append((event, record)))

    with serving(records) as client:
        heard.clear()
        client.post("/authentication", json={**LOGIN, "password": "wrong"})
        token = log_in(client)
        client.delete("/authentication", headers=bearer(token))

    claims = jwt.decode(token, options={"verify_signature": False})
    known = {"user": USER, "authentication": {"strategy": "local", "payload": claims}}
    assert heard == [
        ("login", known),
        ("logout", {**known, "authentication": {"strategy": "jwt", "payload": claims}}),
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotAuthenticated("Blocked"), 401),
        (Forbidden("Blocked"), 403),
        (NotFound("Blocked"), 401),
        (BadRequest("Blocked"), 401),
    ],
)
def test_user_that_a_hook_refuses_is_kept_out(error, status):
    records = make_records()

    with serving(records) as client:
        token = log_in(client)

        @records["users"].after("get")
        def block(method, context):
            raise error

        answers = [
            client.get("/secrets", headers=bearer(token)),
            client.post("/authentication", json=LOGIN),
            client.post(
                "/authentication", json={"strategy": "jwt", "accessToken": token}
            ),
            client.delete("/authentication", headers=bearer(token)),
        ]
        echo = client.get("/echo", headers=bearer(token))

    assert [answer.status_code for answer in answers] == [status] * 4
    assert echo.json == {**STRANGER, "authentication": {"strategy": "jwt"}}


def test_public_method_does_not_take_an_outage_for_a_bad_token():
    records = make_records()

    with serving(records) as client:
        token = log_in(client)

        @records["users"].after("get")
        def fail(method, context):
            raise Unavailable("Try again.")

        assert client.get("/echo", headers=bearer(token)).status_code == 503


def test_large_body_of_a_caller_who_is_refused_is_not_received(client):
    def size(**headers):
        environ = EnvironBuilder("/secrets", method="POST", headers=headers)
        return max_body_size(client.application, environ.get_environ(), default=5)

    assert size() == 0
    assert size(**bearer(log_in(client))) == 1024 * 1024
