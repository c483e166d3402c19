"""The state of a login between its start and its callback."""

from __future__ import annotations

import json
import logging
import time
from urllib.parse import parse_qsl
from urllib.parse import urlsplit

import pytest
import requests
from itsdangerous import TimestampSigner
from itsdangerous import URLSafeTimedSerializer

from tests.authentication import SECRET
from tests.http.oauth.sites import AGAIN
from tests.http.oauth.sites import cookie_of
from tests.http.oauth.sites import DENIED
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import LOST
from tests.http.oauth.sites import other as other
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import serving_logins
from tests.oauth_providers import token_of


def test_state_that_is_wrong_or_missing_is_no_login(site):
    address = site.authorize(site.start())
    code = dict(parse_qsl(urlsplit(address).query))["code"]

    answers = [
        site.get(f"/oauth/fake/callback?code={code}{state}")
        for state in ("", "&state=", "&state=x", "&state=%00%FF", "&state=a&state=b")
    ]

    assert [answer_of(answer) for answer in answers] == [(HOME, {"error": LOST})] * 5
    assert site.users() == []


def test_wrong_state_does_not_spend_the_right_one(site):
    address = site.authorize(site.start())
    site.get("/oauth/fake/callback?code=x&state=x")

    answer = site.visit(address)

    assert error_of(answer) is None


def test_callback_in_another_browser_is_no_login(site):
    address = site.authorize(site.start())

    answer = requests.get(address, allow_redirects=False)

    assert answer_of(answer) == (HOME, {"error": LOST})


@pytest.mark.parametrize("spent_on", ["success", "error", "denial"])
def test_state_is_good_for_one_answer(site, provider, spent_on):
    started = site.start()
    address = site.authorize(started)

    if spent_on == "error":
        provider.answers["profile"] = as_json([])
    elif spent_on == "denial":
        address = address.replace("code=", "error=")

    site.visit(address)
    provider.answers.clear()
    users = site.users()

    # The provider gives another code.
    answer = site.visit(site.authorize(started))

    assert answer_of(answer) == (HOME, {"error": LOST})
    assert site.users() == users


def test_code_is_good_for_one_login(site):
    used = dict(parse_qsl(urlsplit(site.authorize(site.start())).query))
    site.get(f"/oauth/fake/callback?code={used['code']}&state={used['state']}")
    fresh = dict(parse_qsl(urlsplit(site.authorize(site.start())).query))

    answer = site.get(
        f"/oauth/fake/callback?code={used['code']}&state={fresh['state']}"
    )

    assert answer_of(answer) == (HOME, {"error": AGAIN})


def test_code_of_another_login_is_refused(site):
    one, two = (
        dict(parse_qsl(urlsplit(site.authorize(site.start())).query)) for _ in range(2)
    )

    answer = site.get(f"/oauth/fake/callback?code={one['code']}&state={two['state']}")

    assert answer_of(answer) == (HOME, {"error": AGAIN})


def test_state_of_another_provider_is_no_login(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        started = site.start()
        address = site.authorize(started).replace("/fake/", "/other/")

        answer = site.visit(address, headers={"Cookie": cookie_of(started)})

    assert answer_of(answer) == (HOME, {"error": LOST})


def tampered(text, place):
    """A text with another letter at a place."""
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place:][1:]


@pytest.mark.parametrize("place", [-40, -30, -5])
def test_cookie_that_was_tampered_with_is_no_login(site, place):
    started = site.start()
    address = site.authorize(started)
    cookie = tampered(cookie_of(started), place)

    answer = requests.get(address, headers={"Cookie": cookie}, allow_redirects=False)

    assert answer_of(answer) == (HOME, {"error": LOST})


class OldSigner(TimestampSigner):
    """Signs as of some seconds ago."""

    age = 0

    def get_timestamp(self):
        return int(time.time()) - self.age


@pytest.mark.parametrize(
    ("age", "error"), [(590, None), (610, LOST), (-3, None), (-610, LOST)]
)
def test_a_login_has_ten_minutes(site, monkeypatch, age, error):
    started = site.start()
    name, _, value = cookie_of(started).partition("=")
    serializer = URLSafeTimedSerializer(
        SECRET, salt="flask-records oauth login", signer=OldSigner
    )
    kept = serializer.loads(value)
    monkeypatch.setattr(OldSigner, "age", age)
    cookie = f"{name}={serializer.dumps(kept)}"

    answer = site.visit(site.authorize(started), headers={"Cookie": cookie})

    assert error_of(answer) == error


def test_cookie_is_for_logins_and_no_script(site):
    cookie = site.start().headers["Set-Cookie"]

    assert set(cookie.split("; ")[2:]) == {
        "Max-Age=600",
        "HttpOnly",
        "Path=/oauth",
        "SameSite=Lax",
    }


@pytest.mark.parametrize("query", ["redirect=/{}", "note={}"])
def test_what_is_kept_fits_a_cookie(site, query):
    """A browser drops what is larger, and the login would be lost at its end."""
    noise = SECRET + "".join(f"{number:x}" for number in range(0, 400_000, 333))

    started = site.start("?" + query.format(noise))

    assert started.status_code < 500
    assert len(started.headers.get("Set-Cookie", "")) <= 4093


@pytest.mark.parametrize(
    "query",
    [
        "error=access_denied",
        "error=access_denied&code=c",
        "error=user_cancelled_login",
    ],
)
def test_a_login_that_was_denied_says_so_in_our_words(site, caplog, query):
    caplog.set_level(logging.INFO)
    state = dict(parse_qsl(urlsplit(site.start().headers["Location"]).query))["state"]

    answer = site.get(f"/oauth/fake/callback?{query}&state={state}")

    assert answer_of(answer) == (HOME, {"error": DENIED})


@pytest.mark.parametrize(
    "query",
    [
        "error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)%3C/script%3E",
        "error=&error_description=",
        "",
    ],
)
def test_an_answer_without_a_code_is_invalid(site, query):
    state = dict(parse_qsl(urlsplit(site.start().headers["Location"]).query))["state"]

    answer = site.get(f"/oauth/fake/callback?{query}&state={state}")

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert "alert" not in answer.text + str(answer.headers)


def test_tabs_do_not_disturb_each_other(site, provider):
    starts = [site.start(f"?redirect=/{number}") for number in range(3)]
    addresses = [site.authorize(started) for started in starts]

    answers = [site.visit(address) for address in reversed(addresses)]

    assert [answer_of(answer)[0] for answer in answers] == [
        f"{HOME}/2",
        f"{HOME}/1",
        f"{HOME}/0",
    ]
    assert [error_of(answer) for answer in answers] == [None] * 3
    assert len(site.users()) == 1


def post_back(site, started, **more):
    """Return the answer to a form that a provider lets the browser send."""
    url, _, query = site.authorize(started).partition("?")
    headers = {"Cookie": cookie_of(started), "Origin": "https://provider.example"}
    data = {**dict(parse_qsl(query)), **more}
    return site.browser.post(url, data=data, headers=headers, allow_redirects=False)


def test_a_form_of_another_site_brings_the_answer(provider):
    provider.options = {"params": {"response_mode": "form_post"}}

    with serving_logins({"fake": provider}) as site:
        started = site.start()
        answer = post_back(site, started)

        assert site.caller(token_of(answer)) == ADA_USER

    said = set(started.headers["Set-Cookie"].split("; "))
    assert said >= {"HttpOnly", "Secure", "SameSite=None"}
    assert answer_of(answer)[0] == HOME


def test_a_form_may_bring_the_name(provider):
    """As that of Apple does, at the first login."""
    provider.claims = {"id": "1"}
    provider.options = {"params": {"response_mode": "form_post"}}
    user = {"name": {"firstName": "Ada", "lastName": "Lovelace"}, "email": "x@y.zz"}

    with serving_logins({"fake": provider}) as site:
        post_back(site, site.start(), user=json.dumps(user))
        post_back(site, site.start())

        found = [(user["name"], user["email"]) for user in site.users()]
        assert found == [("Ada Lovelace", None)]


@pytest.mark.parametrize("user", ["1", "ada", "{", "[]", "null", '{"name": "Ada"}'])
def test_what_an_answer_says_besides_is_ignored(site, user):
    address = site.authorize(site.start())

    answer = site.visit(address, params={"user": user, "iss": "x", "scope": "y"})

    assert error_of(answer) is None
    assert site.users() == [ADA_USER]


@pytest.mark.parametrize("data", ["x" * 1000, {"state": "x"}, {"state": ["a", "b"]}])
def test_a_form_without_a_state_is_no_login(provider, data):
    provider.options = {"params": {"response_mode": "form_post"}}

    with serving_logins({"fake": provider}) as site:
        answer = site.browser.post(
            f"{site.url}/oauth/fake/callback",
            data=data,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            allow_redirects=False,
        )

    assert answer_of(answer) == (HOME, {"error": LOST})
