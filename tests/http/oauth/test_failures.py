"""Providers that fail, lie or change: an error for people, and never of the server."""

import logging

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import abort
from werkzeug.wrappers import Response

from flask_records import Conflict, NotAuthenticated
from tests.http.oauth.messages import DENIED, FAILED, INVALID, REFUSED, SILENT
from tests.listening import running
from tests.oauth_providers import (
    ADA,
    answer_of,
    as_json,
    CLIENT_SECRET,
    error_of,
    HOME,
    moved,
    Provider,
    serving_logins,
    SIGNING_KEY,
)

TOKEN = {"access_token": "token-of-the-provider", "token_type": "Bearer"}

OTHER_KEY = rsa.generate_private_key(65537, 2048)

TROUBLE = (SILENT, INVALID, REFUSED, "Fake sent a profile without an id.")


# What a provider answers


@pytest.mark.parametrize("endpoint", ["token", "profile"])
@pytest.mark.parametrize(
    "answer",
    [
        Response("<html>Oops</html>", mimetype="text/html"),
        Response("<html>Oops</html>", 500, mimetype="text/html"),
        Response("[" * 100_000, mimetype="application/json"),
        Response("", 204),
        as_json([ADA, TOKEN]),
        as_json({}),
        lambda request: moved(request.url),
        Response("x", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error_for_people(
    site, provider, endpoint, answer
):
    provider.answers[endpoint] = answer

    answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)
    assert error_of(answer) in TROUBLE
    assert site.users() == []


@pytest.mark.parametrize(
    "change",
    [
        *({"access_token": value} for value in (None, "", ["x"], "a\r\nX: b")),
        {"token_type": []},
        {"expires_in": "soon"},
        {"error": {"a": 1}},
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_an_error_for_people(site, provider, change):
    provider.answers["token"] = as_json({**TOKEN, **change})

    answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)
    assert error_of(answer) in TROUBLE


def test_a_token_that_ends_within_a_minute_is_enough(site, provider):
    provider.answers["token"] = as_json({**TOKEN, "expires_in": 30})

    assert error_of(site.log_in()) is None


@pytest.mark.parametrize("endpoint", ["authorize", "token"])
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("access_denied", DENIED),
        ("temporarily_unavailable", REFUSED),
        ("a.code-of_Its.own", REFUSED),
    ],
)
def test_an_error_of_a_provider_has_a_message_that_fits_and_its_code_is_in_the_log(
    site, provider, caplog, endpoint, code, message
):
    """A description beside the code may repeat parts of the request."""
    caplog.set_level(logging.INFO)

    def refuse(request):
        text = f"{request.form} {request.authorization}\nForged line"
        return as_json({"error": code, "error_description": text}, 400)

    def send_back(request):
        sent = request.args
        back = f"{sent['redirect_uri']}?state={sent['state']}&error={code}"
        return moved(f"{back}&error_description=Forged+line")

    provider.answers[endpoint] = send_back if endpoint == "authorize" else refuse

    answer = site.log_in()

    level = logging.INFO if code == "access_denied" else logging.WARNING
    assert answer_of(answer) == (HOME, {"error": message})
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (level, f"The login at fake failed: OAuthError: {code!r}")
    ]
    assert CLIENT_SECRET not in answer.text + str(answer.headers)


@pytest.mark.parametrize("option", ["access_url", "profile_url", "discovery_url"])
def test_a_provider_that_is_down_is_an_error_for_people(provider, option):
    with running(Provider()) as gone:
        provider.options = {option: f"{gone}/{option}"}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in("?redirect=/page")

    assert answer_of(answer) == (f"{HOME}/page", {"error": SILENT})


# Its configuration and keys


@pytest.mark.parametrize(
    "metadata",
    [
        *({"issuer": value} for value in (None, "", 1)),
        {"authorization_endpoint": "https://login.example/\ud800"},
        {"scope": 1},
        *({"code_challenge_method": value} for value in (None, "plain", 1, [])),
        {"id_token_signing_alg_values_supported": 1},
    ],
    ids=str,
)
def test_a_configuration_that_makes_no_sense_is_no_error_of_the_server(
    openid_site, openid, metadata
):
    openid.metadata = metadata

    answer = openid_site.start()

    if error_of(answer) is None:
        assert "code_challenge_method=S256" in answer.headers["Location"]
        answer = openid_site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)


@pytest.mark.parametrize("endpoint", ["openid_configuration", "keys"])
@pytest.mark.parametrize(
    "answer",
    [
        *(as_json(value) for value in ([], {}, {"keys": [1]})),
        as_json({"error": "x"}, 500),
    ],
)
def test_a_provider_that_is_well_again_lets_users_in(
    openid_site, openid, endpoint, answer
):
    openid.answers[endpoint] = answer
    failed = openid_site.log_in()
    openid.answers.clear()

    assert failed.status_code == 302
    assert error_of(failed) in TROUBLE
    assert error_of(openid_site.log_in()) is None


@pytest.mark.parametrize("kid", ["1", "2"], ids=["the same kid", "another kid"])
def test_keys_may_be_rotated_twice_in_a_minute(openid_site, openid, kid):
    openid_site.log_in()

    for key, name in [(OTHER_KEY, kid), (SIGNING_KEY, "3")]:
        openid.key, openid.header, openid.published = key, {"kid": name}, {name: key}

        assert error_of(openid_site.log_in()) is None


def test_a_key_of_an_unknown_kind_does_not_spoil_the_others(openid_site, openid):
    key = {"kty": "AKP", "kid": "1", "alg": "ML-DSA-44", "pub": "AAAA"}
    openid.answers["keys"] = lambda request: as_json(
        {"keys": [key, *openid.keys(request).json["keys"]]}
    )

    assert error_of(openid_site.log_in()) is None


class Recorder(Provider):
    """Another host, which would take whatever it is sent."""

    def __call__(self, environ, start_response):
        self.answers["path"] = environ["PATH_INFO"]
        return as_json({**TOKEN, "id": "1"})(environ, start_response)


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("endpoint", ["token", "profile"])
def test_a_redirect_to_another_host_takes_no_secret_there(
    openid_site, openid, other_turns, endpoint, status
):
    recorder = other_turns.take(Recorder())
    headers = {"Location": f"{recorder.url}/{endpoint}"}
    openid.answers[endpoint] = Response(status=status, headers=headers)

    assert answer_of(openid_site.log_in()) == (HOME, {"error": INVALID})
    assert recorder.answers == {}


# Errors of this site


def test_handlers_of_the_application_do_not_take_the_errors_of_logins(site):
    handle = site.app.register_error_handler
    handle(NotAuthenticated, lambda error: moved("/oauth/fake"))

    answer = site.get("/oauth/fake/callback?error=access_denied")

    assert answer_of(answer) == (HOME, {"error": DENIED})


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
