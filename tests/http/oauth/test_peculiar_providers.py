"""Providers that refuse PKCE or name odd addresses."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column
from werkzeug.wrappers import Response

from tests.http.oauth.messages import INVALID
from tests.oauth_providers import (
    answer_of,
    as_json,
    Base,
    error_of,
    HOME,
    make_members,
    moved,
    Provider,
    serving_logins,
)


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


# Profiles that are signed or encrypted


@pytest.mark.parametrize("text", ["a.b.c.d.e", "e30.e30.", ".."])
def test_claims_of_the_id_token_serve_for_a_profile_that_is_a_token(
    openid_site, openid, text
):
    openid.forged = {"name": "Ada"}
    openid.answers["profile"] = Response(text, mimetype="application/jwt")

    assert error_of(openid_site.log_in()) is None
    assert [(user["name"], user["fakeId"]) for user in openid_site.users()] == [
        ("Ada", "s-1")
    ]


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
