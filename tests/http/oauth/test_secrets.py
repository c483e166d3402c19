"""Logins log and show no secrets."""

from __future__ import annotations

import logging

from itsdangerous import URLSafeTimedSerializer

from tests.authentication import SECRET
from tests.http.oauth.sites import AGAIN
from tests.http.oauth.sites import cookie_of
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.http.oauth.sites import TOKEN
from tests.oauth_providers import as_json
from tests.oauth_providers import CLIENT_SECRET
from tests.oauth_providers import error_of
from tests.oauth_providers import token_of


def secrets_of(provider):
    return [CLIENT_SECRET, SECRET, TOKEN["access_token"], *provider.codes]


def test_a_login_logs_no_secret(site, provider, caplog):
    caplog.set_level(logging.INFO)
    id, token = site.register(email="ann@example.com")

    tokens = [token, token_of(site.link(token))]

    assert not any(one in caplog.text for one in [*secrets_of(provider), *tokens])


def test_what_a_provider_says_of_an_error_is_not_shown(site, provider, caplog):
    """Some repeat in it what they were sent."""
    provider.answers["token"] = lambda request: as_json(
        {
            "error": "invalid_grant",
            "error_description": f"{request.form} {request.authorization}\nForged line",
        },
        400,
    )
    started = site.start()
    verifier = URLSafeTimedSerializer(SECRET, salt="flask-records oauth login").loads(
        cookie_of(started).partition("=")[2]
    )["code_verifier"]

    answer = site.visit(site.authorize(started))

    shown = answer.text + str(answer.headers)
    logged = [record.getMessage() for record in caplog.records]
    told = [*secrets_of(provider), verifier]
    assert error_of(answer) == AGAIN
    assert not any(one in shown for one in [*told, "invalid_grant", "Forged"])
    assert not any(one in line for line in logged for one in [*told, "Forged"])


def test_the_secret_is_sent_to_the_token_endpoint_only(site, provider):
    started = site.start()
    back = site.follow(started)
    end = site.follow(back)

    seen = [*started.headers.values(), *back.headers.values(), *end.headers.values()]
    assert CLIENT_SECRET not in " ".join(seen)
    assert TOKEN["access_token"] not in " ".join(seen)
