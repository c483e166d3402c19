"""Access tokens, their claims and their keys."""

import hashlib
import hmac
import time
import uuid

import jwt
import pytest

from tests.authentication import (
    bearer,
    CHEAP,
    log_in,
    LOGIN,
    make_records,
    SECRET,
    serving,
    signed,
)
from tests.http.authentication.token_files import (
    is_accepted,
    public_file,
    refusal,
    segment,
)


def test_header_and_claims_of_a_token(client):
    before = int(time.time())

    token = log_in(client)

    claims = jwt.decode(token, options={"verify_signature": False})
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "access"}
    assert before <= claims["iat"] <= time.time()
    assert uuid.UUID(claims["jti"]).version == 8
    assert claims == {
        "iat": claims["iat"],
        "exp": claims["iat"] + 86400,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": "1",
        "jti": claims["jti"],
    }


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        ("15m", 900),
        ("15 m", 900),
        ("45s", 45),
        ("12h", 43200),
        ("1d", 86400),
        ("2w", 1209600),
        (900, 900),
        ("900", 900),
        (None, 86400),
    ],
)
def test_token_lives_as_long_as_the_settings_say(lifetime, seconds):
    options = {"secret": SECRET, "passwords": CHEAP, "lifetime": lifetime}

    with serving(make_records(), options) as client:
        claims = client.post("/authentication", json=LOGIN).json["authentication"]

    assert claims["payload"]["exp"] - claims["payload"]["iat"] == seconds


def test_audience_and_issuer_of_the_settings():
    options = {"secret": SECRET, "passwords": CHEAP, "audience": "a", "issuer": "i"}

    with serving(make_records(), options) as client:
        claims = client.post("/authentication", json=LOGIN).json["authentication"]
        answers = [refusal(client, signed(aud="a")), refusal(client, signed(iss="i"))]

    assert (claims["payload"]["aud"], claims["payload"]["iss"]) == ("a", "i")
    assert answers == [
        (401, "jwt issuer invalid. expected: i"),
        (401, "jwt audience invalid. expected: a"),
    ]


@pytest.mark.parametrize(
    "algorithm",
    ["none", "None", "NONE", "nOnE", "", None, [], ["HS256"], {}, 1, "RS256", "HS512"],
)
@pytest.mark.parametrize("is_signed", [True, False])
def test_token_of_another_algorithm_is_refused(client, algorithm, is_signed):
    _, payload, signature = signed().split(".")
    header = segment({"alg": algorithm, "typ": "access"})
    token = f"{header}.{payload}.{signature if is_signed else ''}"

    assert refusal(client, token) == (401, "invalid algorithm")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_public_key_is_no_secret(keys, algorithm):
    options = {"passwords": CHEAP, "private_key": keys[algorithm]}
    _, payload, _ = signed().split(".")
    text = f"{segment({'alg': 'HS256', 'typ': 'access'})}.{payload}"

    with open(public_file(keys[algorithm]), "rb") as file:
        signature = hmac.digest(file.read(), text.encode(), hashlib.sha256)

    with serving(make_records(), options) as client:
        answer = refusal(client, f"{text}.{segment(signature)}")

    assert answer == (401, "invalid algorithm")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_tokens_of_key_files(keys, algorithm):
    options = {"passwords": CHEAP, "private_key": keys[algorithm]}

    with serving(make_records(), options) as client:
        token = log_in(client)
        status = client.get("/secrets", headers=bearer(token)).status_code

    assert status == 200
    assert jwt.get_unverified_header(token) == {"alg": algorithm, "typ": "access"}


def test_keys_can_be_text(keys):
    options = {"passwords": CHEAP}

    with open(keys["ES256"], encoding="ascii") as file:
        options["private_key"] = file.read()

    with serving(make_records(), options) as client:
        assert is_accepted(client, log_in(client))
