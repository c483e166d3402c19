"""Where a login ends, the address of the callback, and the limits of both views."""

from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from tests.authentication import ANY_LOGIN
from tests.http.oauth.messages import DENIED, EMAIL_TAKEN, INVALID, LOST, SILENT
from tests.oauth_providers import (
    ADA,
    answer_of,
    as_json,
    error_of,
    HOME,
    make_app,
    Member,
    Provider,
    serving_logins,
)

SECOND = "https://second.example"


@pytest.fixture
def json_site(provider):
    """A site without a page to come back to."""
    with serving_logins({"fake": provider}, {}) as site:
        yield site


def test_without_a_redirect_the_answer_is_the_result(json_site):
    result = json_site.log_in().json

    assert result["user"] == json_site.caller(result["accessToken"])
    assert result["authentication"]["strategy"] == "fake"


def test_without_a_redirect_errors_are_json(json_site, provider):
    records = json_site.app.extensions["records"]
    wrong = json_site.get("/oauth/fake/callback?code=c&state=s")
    provider.answers["profile"] = as_json([])
    nonsense = json_site.log_in()
    provider.answers["token"] = as_json({}, 500)
    silent = json_site.log_in()
    provider.answers.clear()
    json_site.register(email=ADA["email"])
    taken = json_site.log_in()
    records["users"].before("find")(lambda method, context: 1 / 0)
    records["users"].before("create")(lambda method, context: 1 / 0)
    failed = json_site.log_in()

    found = [
        (answer.status_code, answer.json["message"])
        for answer in (wrong, nonsense, silent, taken, failed)
    ]
    assert found == [
        (401, LOST),
        (401, INVALID),
        (401, SILENT),
        (409, EMAIL_TAKEN),
        (500, "Internal server error"),
    ]


@pytest.mark.parametrize(
    ("redirect", "target"),
    [
        ("", HOME),
        ("/page?a=b&c=d", f"{HOME}/page?a=b&c=d"),
        ("/é", f"{HOME}/%C3%A9"),
        ("https://app.example/else", "https://app.example/else"),
        (f"{SECOND}/", f"{SECOND}/"),
    ],
)
def test_redirect_says_where_to_go_and_the_token_is_behind_the_hash(
    provider, redirect, target
):
    oauth = {"redirect": HOME, "origins": [SECOND]}

    with serving_logins({"fake": provider}, oauth) as site:
        address = site.authorize(site.start(f"?redirect={quote(redirect)}"))
        failed = site.visit(address.replace("code=", "error=access_denied&was="))
        answer = site.log_in(f"?redirect={quote(redirect)}")

    assert answer_of(failed) == (target, {"error": DENIED})
    assert (answer_of(answer)[0], error_of(answer)) == (target, None)


@pytest.mark.parametrize("state", ["", "&state=unknown"])
def test_login_that_is_cancelled_without_its_state_returns_home(site, state):
    """Some providers omit the state then."""
    site.start("?redirect=/page")

    answer = site.get(f"/oauth/fake/callback?error=access_denied{state}")

    assert answer_of(answer) == (HOME, {"error": DENIED})


def test_no_answer_is_stored_or_told_to_other_sites(site, json_site):
    answers = [
        site.start(),
        site.log_in(),
        site.get("/oauth/fake/callback"),
        site.get("/oauth/unknown"),
        site.start("?redirect=//evil.example"),
        json_site.log_in(),
    ]

    said = {
        (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"])
        for answer in answers
    }
    assert said == {("no-store", "no-referrer")}


@pytest.mark.parametrize("path", ["/oauth/unknown", "/oauth/unknown/callback"])
def test_unknown_provider_is_not_found(site, path):
    answer = site.get(f"{path}?code=c&state=s")

    message = "There is no login with 'unknown'."
    assert (answer.status_code, answer.json["message"]) == (404, message)


# The address of the callback


def callback_of(started):
    query = urlsplit(started.headers["Location"]).query
    return dict(parse_qsl(query))["redirect_uri"]


FORWARDED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "app.example",
    "X-Forwarded-Prefix": "/sub",
}


def test_callback_behind_a_proxy_is_that_of_the_proxy(site):
    direct = callback_of(site.start(headers=FORWARDED))
    site.app.wsgi_app = ProxyFix(site.app.wsgi_app, x_proto=1, x_host=1, x_prefix=1)

    proxied = callback_of(site.start(headers=FORWARDED))

    assert direct == "http://localhost/oauth/fake/callback"
    assert proxied == "https://app.example/sub/oauth/fake/callback"


@pytest.mark.parametrize("config", [{}, {"APPLICATION_ROOT": "/sub"}])
def test_login_works_below_a_path(provider, config):
    with serving_logins({"fake": provider}, **config) as site:
        started = site.start(base_url="http://localhost/sub")
        address = site.authorize(started)
        path = address.removeprefix("http://localhost/sub")
        answer = site.get(path, base_url="http://localhost/sub")

    assert callback_of(started) == "http://localhost/sub/oauth/fake/callback"
    assert error_of(answer) is None


# Limits by the address of the client


@pytest.fixture
def limited():
    """A client of an application that counts one start and one answer."""
    records = FlaskRecords(limiter=Limiter(get_remote_address))
    users = records.add(
        "users", SQLAlchemyService(Member, hidden=["password"]), allow=ANY_LOGIN
    )
    users.before("create", "update", "patch")(hash_password())
    records.add("authentication", AuthenticationService())
    provider = Provider()
    provider.url = "https://provider.example"
    limits = {"oauth.start": "1 per minute", "oauth.callback": "1 per minute"}
    config = {"RATELIMIT_STORAGE_URI": "memory://", "RECORDS_LIMITS": limits}
    return make_app({"fake": provider}, records=records, **config).test_client()


def test_starts_and_answers_count_apart_and_by_address(limited):
    def statuses(path, *addresses):
        calls = [{"REMOTE_ADDR": address} for address in addresses]
        return [limited.get(path, environ_base=call).status_code for call in calls]

    one, two = "192.0.2.1", "192.0.2.2"
    assert statuses("/oauth/fake", one, one, two) == [302, 429, 302]
    assert statuses("/oauth/fake/callback", one, one, two) == [302, 429, 302]

    answer = limited.get("/oauth/fake", environ_base={"REMOTE_ADDR": one})
    assert answer.json["message"] == "Too many requests: 1 per 1 minute at most."
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert not {"Location", "Set-Cookie"} & set(answer.headers.keys())
