"""Tokens that are not valid."""

import time

import pytest

from tests.authentication import ABSENT, bearer, signed
from tests.http.accounts.people import clock
from tests.http.authentication.token_files import is_accepted, refusal, segment, short

AUDIENCE = "jwt audience invalid. expected: https://yourdomain.com"

ISSUER = "jwt issuer invalid. expected: feathers"

GONE = "The user of the token is gone."

HUGE = 10**400

INFINITY = float("inf")

NAN = float("nan")

NOT_TEXT = [True, [], {"a": 1}, 1.5, NAN]

NOT_A_TIME = ["", "9999999999", True, [1], {}, NAN, INFINITY]

NOBODY = ["", True, ["1"], {"$ne": 2}, 1.5, NAN, HUGE]


def test_token_of_another_secret_is_refused(client):
    assert refusal(client, signed("x" * 32)) == (401, "invalid signature")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 1}, "jwt expired"),
        ({"exp": int(time.time()) - 1}, "jwt expired"),
        ({"exp": -HUGE}, "jwt expired"),
        ({"nbf": int(time.time()) + 3600}, "jwt not active"),
        ({"nbf": HUGE}, "jwt not active"),
        ({"aud": "https://other.example"}, AUDIENCE),
        ({"aud": ["https://other.example"]}, AUDIENCE),
        ({"aud": "https://yourdomain.com.evil.test"}, AUDIENCE),
        ({"aud": "https://yourdomain.co"}, AUDIENCE),
        ({"iss": "other"}, ISSUER),
        ({"iss": "Feathers"}, ISSUER),
        ({"sub": "2"}, GONE),
        ({"sub": "ann@example.com"}, GONE),
        ({"sub": "1 OR 1=1"}, GONE),
        ({"sub": "\x00"}, GONE),
    ],
    ids=short,
)
def test_token_that_says_something_wrong_is_refused(client, claims, message):
    assert refusal(client, signed(**claims)) == (401, message)


@pytest.mark.parametrize(
    ("claims", "data"),
    [
        ({"exp": 1700000000.25}, {"name": "TokenExpiredError"}),
        ({"exp": -HUGE}, {"name": "TokenExpiredError"}),
        ({"nbf": HUGE}, {"name": "NotBeforeError"}),
        ({"aud": "https://other.example"}, {"name": "JsonWebTokenError"}),
        ({"sub": "01"}, {"name": "JsonWebTokenError"}),
        ({"sub": "2"}, None),
    ],
    ids=short,
)
def test_data_of_the_error_tells_programs_the_reason(client, claims, data):
    response = client.get("/secrets", headers=bearer(signed(**claims)))

    assert (response.status_code, response.json.get("data")) == (401, data)


def test_token_that_expires_once_it_was_verified_says_so(client):
    token = signed()
    client.get("/secrets", headers=bearer(token))

    with clock(61):
        data = client.get("/secrets", headers=bearer(token)).json["data"]

    assert data == {"name": "TokenExpiredError"}


@pytest.mark.parametrize("claim", ["iat", "exp", "aud", "iss", "sub", "jti"])
@pytest.mark.parametrize("value", [ABSENT, None], ids=["absent", "null"])
def test_claim_is_required(client, claim, value):
    assert refusal(client, signed(**{claim: value})) == (401, f"jwt has no {claim}")


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        *((name, value) for name in ("aud", "iss", "jti") for value in NOT_TEXT),
        *((name, value) for name in ("iat", "exp", "nbf") for value in NOT_A_TIME),
        *(("sub", value) for value in NOBODY),
        ("iat", HUGE),
        ("iat", -HUGE),
        ("exp", HUGE),
    ],
    ids=short,
)
def test_claim_of_a_wrong_type_is_refused(client, claim, value):
    assert refusal(client, signed(**{claim: value}))[0] == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"nbf": 0},
        {"nbf": int(time.time()) - 1},
        {"sub": 1},
        {"iat": int(time.time()) + 500},
        {"aud": ["https://other.example", "https://yourdomain.com"]},
        {"admin": True},
        {"headers": {"typ": "JWT"}},
        {"headers": {"typ": None}},
    ],
)
def test_token_that_servers_of_this_interface_accept(client, claims):
    assert is_accepted(client, signed(**claims))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "HS256", "kid": 1},
        {"alg": "HS256", "kid": None},
        {"alg": "HS256", "crit": ["exp"], "exp": 1},
        {"alg": "HS256", "crit": []},
        {"alg": "HS256", "b64": False, "crit": ["b64"]},
        [],
        1,
        None,
        b"",
        b"{",
        b"\xff",
        b"[" * 5000,
    ],
)
def test_header_that_is_none_is_refused(client, header):
    _, payload, signature = signed().split(".")

    answer = refusal(client, f"{segment(header)}.{payload}.{signature}")

    # Older versions of PyJWT know no critical headers, and look at the signature.
    assert answer in [(401, "invalid token"), (401, "invalid signature")]


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("garbage", "jwt malformed"),
        (".", "jwt malformed"),
        ("...", "jwt malformed"),
        ("a.b.c.d", "jwt malformed"),
        ("..", "invalid token"),
        ("a.b.c", "invalid token"),
        ("=.=.=", "invalid token"),
        ("é.è.ê", "invalid token"),
        ("\xff.\xfe.\x80", "invalid token"),
        ("a" * 2**20, "jwt malformed"),
        ("a." * 2**19, "jwt malformed"),
        (f"a.{'b' * 2**20}.c", "jwt malformed"),
    ],
    ids=short,
)
def test_garbage_is_no_token(client, token, message):
    posted = {"strategy": "jwt", "accessToken": token[: 2**20 - 100]}

    response = client.post("/authentication", json=posted)

    assert refusal(client, token) == (401, message)
    assert (response.status_code, response.json["message"]) == (401, message)


@pytest.mark.parametrize(
    "name", ["access_token", "accessToken", "token", "Authorization", "jwt", "bearer"]
)
def test_token_in_the_query_string_is_none(client, name):
    response = client.get("/secrets", query_string={name: f"Bearer {signed()}"})

    assert response.status_code == 401
    assert response.json["message"] == "Not authenticated"
