"""Providers that refuse PKCE, sign their profiles or tell odd addresses."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy.orm import Mapped, mapped_column
from werkzeug.wrappers import Response

from tests.http.oauth.messages import INVALID
from tests.oauth_providers import (
    answer_of,
    as_json,
    Base,
    error_of,
    HOME,
    JWS,
    KEY,
    make_members,
    moved,
    Provider,
    serving_logins,
    SIGNING_KEY,
)

OTHER_KEY = rsa.generate_private_key(65537, 2048)


class Person(Base):
    """A user with logins at two providers."""

    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str | None] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    fakeId: Mapped[str | None] = mapped_column(sa.String(50), unique=True)
    linkedinId: Mapped[str | None] = mapped_column(sa.String(50), unique=True)


class WithoutPKCE(Provider):
    """Answers as LinkedIn does to a client that PKCE was not enabled for."""

    def authorize(self, request):
        asked = request.args
        answer = urlencode({"code": "a-code", "state": asked["state"]})
        return moved(f"{asked['redirect_uri']}?{answer}")

    def token(self, request):
        if "code_verifier" in request.form:
            description = {"error_description": "Client authentication failed"}
            return as_json({"error": "invalid_client", **description}, 401)

        return as_json(self.grant({}))


@pytest.mark.parametrize("options", [{}, {"pkce": False}, {"pkce": True}], ids=str)
@pytest.mark.parametrize("name", ["fake", "linkedin"])
def test_provider_that_refuses_pkce_lets_users_in_without(turns, name, options):
    provider = turns.take(WithoutPKCE())
    provider.options = options

    records = make_members(Person)

    with serving_logins({name: provider}, records=records) as site:
        started = site.start(provider=name)
        answer = site.finish(started)

    is_used = options.get("pkce", name != "linkedin")
    assert ("code_challenge" in started.location) == is_used
    assert "state=" in started.location
    assert (error_of(answer) is None) == (not is_used)


def test_pkce_is_true_or_false(provider):
    provider.options = {"pkce": "plain"}

    with pytest.raises(RuntimeError, match=r"\['fake'\]\['pkce'\] must be True or"):
        with serving_logins({"fake": provider}):
            pass


# Profiles that are signed


def signed_profile(claims, key=SIGNING_KEY, kid="1"):
    text = JWS.encode(json.dumps(claims).encode(), key, "RS256", {"kid": kid})
    return Response(text, mimetype="application/jwt")


def test_profile_that_is_signed_is_read(openid_site, openid):
    profile = {"iss": openid.url, "aud": KEY, "sub": "s-1", "name": "Ada"}
    openid.answers["profile"] = lambda request: signed_profile(
        {**profile, "email": "ada@example.com", "email_verified": True}
    )

    assert error_of(openid_site.log_in()) is None
    [user] = openid_site.users()
    assert (user["name"], user["email"]) == ("Ada", "ada@example.com")


def test_keys_of_profiles_may_be_rotated(openid_site, openid):
    openid_site.log_in()
    openid.published = {"1": OTHER_KEY}
    openid.key = OTHER_KEY
    openid.answers["profile"] = lambda request: signed_profile(
        {"sub": "s-1", "name": "Ada"}, OTHER_KEY
    )

    assert error_of(openid_site.log_in()) is None
    assert openid_site.users()[0]["name"] == "Ada"


@pytest.mark.parametrize(
    "answer",
    [
        signed_profile({"sub": "s-1", "name": "Eve"}, OTHER_KEY),
        signed_profile({"sub": "s-2", "name": "Eve"}),
        signed_profile({"name": "Eve"}),
        signed_profile({"sub": "s-1", "name": "Eve", "aud": "another"}),
        signed_profile({"sub": "s-1", "name": "Eve", "iss": "https://x.example"}),
        signed_profile({"sub": "s-1", "name": "Eve", "exp": 1}),
        Response("e30.e30.", mimetype="application/jwt"),
        Response("..", mimetype="application/jwt"),
    ],
)
def test_profile_that_is_signed_by_others_or_for_others_is_refused(
    openid_site, openid, answer
):
    openid.answers["profile"] = answer

    assert answer_of(openid_site.log_in()) == (HOME, {"error": INVALID})
    assert openid_site.users() == []


def test_claims_of_the_id_token_serve_if_the_profile_is_encrypted(openid_site, openid):
    openid.forged = {"name": "Ada"}
    openid.answers["profile"] = Response("a.b.c.d.e", mimetype="application/jwt")

    assert error_of(openid_site.log_in()) is None
    assert openid_site.users()[0]["name"] == "Ada"


def test_profile_that_is_signed_needs_keys(site, provider, caplog):
    provider.answers["profile"] = signed_profile({"sub": "p-1"})

    assert error_of(site.log_in()) == INVALID
    assert "The profile is signed, and there are no keys." in caplog.text


# Addresses


@pytest.mark.parametrize(
    "metadata",
    [
        *(
            {name: None}
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")
        ),
        *(
            {name: "http://provider.example/x"}
            for name in ("token_endpoint", "userinfo_endpoint", "jwks_uri")
        ),
        {"authorization_endpoint": "http://127.0.0.1.evil.example/x"},
        {"authorization_endpoint": "http://localhost@evil.example/x"},
        {"token_endpoint": ["https://provider.example"]},
    ],
    ids=str,
)
def test_nonsense_is_told_and_not_kept(openid_site, openid, caplog, metadata):
    openid_site.log_in()
    openid.answers["profile"] = as_json({}, 500)
    openid_site.log_in()
    openid.answers.clear()
    caplog.clear()
    openid.metadata = metadata

    refused = openid_site.start()
    openid.metadata = {}

    [name] = metadata
    assert answer_of(refused) == (HOME, {"error": INVALID})
    assert "The login at fake failed: InvalidResponse: " in caplog.text
    assert repr(name) in caplog.text
    assert error_of(openid_site.log_in()) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "sso.localhost"])
def test_addresses_of_this_machine_need_no_https(openid_site, openid, host):
    openid.metadata = {"authorization_endpoint": f"http://{host}:1/authorize"}

    assert openid_site.start().location.startswith(f"http://{host}:1/authorize?")
