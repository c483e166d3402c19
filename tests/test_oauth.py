from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from urllib.parse import parse_qsl
from urllib.parse import quote
from urllib.parse import urlsplit

import jwt
import pytest
import requests
from itsdangerous import TimestampSigner
from itsdangerous import URLSafeTimedSerializer
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wrappers import Response

from flask_records import Forbidden
from flask_records.authentication.oauth_strategy import OAuthStrategy

from .authentication import API_KEY
from .authentication import SECRET
from .conftest import running
from .oauth_providers import ADA
from .oauth_providers import ADA_USER
from .oauth_providers import answer_of
from .oauth_providers import as_json
from .oauth_providers import CLIENT_SECRET
from .oauth_providers import error_of
from .oauth_providers import HOME
from .oauth_providers import KEY
from .oauth_providers import LooseMember
from .oauth_providers import make_app
from .oauth_providers import make_members
from .oauth_providers import Member
from .oauth_providers import moved
from .oauth_providers import OpenIDProvider
from .oauth_providers import Provider
from .oauth_providers import serving_logins
from .oauth_providers import Site
from .oauth_providers import StrictMember
from .oauth_providers import token_of

SILENT = "Fake is not responding. Try again later."
INVALID = "Fake sent an invalid response. Try again later."
TROUBLE = (SILENT, INVALID)
DENIED = "The login was cancelled."
LOST = "The login took too long, or began in another browser. Try again."
EMAIL_TAKEN = (
    "There is a user with this email already. Log in as this user, then connect Fake."
)
PROFILE_TAKEN = "This Fake login belongs to another user."
NOT_ALLOWED = (
    "Invalid authentication information (strategy not allowed in authStrategies)"
)

KEYS = {"api-key": API_KEY}

TOKEN = {"access_token": "token-of-the-provider", "token_type": "Bearer"}


@pytest.fixture
def other():
    other = Provider({"id": 77, "login": "ada77"})

    with running(other) as other.url:
        yield other


@pytest.fixture
def records():
    return make_members()


@pytest.fixture
def site(provider, records):
    with serving_logins({"fake": provider}, records=records) as site:
        yield site


@pytest.fixture
def json_site(provider):
    """A site without a page to come back to."""
    with serving_logins({"fake": provider}, {}) as site:
        yield site


# The flow


def test_login_makes_a_user_of_the_profile(site):
    answer = site.log_in()

    assert site.users() == [ADA_USER]
    assert site.caller(token_of(answer)) == ADA_USER


def test_login_ends_at_the_redirect_with_nothing_but_the_token(site):
    answer = site.log_in()

    target, said = answer_of(answer)
    assert (answer.status_code, target, list(said)) == (302, HOME, ["access_token"])
    assert answer.text == ""


def test_provider_is_asked_with_state_and_pkce(site, provider):
    started = site.start()

    url, _, query = started.headers["Location"].partition("?")
    asked = dict(parse_qsl(query))
    assert re.fullmatch("[A-Za-z0-9_-]{20,}", asked.pop("state"))
    assert re.fullmatch("[A-Za-z0-9_-]{43}", asked.pop("code_challenge"))
    assert (url, asked) == (
        f"{provider.url}/authorize",
        {
            "response_type": "code",
            "client_id": KEY,
            "redirect_uri": f"{site.url}/oauth/fake/callback",
            "scope": "profile email",
            "code_challenge_method": "S256",
        },
    )


def test_no_two_logins_have_a_state_or_a_challenge_in_common(site):
    queries = [urlsplit(site.start().headers["Location"]).query for _ in range(2)]

    one, two = (dict(parse_qsl(query)) for query in queries)
    assert one["state"] != two["state"]
    assert one["code_challenge"] != two["code_challenge"]


def test_params_of_the_settings_are_sent_to_the_provider(provider):
    provider.options = {"params": {"prompt": "select_account"}}

    with serving_logins({"fake": provider}) as site:
        started = site.start()

    assert "&prompt=select_account" in started.headers["Location"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_secret_is_sent_as_the_settings_say(provider, method):
    sent = []
    provider.options = {"token_endpoint_auth_method": method}
    provider.answers["token"] = lambda request: (
        sent.append((request.authorization is None, "client_secret" in request.form))
        or provider.token(request)
    )

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert error_of(answer) is None
    assert sent == [(method == "client_secret_post",) * 2]


def test_second_login_finds_the_user_and_refreshes_name_and_avatar(site, provider):
    site.log_in()
    changed = {"name": "Ada King", "avatar_url": "https://img.example/new.png"}
    provider.claims = {**ADA, **changed, "email": "countess@example.com"}

    answer = site.log_in()

    user = {**ADA_USER, "name": "Ada King", "avatar": "https://img.example/new.png"}
    assert site.users() == [user]
    assert site.caller(token_of(answer)) == user


def test_what_the_provider_tells_no_more_stays(site, provider):
    site.log_in()
    provider.claims = {"id": "p-1001"}

    site.log_in()

    assert site.users() == [ADA_USER]


def test_profiles_of_two_providers_are_two_users(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        other.claims = {"id": ADA["id"]}

        answers = [site.log_in(provider=name) for name in ("fake", "other")]

        callers = [site.caller(token_of(answer)) for answer in answers]
        assert [user["fakeId"] for user in callers] == ["p-1001", None]
        assert [user["otherId"] for user in callers] == [None, "p-1001"]


def test_hooks_of_users_run(site, records):
    seen = []

    @records["users"].before("create", "patch")
    def shout(method, context):
        seen.append((method, context.params.provider))
        context.data["name"] = context.data["name"].upper()

    site.log_in()
    site.log_in()

    assert seen == [("create", None), ("patch", None)]
    assert site.users() == [{**ADA_USER, "name": "ADA LOVELACE"}]


def test_user_and_login_are_events(site, records):
    heard = []
    records.events()(lambda event, record, context: heard.append((event, record)))

    token = token_of(site.log_in())

    payload = jwt.decode(token, options={"verify_signature": False})
    known = {"strategy": "fake", "payload": payload}
    login = {"authentication": known, "user": ADA_USER}
    assert heard == [("created", ADA_USER), ("login", login)]


@pytest.mark.parametrize(
    ("path", "method"),
    [("users", "create"), ("users", "get"), ("authentication", "create")],
)
def test_a_hook_that_refuses_keeps_the_user_out(site, records, path, method):
    @records[path].after(method)
    def refuse(method, context):
        raise Forbidden("By invitation only.")

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": "By invitation only."})


def test_a_login_that_is_refused_makes_no_user(site, records):
    @records["authentication"].after("create")
    def refuse(method, context):
        raise Forbidden("By invitation only.")

    site.log_in()

    assert site.users() == []


def test_other_parameters_reach_hooks_and_no_url(site, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append((context.data, context.params.query))
    )

    started = site.start("?invitation=i-42&redirect=/page&lang=de")
    back = site.follow(started)
    end = site.follow(back)

    assert queries == [({"strategy": "fake"}, {"invitation": "i-42", "lang": "de"})]
    assert not re.search("i-42|page", started.headers["Location"])
    assert not re.search("i-42|page", back.headers["Location"])
    assert answer_of(end)[0] == f"{HOME}/page"
    assert "i-42" not in end.headers["Location"]


def test_another_site_may_begin_a_login(site):
    answer = site.log_in(headers={"Sec-Fetch-Site": "cross-site"})

    assert error_of(answer) is None


# Profiles


@pytest.mark.parametrize(
    ("id", "kept"), [("7", "7"), (7, "7"), (10**30, "1" + "0" * 30), ("é😀", "é😀")]
)
def test_id_is_text_or_a_whole_number(site, provider, id, kept):
    provider.claims = {"id": id}

    site.log_in()

    assert [user["fakeId"] for user in site.users()] == [kept]


@pytest.mark.parametrize(
    "profile",
    [
        {},
        *({"id": id} for id in (None, "", [], ["x"], {}, {"a": 1}, True, 1.5)),
        *({"id": id} for id in (" ", "\n", "\u00a0", "\u200b", "alice ", "\talice")),
    ],
    ids=ascii,
)
def test_profile_without_an_id_is_nobody(site, provider, profile):
    provider.claims = profile

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


@pytest.mark.parametrize(
    "profile",
    [
        {"id": "\ud800"},
        {"id": "a\x00b"},
        {"id": "x" * 1_000_000},
        {"id": "1", "email": "e" * 1_000_000},
        {"id": "1", "email": "\ud800@example.com"},
        {"id": "1", "email": "a\x00@example.com"},
        {"id": "1", "name": "a\x00b", "avatar_url": "https://img.example/\x00"},
        {"id": "1", "bio": "b" * 5_000_000},
    ],
    ids=lambda profile: json.dumps(profile)[:40],
)
def test_no_profile_is_an_error_of_the_server(database_url, provider, profile):
    provider.claims = profile

    with serving_logins({"fake": provider}, url=database_url) as site:
        answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)


@pytest.mark.parametrize(
    "profile",
    [
        {"name": "n" * 51},
        {"avatar_url": "https://img.example/" + "a" * 200},
        {"name": "\ud800"},
        {"avatar_url": "https://img.example/\ud800"},
    ],
    ids=lambda profile: json.dumps(profile)[:40],
)
def test_a_name_or_an_image_that_does_not_fit_keeps_nobody_out(site, provider, profile):
    provider.claims = {"id": "1", **profile}

    answer = site.log_in()

    assert error_of(answer) is None


def test_an_id_that_does_not_fit_is_an_error(site, provider):
    """Nobody would be found by it again."""
    provider.claims = {"id": "x" * 51}
    id, token = site.register(email="ann@example.com")
    before = site.users()

    answers = [site.log_in(), site.link(token)]

    assert all(error_of(answer) for answer in answers)
    assert site.users() == before


@pytest.mark.parametrize("value", [None, 1, True, [], {}, ""], ids=repr)
def test_what_is_not_text_is_left_out(site, provider, value):
    provider.claims = {"id": "1", "name": value, "email": value, "avatar_url": value}

    site.log_in()

    left = {"name": None, "email": None, "avatar": None, "fakeId": "1"}
    assert site.users() == [{**ADA_USER, **left}]


@pytest.mark.parametrize("said", [False, "false", None, 0, "", "yes"], ids=repr)
def test_email_that_is_not_verified_is_left_out(site, provider, said):
    provider.claims = {**ADA, "email_verified": said}

    site.log_in()

    assert site.users() == [{**ADA_USER, "email": None}]


def test_users_without_an_email_are_no_conflict(site, provider):
    for id in ("1", "2"):
        provider.claims = {"id": id}
        site.log_in()

    assert [user["email"] for user in site.users()] == [None, None]


def test_profile_without_a_field_that_users_need_is_an_error(provider):
    provider.claims = {"id": "1"}

    with serving_logins({"fake": provider}, records=make_members(StrictMember)) as site:
        answer = site.log_in()

        assert "email" in error_of(answer)
        assert site.users() == []


@pytest.mark.parametrize("model", [Member, LooseMember])
@pytest.mark.parametrize("ids", [("abc", "abc "), ("abc", "ABC"), ("e", "é")])
def test_profiles_with_ids_that_differ_are_never_one_user(
    database_url, provider, model, ids
):
    records = make_members(model)
    options = {"records": records, "url": database_url}

    with serving_logins({"fake": provider}, **options) as site:
        provider.claims = {"id": ids[0]}
        first = site.caller(token_of(site.log_in()))
        provider.claims = {"id": ids[1]}
        answer = site.log_in()

        assert error_of(answer) or site.caller(token_of(answer)) != first


def test_two_first_logins_at_once_are_one_user(database_url, provider):
    count = 4
    barrier = Barrier(count)

    def log_in(site):
        with requests.Session() as browser:
            own = Site(site.app, site.url, browser)
            address = own.authorize(own.start())
            barrier.wait(10)
            return own.visit(address)

    with serving_logins({"fake": provider}, url=database_url) as site:
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(log_in, [site] * count))

        callers = [site.caller(token_of(answer)) for answer in answers]
        assert callers == site.users() * count
        assert len(site.users()) == 1


# Providers in trouble


@pytest.mark.parametrize("endpoint", ["token", "profile"])
@pytest.mark.parametrize(
    "answer",
    [
        Response("<html>Oops</html>", mimetype="text/html"),
        Response("<html>Oops</html>", 500, mimetype="text/html"),
        as_json({"error": "server_error"}, 503),
        Response('{"id": 1', mimetype="application/json"),
        Response("[" * 100_000, mimetype="application/json"),
        Response("", 204),
        as_json([ADA, TOKEN]),
        as_json([]),
        as_json("text"),
        as_json(None),
        as_json(1),
        as_json({}),
        moved("ftp://evil.example/"),
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
        {"access_token": None},
        {"access_token": ""},
        {"access_token": ["x"]},
        {"access_token": "a\r\nX-Header: b"},
        {"access_token": "\ud800"},
        {"token_type": None},
        {"token_type": 1},
        {"token_type": []},
        {"token_type": "mac"},
        {"expires_in": "soon"},
        {"expires_in": ["x"]},
        {"error": "invalid_grant"},
        {"error": {"a": 1}},
    ],
    ids=str,
)
def test_a_token_that_makes_no_sense_is_an_error_for_people(site, provider, change):
    provider.answers["token"] = as_json({**TOKEN, **change})

    answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)
    assert error_of(answer) in TROUBLE


@pytest.mark.parametrize("refresh", [{}, {"refresh_token": "r"}], ids=str)
@pytest.mark.parametrize(
    "life",
    [*({"expires_in": value} for value in (0, 1, 30, "59", 3600)), {"expires_at": 1}],
    ids=str,
)
def test_a_token_that_the_provider_takes_logs_in_however_short_it_lives(
    site, provider, life, refresh
):
    provider.answers["token"] = as_json({**TOKEN, **life, **refresh})

    answer = site.log_in()

    assert error_of(answer) is None


def test_a_token_that_the_provider_takes_no_more_is_an_error_for_people(site, provider):
    provider.answers["token"] = as_json({**TOKEN, "expires_in": 1})
    provider.answers["profile"] = as_json({"error": "invalid_token"}, 401)

    answer = site.log_in()

    assert error_of(answer) in TROUBLE
    assert site.users() == []


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_code_that_the_provider_refuses_is_an_error_for_people(
    site, provider, status
):
    error = {"error": "invalid_grant", "error_description": "<b>expired</b>"}
    provider.answers["token"] = as_json(error, status)

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("option", ["access_url", "profile_url"])
def test_a_provider_that_is_down_is_an_error_for_people(provider, option):
    with running(Provider()) as gone:
        provider.options = {option: f"{gone}/{option}"}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": SILENT})


def drip(request):
    """Answer a byte at a time, so that no single read takes long."""

    def spaces():
        deadline = time.monotonic() + 11

        while time.monotonic() < deadline:
            time.sleep(0.2)
            yield b" "

    return Response(spaces(), mimetype="application/json")


def hang(request):
    time.sleep(4)
    return as_json({})


def wander(request):
    """Send the caller on and on, slowly."""
    time.sleep(2)
    query = request.query_string.decode() + "x"
    return moved(f"{request.base_url}?{query}") if len(query) < 6 else as_json({})


def log_in_slowly(endpoint, answer):
    """Return how a login at a provider with a slow endpoint ends, and its seconds."""
    provider = Provider()
    provider.answers[endpoint] = answer

    with (
        running(provider) as provider.url,
        serving_logins({"fake": provider}) as site,
    ):
        began = time.monotonic()
        answer = site.log_in()
        return error_of(answer) in TROUBLE, time.monotonic() - began


def come_back_slowly():
    """Return how a login ends in a worker that knows nothing of an OpenID provider
    where everything is slow, and the seconds of that.
    """
    provider = OpenIDProvider()

    for endpoint in ("openid_configuration", "token", "keys", "profile"):
        answer = getattr(provider, endpoint)
        provider.answers[endpoint] = slowly(answer)

    with (
        running(provider) as provider.url,
        serving_logins({"fake": provider}) as one,
        serving_logins({"fake": provider}) as another,
    ):
        started = one.start()
        address = one.authorize(started).replace(one.url, another.url)
        began = time.monotonic()
        answer = another.visit(address, headers={"Cookie": cookie_of(started)})
        return answer.status_code == 302, time.monotonic() - began


def slowly(answer):
    return lambda request: (time.sleep(2.6), answer(request))[1]


@pytest.mark.slow
def test_no_login_takes_longer_than_10_seconds():
    slow = [(one, two) for one in ("token", "profile") for two in (hang, drip, wander)]

    with ThreadPoolExecutor(len(slow) + 1) as pool:
        outcomes = [
            pool.submit(come_back_slowly),
            *(pool.submit(log_in_slowly, *case) for case in slow),
        ]

    ends, seconds = zip(*(outcome.result() for outcome in outcomes), strict=True)
    assert all(ends)
    assert [one for one in seconds if one >= 10] == []


# State


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

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_code_of_another_login_is_refused(site):
    one, two = (
        dict(parse_qsl(urlsplit(site.authorize(site.start())).query)) for _ in range(2)
    )

    answer = site.get(f"/oauth/fake/callback?code={one['code']}&state={two['state']}")

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_state_of_another_provider_is_no_login(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        started = site.start()
        address = site.authorize(started).replace("/fake/", "/other/")

        answer = site.visit(address, headers={"Cookie": cookie_of(started)})

    assert answer_of(answer) == (HOME, {"error": LOST})


def cookie_of(started):
    """The cookie that a browser sends back to the callback."""
    return started.headers["Set-Cookie"].split(";")[0]


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


@pytest.mark.parametrize(("age", "error"), [(590, None), (610, LOST)])
def test_a_login_has_ten_minutes(site, monkeypatch, age, error):
    started = site.start()
    name, _, value = cookie_of(started).partition("=")
    serializer = URLSafeTimedSerializer(
        SECRET, salt="flask-records oauth", signer=OldSigner
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
        "error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)%3C/script%3E",
        "error=&error_description=",
        "",
    ],
)
def test_a_login_that_was_denied_says_so_in_our_words(site, caplog, query):
    caplog.set_level(logging.INFO)
    state = dict(parse_qsl(urlsplit(site.start().headers["Location"]).query))["state"]

    answer = site.get(f"/oauth/fake/callback?{query}&state={state}")

    assert answer_of(answer) == (HOME, {"error": DENIED})
    assert "alert" not in answer.text + caplog.text


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


# The way back


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
    assert [(answer.status_code, answer.json()["message"]) for answer in answers] == [
        (401, LOST),
        (401, INVALID),
        (401, SILENT),
        (409, EMAIL_TAKEN),
        (401, "jwt malformed"),
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


@pytest.mark.parametrize("redirect", ["/page?", "/?", "/page?a=b"])
def test_token_is_behind_the_hash_whatever_the_redirect_says(site, redirect):
    """What is in front of it gets into logs and is told to other sites."""
    answer = site.log_in(f"?redirect={quote(redirect, safe='')}")

    url = urlsplit(answer.headers["Location"])
    assert "access_token" not in url.path + url.query
    assert "access_token=" in url.fragment


def test_a_failed_login_returns_to_where_a_good_one_does(site):
    address = site.authorize(site.start("?redirect=/page"))

    answer = site.visit(address.replace("code=", "error="))

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


# Secrets


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
    verifier = URLSafeTimedSerializer(SECRET, salt="flask-records oauth").loads(
        cookie_of(started).partition("=")[2]
    )["code_verifier"]

    answer = site.visit(site.authorize(started))

    shown = answer.text + str(answer.headers)
    logged = [record.getMessage() for record in caplog.records]
    told = [*secrets_of(provider), verifier]
    assert error_of(answer) == INVALID
    assert not any(one in shown for one in [*told, "invalid_grant", "Forged"])
    assert not any(one in line for line in logged for one in told)
    assert not any("\n" in line for line in logged)


def test_the_secret_is_sent_to_the_token_endpoint_only(site, provider):
    started = site.start()
    back = site.follow(started)
    end = site.follow(back)

    seen = [*started.headers.values(), *back.headers.values(), *end.headers.values()]
    assert CLIENT_SECRET not in " ".join(seen)
    assert TOKEN["access_token"] not in " ".join(seen)


# Strategies


class Hidden(OAuthStrategy):
    """Tells of nobody who he is elsewhere."""

    def profile(self, login):
        found = super().profile(login)
        return replace(found, email=None, name=login.raw["login"])

    def user_data(self, login, profile, user):
        data = super().user_data(login, profile, user)
        return {**data, "avatar": f"https://img.example/{login.provider.name}"}


def test_a_subclass_changes_the_mapping(provider):
    records = make_members(strategies={**KEYS, "fake": Hidden()})
    provider.claims = {**ADA, "login": "ada1815"}

    with serving_logins({"fake": provider}, records=records) as site:
        site.log_in()

        changed = {"name": "ada1815", "avatar": "https://img.example/fake"}
        assert site.users() == [{**ADA_USER, **changed, "email": None}]


def test_a_subclass_that_misses_something_is_an_error_for_people(provider):
    records = make_members(strategies={**KEYS, "fake": Hidden()})

    with serving_logins({"fake": provider}, records=records) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize(
    ("strategies", "settings", "message"),
    [
        ({}, {}, NOT_ALLOWED),
        ({"fake": Hidden()}, {}, NOT_ALLOWED),
        (
            {"fake": Hidden()},
            {"strategies": ["jwt", "local", "fake"]},
            "Log in at /oauth/fake.",
        ),
    ],
)
def test_no_client_can_say_that_he_was_at_a_provider(
    provider, strategies, settings, message
):
    records = make_members(strategies={**KEYS, **strategies})
    login = {"strategy": "fake", "oauth": {"raw": ADA}, "fakeId": "p-1001", **TOKEN}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        site.log_in()
        answer = site.browser.post(f"{site.url}/authentication", json=login)

    assert (answer.status_code, answer.json()["message"]) == (401, message)


# Start-up


def test_one_extension_serves_apps_with_providers_of_their_own(provider, other):
    records = make_members()

    with (
        serving_logins({"fake": provider}, records=records) as one,
        serving_logins({"fake": other, "other": provider}, records=records) as two,
    ):
        unknown = one.start(provider="other")
        logins = [one.log_in(), two.log_in(), two.log_in(provider="other")]

        ids = [[user["fakeId"] for user in site.users()] for site in (one, two)]
        assert unknown.status_code == 404
        assert [error_of(login) for login in logins] == [None] * 3
        assert ids == [["p-1001"], ["77", None]]


def test_a_provider_without_its_field_is_an_error_at_the_start(provider):
    message = re.escape("RECORDS_AUTHENTICATION['oauth']['third'] needs a field 'third")

    with pytest.raises(RuntimeError, match=message):
        make_app({"third": provider})


WITHOUT_PROVIDERS = """
import sys
from flask import Flask
from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
records = FlaskRecords()
records.add("authentication", AuthenticationService())
records.add("users", type("Users", (), {"find": lambda self, params: []})())
app = Flask("tests")
app.config["SECRET_KEY"] = "s" * 32
records.init_app(app)
app.test_client().post("/authentication", json={"strategy": "fake"})
print(sorted({"authlib", "joserfc", "requests"} & set(sys.modules)))
"""


def test_nothing_of_oauth_is_imported_without_a_provider():
    command = [sys.executable, "-c", WITHOUT_PROVIDERS]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
