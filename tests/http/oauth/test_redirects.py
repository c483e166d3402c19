"""Redirects after a login, and the address of the callback."""

from __future__ import annotations

from urllib.parse import parse_qsl
from urllib.parse import quote
from urllib.parse import urlsplit

import pytest
import requests
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wrappers import Response

from tests.http.oauth.sites import DENIED
from tests.http.oauth.sites import EMAIL_TAKEN
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import LOST
from tests.http.oauth.sites import other as other
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import SILENT
from tests.http.oauth.sites import site as site
from tests.listening import running
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import make_members
from tests.oauth_providers import REFERENCE
from tests.oauth_providers import serving_logins
from tests.oauth_providers import StrictMember


@pytest.fixture
def json_site(provider):
    """A site without a page to come back to."""
    with serving_logins({"fake": provider}, {}) as site:
        yield site


def test_without_a_redirect_the_answer_is_the_result(json_site):
    answer = json_site.log_in()

    result = answer.json()
    login = {"strategy": "jwt", "accessToken": result["accessToken"]}
    url = f"{json_site.url}/authentication"
    assert result["user"] == ADA_USER
    assert result["authentication"]["strategy"] == "fake"
    assert json_site.browser.post(url, json=login).json()["user"] == ADA_USER


def test_the_result_is_written_as_every_other(provider):
    with serving_logins(
        {"fake": provider}, {}, records=make_members(StrictMember)
    ) as site:
        answer = site.log_in()

        assert answer.status_code < 300
        result = answer.json()
        assert result["user"] == site.caller(result["accessToken"])


def test_without_a_redirect_errors_are_json(json_site, provider):
    wrong = json_site.get("/oauth/fake/callback?code=c&state=s")
    provider.answers["profile"] = as_json([])
    nonsense = json_site.log_in()
    provider.answers["token"] = as_json({}, 500)
    silent = json_site.log_in()
    del provider.answers["token"], provider.answers["profile"]
    json_site.register(email=ADA["email"])
    taken = json_site.log_in()
    unlinked = json_site.connect("x")

    answers = [wrong, nonsense, silent, taken, unlinked]
    assert [
        (answer.status_code, REFERENCE.sub("", answer.json()["message"]))
        for answer in answers
    ] == [
        (401, LOST),
        (401, INVALID),
        (401, SILENT),
        (409, EMAIL_TAKEN),
        (
            401,
            "Your login is not valid (jwt malformed). Log in again, then connect the"
            " other one.",
        ),
    ]
    assert list(wrong.json()) == ["name", "message", "code", "className", "errors"]


def test_without_a_redirect_there_is_nothing_to_append_to(json_site):
    answer = json_site.start("?redirect=/page")

    assert answer.status_code == 400
    assert answer.json()["message"] == "There is no redirect to append to."


@pytest.mark.parametrize(
    ("redirect", "target"),
    [
        ("", HOME),
        ("/page", f"{HOME}/page"),
        ("/page?a=b&c=d", f"{HOME}/page?a=b&c=d"),
        ("/é", f"{HOME}/%C3%A9"),
        ("https://app.example/else", "https://app.example/else"),
        ("https://second.example/", "https://second.example/"),
    ],
)
def test_redirect_says_where_to_go(provider, redirect, target):
    oauth = {"redirect": HOME, "origins": ["https://second.example"]}

    with serving_logins({"fake": provider}, oauth) as site:
        answer = site.log_in(f"?redirect={quote(redirect)}")

    assert answer_of(answer)[0] == target
    assert error_of(answer) is None


@pytest.mark.parametrize(
    "redirect",
    [
        "//evil.example",
        "@evil.example",
        ".evil.example",
        "/\\evil.example",
        "https://evil.example",
        "https://app.example@evil.example",
        "https://app.example.evil.example",
        "javascript:alert(1)",
        "/page\r\nSet-Cookie: a=b",
    ],
)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_redirect_to_another_site_is_refused(site, redirect, layers):
    for _ in range(layers):
        redirect = quote(redirect, safe="")

    answer = site.start(f"?redirect={redirect}")

    assert answer.status_code == 400
    assert "Location" not in answer.headers


SECOND = "https://second.example"


@pytest.mark.parametrize(
    ("page", "redirect", "target"),
    [
        (f"{SECOND}/", "", SECOND),
        (f"{SECOND}/deep/page?x=1", "", SECOND),
        (f"{SECOND}/", "/inbox", f"{SECOND}/inbox"),
        (f"{SECOND}/", "https://app.example/else", "https://app.example/else"),
        ("https://app.example/x", "", HOME),
        ("https://evil.example/", "", HOME),
        (f"{SECOND}.evil.example/", "", HOME),
        (f"https://evil.example/{SECOND}", "", HOME),
        (f"{SECOND}:444/", "", HOME),
        ("http://second.example/", "", HOME),
        ("second.example", "", HOME),
        ("null", "", HOME),
        ("https://[", "", HOME),
        ("", "", HOME),
    ],
)
def test_login_returns_to_the_allowed_origin_that_it_began_on(
    provider, page, redirect, target
):
    oauth = {"redirect": HOME, "origins": [SECOND]}
    headers = {"Referer": page}

    with serving_logins({"fake": provider}, oauth) as site:
        answer = site.log_in(f"?redirect={quote(redirect)}", headers=headers)
        failed = site.start(
            f"?redirect={quote(redirect)}&feathers_token=x", headers=headers
        )

    assert answer_of(answer)[0] == target
    assert (answer_of(failed)[0], error_of(failed) is None) == (target, False)


@pytest.mark.parametrize("state", ["", "&state=unknown"])
def test_login_that_is_cancelled_without_its_state_returns_where_it_began(
    provider, other, state
):
    """Some providers omit the state then."""
    oauth = {"redirect": HOME, "origins": [SECOND]}

    with serving_logins({"fake": provider, "other": other}, oauth) as site:
        site.start("?redirect=/first")
        site.start(headers={"Referer": f"{SECOND}/"})
        site.start("?redirect=/other", provider="other")
        answers = [
            site.get(f"/oauth/{name}/callback?error=access_denied{state}")
            for name in ("fake", "other")
        ]
        stranger = requests.get(
            f"{site.url}/oauth/fake/callback?error=access_denied", allow_redirects=False
        )

    targets = [answer_of(answer)[0] for answer in (*answers, stranger)]
    assert targets == [SECOND, f"{HOME}/other", HOME]


def test_callback_takes_no_provider_for_the_page_that_began(provider):
    """Its address is the Referer there."""
    with serving_logins({"fake": provider}, {"origins": [provider.url]}) as site:
        answer = site.get("/oauth/fake/callback", headers={"Referer": provider.url})

    assert (answer.status_code, answer.json()["message"]) == (401, LOST)


def test_own_page_returns_to_the_redirect_even_if_its_origin_is_named(provider):
    with running(Response(status=404)) as free_url:
        port = urlsplit(free_url).port

    own = f"http://127.0.0.1:{port}"
    oauth = {"redirect": "/home", "origins": [own], "base_url": own}

    with serving_logins({"fake": provider}, oauth) as site:
        failed = site.start("?feathers_token=x", headers={"Referer": f"{own}/login"})

    assert answer_of(failed)[0] == "/home"


def test_page_of_an_allowed_origin_is_returned_to_without_a_redirect(provider):
    with serving_logins({"fake": provider}, {"origins": [SECOND]}) as site:
        answer = site.log_in(headers={"Referer": f"{SECOND}/"})

    assert answer_of(answer)[0] == SECOND


@pytest.mark.parametrize("redirect", ["/page?", "/?", "/page?a=b"])
def test_token_is_behind_the_hash_whatever_the_redirect_says(site, redirect):
    """The part before it gets into logs and is sent to other sites."""
    answer = site.log_in(f"?redirect={quote(redirect, safe='')}")

    url = urlsplit(answer.headers["Location"])
    assert "token" not in url.path + url.query
    assert url.fragment.startswith("access_token=")


def test_a_failed_login_returns_to_where_a_good_one_does(site):
    address = site.authorize(site.start("?redirect=/page"))

    answer = site.visit(address.replace("code=", "error=access_denied&was="))

    assert answer_of(answer) == (f"{HOME}/page", {"error": DENIED})


def test_no_answer_is_stored_or_told_to_other_sites(site, json_site):
    answers = [
        site.start(),
        site.log_in(),
        site.get("/oauth/fake/callback"),
        site.get("/oauth/unknown"),
        site.start("?redirect=//evil.example"),
        json_site.log_in(),
        json_site.get("/oauth/fake/callback"),
    ]

    said = {
        (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"])
        for answer in answers
    }
    assert said == {("no-store", "no-referrer")}


@pytest.mark.parametrize("path", ["/oauth/unknown", "/oauth/unknown/callback"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_unknown_provider_is_not_found(site, path, verb):
    verb = verb if path.endswith("callback") else "GET"

    answer = site.browser.request(verb, f"{site.url}{path}?code=c&state=s")

    assert (answer.status_code, answer.json()["message"]) == (
        404,
        "There is no login with 'unknown'.",
    )


def callback_of(started):
    """The callback address that a provider is told."""
    query = urlsplit(started.headers["Location"]).query
    return dict(parse_qsl(query))["redirect_uri"]


FORWARDED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "app.example",
    "X-Forwarded-Prefix": "/sub",
}


def test_callback_behind_a_proxy_is_that_of_the_proxy(provider):
    def proxied(app):
        return ProxyFix(app, x_proto=1, x_host=1, x_prefix=1)

    with serving_logins({"fake": provider}, wrap=proxied) as site:
        started = site.start(headers=FORWARDED)

    assert callback_of(started) == "https://app.example/sub/oauth/fake/callback"
    assert {"Secure", "Path=/sub/oauth"} <= set(
        started.headers["Set-Cookie"].split("; ")
    )


def test_headers_of_a_proxy_mean_nothing_without_one(site):
    started = site.start(headers=FORWARDED)

    assert callback_of(started) == f"{site.url}/oauth/fake/callback"


def mounted(app):
    """An application below a path."""
    return DispatcherMiddleware(Response(status=404), {"/sub": app})


@pytest.mark.parametrize("config", [{}, {"APPLICATION_ROOT": "/sub"}])
def test_login_works_below_a_path(provider, config):
    with serving_logins({"fake": provider}, wrap=mounted, **config) as site:
        site.url += "/sub"
        started = site.start()
        answer = site.visit(site.authorize(started))

    assert callback_of(started) == f"{site.url}/oauth/fake/callback"
    assert error_of(answer) is None


def test_the_path_of_a_base_url_counts_once(provider):
    oauth = {"redirect": HOME, "base_url": "https://app.example/sub"}

    with serving_logins({"fake": provider}, oauth, wrap=mounted) as site:
        started = site.get("/sub/oauth/fake")

    assert callback_of(started) == "https://app.example/sub/oauth/fake/callback"


@pytest.mark.parametrize("host", ["evil.example", "app.example", "app.example:81"])
def test_no_host_moves_a_base_url(provider, host):
    oauth = {"redirect": HOME, "base_url": "https://app.example/"}

    with serving_logins({"fake": provider}, oauth) as site:
        started = site.start(headers={"Host": host, "X-Forwarded-Host": host})

    assert callback_of(started) == "https://app.example/oauth/fake/callback"
    assert "Secure" in started.headers["Set-Cookie"].split("; ")


def test_login_works_behind_a_proxy_that_strips_the_path_of_the_base_url(provider):
    def stripped(app):
        return DispatcherMiddleware(
            Response(status=404),
            {
                "/sub": lambda environ, respond: app(
                    {**environ, "SCRIPT_NAME": ""}, respond
                )
            },
        )

    with running(Response(status=404)) as free_url:
        port = urlsplit(free_url).port

    oauth = {"redirect": HOME, "base_url": f"http://127.0.0.1:{port}/sub"}

    with serving_logins({"fake": provider}, oauth, wrap=stripped) as site:
        address = site.url
        site.url += "/sub"
        started = site.start()
        sent_back = site.authorize(started).replace(f"http://127.0.0.1:{port}", address)
        answer = site.visit(sent_back)

    assert callback_of(started) == f"http://127.0.0.1:{port}/sub/oauth/fake/callback"
    assert error_of(answer) is None
