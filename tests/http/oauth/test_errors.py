"""Errors at a login: what people read, and what the log says."""

from __future__ import annotations

import logging
import re

import pytest
import sqlalchemy as sa
from flask import abort
from werkzeug.wrappers import Response

from flask_records import Conflict
from tests.http.oauth.sites import AGAIN
from tests.http.oauth.sites import DENIED
from tests.http.oauth.sites import FAILED
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import LATER
from tests.http.oauth.sites import MISCONFIGURED
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.listening import running
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import moved
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import REFERENCE
from tests.oauth_providers import reference_of
from tests.oauth_providers import serving_logins

DESCRIPTION = "Scope 'email' isn't allowed (AADSTS70011)."

PLACES = {
    "authorize": "authorization endpoint",
    "token": "token endpoint",
    "profile": "profile",
}


def refuse(provider, endpoint, error, status=400):
    """Let an endpoint answer with an error, as providers do there."""
    query = f"error={error['error']}&error_description={error['error_description']}"

    def authorize(request):
        sent = request.args
        return moved(f"{sent['redirect_uri']}?{query}&state={sent['state']}")

    is_authorize = endpoint == "authorize"
    answer = authorize if is_authorize else as_json(error, status)
    provider.answers[endpoint] = answer


@pytest.mark.parametrize("endpoint", PLACES)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("access_denied", DENIED),
        ("server_error", LATER),
        ("temporarily_unavailable", LATER),
        ("invalid_grant", AGAIN),
        ("login_required", AGAIN),
        ("invalid_scope", MISCONFIGURED),
        ("invalid_client", MISCONFIGURED),
        ("unauthorized_client", MISCONFIGURED),
        ("redirect_uri_mismatch", MISCONFIGURED),
        ("a.code-of_Its.own", MISCONFIGURED),
    ],
)
def test_an_error_of_a_provider_has_a_message_that_fits_and_is_in_the_log(
    site, provider, caplog, endpoint, code, message
):
    caplog.set_level(logging.INFO)
    refuse(provider, endpoint, {"error": code, "error_description": DESCRIPTION})

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": message})
    level = logging.INFO if code == "access_denied" else logging.WARNING
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            level,
            f"The login at fake failed (reference {reference_of(answer)}):"
            f" {code!r} from its {PLACES[endpoint]}",
        )
    ]


def test_each_error_has_a_reference_of_its_own(site, provider):
    refuse(provider, "token", {"error": "server_error", "error_description": ""})

    references = {reference_of(site.log_in()) for _ in range(5)}

    assert len(references) == 5


@pytest.mark.parametrize("endpoint", ["token", "profile"])
@pytest.mark.parametrize("status", [401, 503])
def test_a_code_counts_more_than_a_status(site, provider, endpoint, status):
    error = {"error": "invalid_scope", "error_description": ""}
    refuse(provider, endpoint, error, status)

    assert error_of(site.log_in()) == MISCONFIGURED


def test_an_error_may_be_in_a_header(site, provider, caplog):
    """See RFC 6750."""
    challenge = 'Bearer error="insufficient_scope", error_description="No email"'
    provider.answers["profile"] = Response(
        "<h1>No</h1>", 403, headers={"WWW-Authenticate": challenge}
    )

    answer = site.log_in()

    assert error_of(answer) == MISCONFIGURED
    assert "'insufficient_scope' from its profile" in caplog.text


def test_the_reason_against_an_id_token_is_in_the_log(caplog):
    provider = OpenIDProvider(nonce="another")

    with running(provider) as provider.url, serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert error_of(answer) == INVALID
    assert (
        f"(reference {reference_of(answer)}): InvalidClaimError: nonce" in caplog.text
    )


def drop_users(site):
    with site.app.app_context():
        db = site.app.extensions["sqlalchemy"]
        db.session.execute(sa.text("DROP TABLE member"))
        db.session.commit()


def test_a_database_error_at_the_callback_is_a_message_as_others_are(site, caplog):
    address = site.authorize(site.start("?redirect=/page"))
    drop_users(site)

    answer = site.visit(address)

    assert answer_of(answer) == (f"{HOME}/page", {"error": FAILED})
    assert not re.search("member|sqlite|SELECT", answer.text + str(answer.headers))
    [record] = caplog.records
    assert record.getMessage() == (
        f"The login at fake failed (reference {reference_of(answer)})."
    )
    assert "no such table" in str(record.exc_info[1])


def test_a_database_error_at_the_start_is_a_message_as_others_are(site, caplog):
    id, token = site.register(email="ann@example.com")
    drop_users(site)

    answer = site.start(
        f"?feathers_token={token}", headers={"Sec-Fetch-Site": "same-origin"}
    )

    assert answer_of(answer) == (HOME, {"error": FAILED})
    assert f"(reference {reference_of(answer)})" in caplog.text


def test_a_database_error_without_a_redirect_is_json(provider):
    with serving_logins({"fake": provider}, {}) as site:
        address = site.authorize(site.start())
        drop_users(site)
        answer = site.visit(address)

    assert answer.status_code == 500
    assert REFERENCE.sub("", answer.json()["message"]) == FAILED


def raise_error():
    raise RuntimeError("the secret of the hook")


def refuse_email():
    raise Conflict("This email is blocked.")


@pytest.mark.parametrize(
    ("fail", "message"),
    [
        (raise_error, FAILED),
        (refuse_email, "This email is blocked."),
        (lambda: abort(403, "Members only."), "Members only."),
    ],
    ids=["error", "refusal", "abort"],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_error_of_a_hook_is_a_message_as_others_are(
    site, records, caplog, when, fail, message
):
    connect = getattr(records["users"], when)("create")
    connect(lambda method, context: fail())

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": message})
    assert "the secret of the hook" not in str(answer.headers)
    assert ("the secret of the hook" in caplog.text) == (message == FAILED)
    assert site.users() == []


def test_a_response_that_a_hook_raises_is_the_answer(site, records):
    records["users"].before("create")(
        lambda method, context: abort(Response("Please wait", 202))
    )

    answer = site.log_in()

    assert (answer.status_code, answer.text) == (202, "Please wait")


@pytest.mark.parametrize(
    ("code", "message"), [("access_denied", DENIED), ("invalid_scope", MISCONFIGURED)]
)
def test_an_error_without_a_state_is_in_the_log_too(site, caplog, code, message):
    caplog.set_level(logging.INFO)

    answer = site.get(f"/oauth/fake/callback?error={code}&error_description=No")

    assert answer_of(answer) == (HOME, {"error": message})
    [line] = [record.getMessage() for record in caplog.records]
    assert line.endswith(
        f"(reference {reference_of(answer)}): {code!r} from its authorization endpoint"
    )


def test_an_id_token_that_is_missing_is_in_the_log(caplog):
    provider = OpenIDProvider()
    provider.answers["token"] = as_json({"access_token": "x", "token_type": "Bearer"})

    with running(provider) as provider.url, serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert error_of(answer) == INVALID
    assert "There is no ID token." in caplog.text
