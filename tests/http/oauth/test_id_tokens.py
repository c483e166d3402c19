"""ID tokens of OpenID Connect."""

from __future__ import annotations

import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.http.oauth.openid import CLAIMS
from tests.http.oauth.openid import giving
from tests.http.oauth.openid import provider as provider
from tests.http.oauth.openid import site as site
from tests.http.oauth.sites import INVALID
from tests.oauth_providers import ABSENT
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import CLIENT_SECRET
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import JWS
from tests.oauth_providers import KEY
from tests.oauth_providers import public_key
from tests.oauth_providers import serving_logins
from tests.oauth_providers import SIGNING_KEY

OTHER_KEY = rsa.generate_private_key(65537, 2048)


class Ago(int):
    """A time that is some seconds ago when the test runs, not when it is read."""


def dated(claims):
    """The claims with the times of now."""
    now = int(time.time())
    return {
        name: now - value if isinstance(value, Ago) else value
        for name, value in claims.items()
    }


def ids(site):
    return [user["fakeId"] for user in site.users()]


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"aud": [KEY]},
        {"azp": KEY},
        {"aud": [KEY, "another"], "azp": KEY},
        {"acr": "1", "amr": ["pwd"], "auth_time": Ago(5)},
        {"exp": Ago(5), "iat": Ago(-5)},
        {"exp": Ago(-1), "iat": Ago(0)},
        {"exp": Ago(-30), "iat": Ago(0), "nbf": Ago(0)},
    ],
    ids=str,
)
def test_token_that_is_right_logs_in(site, provider, claims):
    provider.forged = dated(claims)

    answer = site.log_in()

    assert error_of(answer) is None
    assert ids(site) == ["s-1"]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": ABSENT},
        {"iss": None},
        {"iss": []},
        {"aud": "another"},
        {"aud": "another", "azp": KEY},
        {"aud": ["another"], "azp": KEY},
        {"aud": ["another", "third"], "azp": KEY},
        {"aud": [KEY, "another"], "azp": "another"},
        {"aud": ""},
        {"aud": []},
        {"aud": None},
        {"aud": {KEY: 1}},
        {"aud": ABSENT},
        {"azp": "another"},
        {"nonce": "of another login"},
        {"nonce": ""},
        {"nonce": None},
        {"nonce": ABSENT},
        {"nonce": ABSENT, "nonce_supported": False},
        {"exp": Ago(600)},
        {"exp": 0},
        {"exp": "never"},
        {"exp": None},
        {"exp": ABSENT},
        {"iat": Ago(-6000)},
        {"iat": ABSENT},
        {"nbf": Ago(-6000)},
        {"sub": ABSENT},
        {"sub": None},
        {"sub": ""},
        {"sub": 1},
        {"sub": ["s-1"]},
        {"at_hash": "of another token"},
    ],
    ids=lambda claims: str({k: "-" if v is ABSENT else v for k, v in claims.items()}),
)
def test_token_that_says_something_wrong_is_refused(site, provider, claims):
    provider.forged = dated(claims)

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"kid": "1"},
        {"kid": "1", "jwk": public_key("1", OTHER_KEY)},
        {"jwk": public_key("2", OTHER_KEY)},
        {"kid": "2", "jku": "https://evil.example/keys"},
    ],
)
def test_token_of_another_key_is_refused(site, provider, header):
    provider.key, provider.header = OTHER_KEY, header

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("header", [{}, {"kid": "1"}])
@pytest.mark.parametrize("listed", [["RS256"], ["RS256", "none"], ["none"], None])
def test_token_without_a_signature_is_refused(provider, header, listed):
    """Even if the provider says that it gives such tokens."""
    provider.key, provider.algorithm, provider.header = None, "none", header
    provider.metadata = {"id_token_signing_alg_values_supported": listed}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer.status_code == 302
    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("header", [{}, {"kid": "1"}])
@pytest.mark.parametrize("listed", [["RS256"], ["RS256", "HS256"], None])
@pytest.mark.parametrize("secret", ["of the application", "of the public key"])
def test_token_that_is_signed_with_a_secret_is_refused(
    provider, header, listed, secret
):
    published = json.dumps(provider.keys(None).json).encode()
    provider.key = CLIENT_SECRET if secret == "of the application" else published
    provider.algorithm, provider.header = "HS256", header
    provider.metadata = {"id_token_signing_alg_values_supported": listed}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_token_of_another_algorithm_than_announced_is_refused(site, provider):
    provider.algorithm = "RS512"

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize(
    "change",
    [
        lambda token: ABSENT,
        lambda token: None,
        lambda token: 1,
        lambda token: [token],
        lambda token: "",
        lambda token: "a.b.c",
        lambda token: f"{token}.a.b",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token[:-9] + ("A" if token[-9] != "A" else "B") + token[-8:],
        lambda token: JWS.encode(b"[]", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: JWS.encode(b"1", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: JWS.encode(b"\xff", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: "eyJhbGciOltdfQ.e30.AA",
        lambda token: "W10.e30.AA",
    ],
)
def test_what_is_no_token_is_refused(site, provider, change):
    provider.answers["token"] = giving(provider, change)

    answer = site.log_in()

    assert (answer.status_code, site.users()) == (302, [])
    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_token_of_another_login_is_refused(site, provider):
    seen = []
    provider.answers["token"] = giving(
        provider, lambda token: seen.append(token) or token
    )
    site.log_in()
    provider.answers["token"] = giving(provider, lambda token: seen[0])

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_profile_adds_to_the_token(site, provider):
    provider.answers["profile"] = as_json({"sub": "s-1", **CLAIMS})

    site.log_in()

    assert site.users() == [{**ADA_USER, "fakeId": "s-1"}]


@pytest.mark.parametrize("sub", ["s-2", "S-1", "", None, 1, ["s-1"]], ids=repr)
def test_profile_of_somebody_else_is_refused(site, provider, sub):
    provider.answers["profile"] = as_json({"sub": sub, **CLAIMS})

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


def test_what_the_token_says_counts(site, provider):
    provider.forged = {"email": "ada@example.com", "email_verified": False}
    provider.answers["profile"] = as_json({"sub": "s-1", **CLAIMS})

    site.log_in()

    assert [user["email"] for user in site.users()] == [None]


@pytest.mark.parametrize("endpoint", [ABSENT, None])
def test_provider_without_a_profile_is_enough(provider, endpoint):
    provider.metadata = {"userinfo_endpoint": endpoint}
    provider.forged = CLAIMS

    with serving_logins({"fake": provider}) as site:
        site.log_in()

        assert site.users() == [{**ADA_USER, "fakeId": "s-1"}]


@pytest.mark.parametrize(
    "said", [{}, {"email_verified": None}, {"email_verified": "yes"}], ids=str
)
def test_email_is_left_out_unless_the_provider_calls_it_verified(site, provider, said):
    provider.answers["profile"] = as_json({"sub": "s-1", "email": ADA["email"], **said})

    site.log_in()

    assert [user["email"] for user in site.users()] == [None]


def test_unknown_key_is_fetched_once_it_is_used(site, provider):
    site.log_in()
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}
    provider.published = {"2": OTHER_KEY}

    answers = [site.log_in(), site.log_in()]

    assert [error_of(answer) for answer in answers] == [None, None]


def test_keys_are_fetched_once_as_long_as_they_fit(site, provider):
    fetched = []
    provider.answers["keys"] = lambda request: (
        fetched.append(request.path) or provider.keys(request)
    )

    for _ in range(3):
        site.log_in()

    assert fetched == ["/keys"]


def test_key_that_is_not_published_is_refused(site, provider):
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_key_that_was_taken_back_is_refused_once_another_is_used(site, provider):
    site.log_in()
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}
    provider.published = {"2": OTHER_KEY}
    site.log_in()
    provider.key, provider.header = SIGNING_KEY, {"kid": "1"}

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize(
    "keys",
    [[], {}, {"keys": []}, {"keys": [{}]}, {"keys": 1}, {"keys": [1]}, None, "x"],
)
def test_keys_that_make_no_sense_are_an_error_for_people(site, provider, keys):
    provider.answers["keys"] = as_json(keys)

    answer = site.log_in()

    assert answer.status_code == 302
    assert answer_of(answer) == (HOME, {"error": INVALID})
