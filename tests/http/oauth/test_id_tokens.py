"""ID tokens of OpenID Connect: what is forged lets nobody in."""

import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.http.oauth.messages import INVALID
from tests.oauth_providers import (
    ABSENT,
    ADA_USER,
    answer_of,
    as_json,
    CLIENT_SECRET,
    error_of,
    HOME,
    JWS,
    KEY,
    present,
    public_key,
    serving_logins,
    SIGNING_KEY,
)

OTHER_KEY = rsa.generate_private_key(65537, 2048)


CLAIMS = {
    "name": "Ada Lovelace",
    "picture": "https://img.example/ada.png",
    "email": "ada@example.com",
    "email_verified": True,
}


@pytest.fixture
def provider(openid):
    return openid


def giving(provider, change):
    """A token endpoint that gives something else for an ID token."""

    def token(request):
        said = provider.token(request).json
        return as_json(present({**said, "id_token": change(said["id_token"])}))

    return token


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
        *({"iss": value} for value in ("https://evil.example", ABSENT, None)),
        *({"aud": value} for value in ("another", [], {KEY: 1}, None, ABSENT)),
        {"aud": "another", "azp": KEY},
        {"aud": ["another", "third"], "azp": KEY},
        {"aud": [KEY, "another"], "azp": "another"},
        {"azp": "another"},
        *({"nonce": value} for value in ("of another login", "", None, ABSENT)),
        {"nonce": ABSENT, "nonce_supported": False},
        *({"exp": value} for value in (Ago(600), 0, "never", None, ABSENT)),
        *({"iat": value} for value in (Ago(-6000), ABSENT)),
        {"nbf": Ago(-6000)},
        *({"sub": value} for value in (ABSENT, None, "")),
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
@pytest.mark.parametrize("listed", [["RS256", "none"], ["none"], None])
def test_token_without_a_signature_is_refused(provider, header, listed):
    """Even if the provider says that it gives such tokens."""
    provider.key, provider.algorithm, provider.header = None, "none", header
    provider.metadata = {"id_token_signing_alg_values_supported": listed}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer.status_code == 302
    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("header", [{}, {"kid": "1"}])
@pytest.mark.parametrize("listed", [["RS256", "HS256"], None])
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


@pytest.mark.parametrize(
    "change",
    [
        lambda token: ABSENT,
        lambda token: None,
        lambda token: 1,
        lambda token: [token],
        lambda token: "a.b.c",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token[:-9] + ("A" if token[-9] != "A" else "B") + token[-8:],
        lambda token: JWS.encode(b"[]", SIGNING_KEY, "RS256", {"kid": "1"}),
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


@pytest.mark.parametrize("sub", ["s-2", "S-1", None, ["s-1"]], ids=repr)
def test_profile_of_somebody_else_is_refused(site, provider, sub):
    provider.answers["profile"] = as_json({"sub": sub, **CLAIMS})

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


@pytest.mark.parametrize(
    ("said", "email"),
    [
        ({"email": "ada@example.com", "email_verified": False}, None),
        ({"email": "eve@example.com"}, None),
        ({"email": "eve@example.com", "email_verified": True}, "eve@example.com"),
        ({"email": "ada@example.com"}, "ada@example.com"),
    ],
)
def test_what_the_token_says_counts(site, provider, said, email):
    provider.forged = said
    provider.answers["profile"] = as_json({"sub": "s-1", **CLAIMS})

    site.log_in()

    assert [user["email"] for user in site.users()] == [email]


@pytest.mark.parametrize(
    ("said", "kept"), [("eve@x.yz", None), ("ada@x.yz", "ada@x.yz")]
)
def test_another_address_of_the_list_verifies_none_of_the_token(provider, said, kept):
    listed = [{"email": "ada@x.yz", "primary": True, "verified": True}]
    provider.options = {"emails_url": f"{provider.url}/emails"}
    provider.answers |= {
        "emails": as_json(listed),
        "profile": as_json({"sub": "s-1"}),
    }
    provider.forged = {"email": said}

    with serving_logins({"fake": provider}) as site:
        site.log_in()

        assert [user["email"] for user in site.users()] == [kept]


@pytest.mark.parametrize("endpoint", [ABSENT, None])
def test_provider_without_a_profile_is_enough(provider, endpoint):
    provider.metadata = {"userinfo_endpoint": endpoint}
    provider.forged = CLAIMS

    with serving_logins({"fake": provider}) as site:
        site.log_in()

        assert site.users() == [{**ADA_USER, "fakeId": "s-1"}]


def test_key_that_was_taken_back_is_refused_once_another_is_used(site, provider):
    site.log_in()
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}
    provider.published = {"2": OTHER_KEY}
    site.log_in()
    provider.key, provider.header = SIGNING_KEY, {"kid": "1"}

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


TENANT = "5f2c1a34-0000-4000-8000-9b8d7c6e5f4a"

MICROSOFT = "https://login.example/{}/v2.0"


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"iss": MICROSOFT.format(TENANT), "tid": TENANT}, None),
        ({"iss": MICROSOFT.format(TENANT), "tid": TENANT[::-1]}, INVALID),
        ({"iss": MICROSOFT.format(TENANT)}, INVALID),
        ({"iss": f"https://evil.example/{TENANT}/v2.0", "tid": TENANT}, INVALID),
    ],
)
def test_issuer_with_a_tenant_is_that_of_the_token(site, provider, claims, error):
    provider.metadata = {"issuer": MICROSOFT.format("{tenantid}")}
    provider.forged = claims

    assert error_of(site.log_in()) == error
