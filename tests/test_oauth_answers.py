"""One-time codes, which a page exchanges for the answer to a login."""

from __future__ import annotations

import time
import types

import pytest
import requests
from cryptography import fernet
from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.wrappers import Response

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import OAuthStrategy
from flask_records import SQLAlchemyService

from .conftest import Leaks
from .oauth_providers import ADA_USER
from .oauth_providers import answer_of
from .oauth_providers import challenge_of
from .oauth_providers import exchange
from .oauth_providers import HOME
from .oauth_providers import Member
from .oauth_providers import serving_logins
from .oauth_sites import other as other
from .oauth_sites import records as records
from .oauth_sites import site as site

USED_UP = (
    "This login was used, took too long, or began in another browser. Log in again."
)

VERIFIER = "v" * 43

CHALLENGE = f"?challenge={challenge_of(VERIFIER)}"

APP = "https://app.example"


def code_of(response):
    return answer_of(response)[1]["code"]


def send(site, code, **body):
    """Return the answer to the code that the browser of a site sends."""
    url = f"{site.url}/oauth/fake/token"
    return site.browser.post(url, json={"code": code, **body})


def cookies_of(response):
    """Return the cookies that a response sets, by their purpose."""
    return {name: value for name, value in response.cookies.items() if value}


def attributes_of(response):
    """Return the attributes of the cookie of a code."""
    cookies = response.raw.headers.getlist("Set-Cookie")
    cookie = next(each for each in cookies if each.startswith("records_answer_"))
    return set(cookie.split("; ")[1:])


def refused(answer):
    return (answer.status_code, answer.json()["message"]) == (401, USED_UP)


def test_code_is_exchanged_for_the_answer_of_a_login(site):
    answer = send(site, code_of(site.log_in()))

    login = {"strategy": "jwt", "accessToken": answer.json()["accessToken"]}
    again = site.browser.post(f"{site.url}/authentication", json=login)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    assert answer.json()["user"] == ADA_USER
    assert answer.json()["authentication"]["strategy"] == "fake"
    assert again.json()["user"] == ADA_USER


def test_code_works_once(site):
    code = code_of(site.log_in())

    answers = [send(site, code), send(site, code)]

    assert answers[0].status_code == 201
    assert refused(answers[1])


def test_code_of_another_browser_does_not_work(site):
    """Somebody sends a visitor to the page with a code of their own."""
    code = code_of(site.log_in())

    assert refused(requests.post(f"{site.url}/oauth/fake/token", json={"code": code}))


def test_cookie_opens_no_other_code(site):
    """Somebody puts a code of their own into the address, in the same minute."""
    ended = site.log_in()
    with requests.Session() as browser:
        site.browser, own = browser, site.browser
        foreign = code_of(site.log_in())
        site.browser = own

    name, value = next(iter(cookies_of(ended).items()))
    forged = {each: value for each in (name, f"records_answer_{'0' * 16}")}
    url = f"{site.url}/oauth/fake/token"
    assert refused(requests.post(url, json={"code": foreign}, cookies=forged))


def test_two_tabs_log_in_at_once(site):
    codes = [code_of(site.log_in()), code_of(site.log_in())]

    answers = [send(site, code) for code in codes]

    assert [answer.status_code for answer in answers] == [201, 201]


@pytest.mark.parametrize("body", [{}, {"verifier": ""}, {"verifier": "w" * 43}])
def test_login_with_a_challenge_needs_the_verifier(site, body):
    code = code_of(site.log_in(CHALLENGE))

    answer, right = send(site, code, **body), send(site, code, verifier=VERIFIER)

    assert refused(answer)
    assert right.status_code == 201


def test_login_without_a_challenge_has_no_verifier(site):
    assert refused(send(site, code_of(site.log_in()), verifier=VERIFIER))


@pytest.mark.parametrize("challenge", ["", "x", "c" * 44, "%C3%A9" * 43])
def test_challenge_that_is_none_is_refused_at_the_start(site, challenge):
    started = site.start(f"?challenge={challenge}")

    assert started.status_code == 400
    assert not {"Location", "Set-Cookie"} & set(started.headers)


def test_challenge_is_for_no_hook_and_no_provider(site, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append(context.params.query)
    )

    started = site.start(f"{CHALLENGE}&lang=de")
    site.finish(started)

    assert queries == [{"lang": "de"}]
    assert challenge_of(VERIFIER) not in started.headers["Location"]


@pytest.mark.parametrize(("seconds", "status"), [(58, 201), (62, 401)])
def test_code_works_for_a_minute(site, monkeypatch, seconds, status):
    ended = site.log_in()
    later = types.SimpleNamespace(time=lambda: time.time() + seconds)
    monkeypatch.setattr(fernet, "time", later)

    assert exchange(ended).status_code == status


def test_code_is_for_one_provider(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        code = code_of(site.log_in())

        url = f"{site.url}/oauth/other/token"
        assert refused(site.browser.post(url, json={"code": code}))


@pytest.mark.parametrize(
    "body",
    [
        *({}, [], ["code"], {"code": None}, {"code": 5}, {"code": ["x"]}),
        *({"code": "x", "verifier": None}, {"code": "x", "verifier": 5}),
        *({"code": "x", "strategy": "fake"}, {"verifier": VERIFIER}),
    ],
    ids=repr,
)
def test_body_that_has_another_form_is_refused(site, body):
    answer = requests.post(f"{site.url}/oauth/fake/token", json=body)

    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "The body must be an object with 'code' and 'verifier'.",
    )


@pytest.mark.parametrize("type", ["text/plain", "application/x-www-form-urlencoded"])
def test_forms_of_other_sites_exchange_nothing(site, type):
    body = f'{{"code": "{code_of(site.log_in())}"}}'
    url = f"{site.url}/oauth/fake/token"

    answer = site.browser.post(url, data=body, headers={"Content-Type": type})

    assert (answer.status_code, answer.json()["name"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "code",
    [
        *("", "x", "gAAAAA", "x" * 50_000, "\x00", "é", "\ud800", "a.b", "=" * 44),
        *("gAAAAABm\n", "-" * 101, "_" * 99),
    ],
    ids=ascii,
)
def test_code_that_is_none_is_refused(site, code):
    url = f"{site.url}/oauth/fake/token"

    answers = [
        requests.post(url, json={"code": code}),
        requests.post(url, json={"code": code, "verifier": "\ud800"}),
    ]

    assert all(map(refused, answers))


def test_body_is_bounded(site):
    answer = requests.post(f"{site.url}/oauth/fake/token", json={"code": "x" * 70_000})

    assert answer.status_code == 413


def test_code_is_exchanged_by_post_only(site):
    assert site.get("/oauth/fake/token").status_code == 405


def test_unknown_provider_has_no_codes(site):
    answer = requests.post(f"{site.url}/oauth/unknown/token", json={"code": "x"})

    assert answer.status_code == 404


def test_redirect_has_no_token_in_any_form(site):
    ended = site.log_in()
    token = send(site, code_of(ended)).json()["accessToken"]

    shown = f"{ended.headers}{ended.text}"
    assert not Leaks.TOKEN.search(shown.encode())
    assert not any(part in shown for part in token.split("."))


def test_cookie_of_a_code_is_for_no_script(site):
    attributes = attributes_of(site.log_in())

    assert attributes >= {"HttpOnly", "Max-Age=60", "Path=/oauth", "SameSite=Lax"}
    assert "Secure" not in attributes


def test_cookie_is_secure_where_the_page_is(provider):
    oauth = {"redirect": "/", "base_url": "https://records.example"}

    with serving_logins({"fake": provider}, oauth) as site:
        started = site.start()
        path = site.follow(started).headers["Location"].partition("example")[2]
        cookie = started.headers["Set-Cookie"].split(";")[0]
        ended = site.get(path, headers={"Cookie": cookie})

    assert "Secure" in attributes_of(ended)


def test_hooks_and_events_happen_once(site, records):
    seen = []
    records.events()(lambda event, record, context: seen.append(event))
    records["authentication"].after("create")(
        lambda method, context: context.result.update(theme="dark")
    )

    answer = send(site, code_of(site.log_in()))

    assert answer.json()["theme"] == "dark"
    assert seen == ["created", "login"]


# Pages of other sites, for which browsers keep no cookies


def of_page(site="cross-site", page=f"{APP}/"):
    return {"Sec-Fetch-Site": site, "Referer": page}


def test_verifier_alone_binds_where_cookies_do_not_get_to(site):
    ended = site.log_in(CHALLENGE, headers=of_page())

    url, code = f"{site.url}/oauth/fake/token", code_of(ended)
    answers = [requests.post(url, json={"code": code, "verifier": VERIFIER})]
    answers += [requests.post(url, json={"code": code})]
    assert not [name for name in cookies_of(ended) if "answer" in name]
    assert [answer.status_code for answer in answers] == [201, 401]


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        (CHALLENGE, of_page(page="https://evil.example/")),
        (CHALLENGE, of_page(page="https://app.example.evil.example/")),
        (CHALLENGE, {"Sec-Fetch-Site": "cross-site"}),
        (CHALLENGE, of_page("same-site")),
        (CHALLENGE, of_page("same-origin")),
        (CHALLENGE, {"Referer": f"{APP}/"}),
        ("", of_page()),
    ],
)
def test_all_other_logins_need_the_cookie(site, query, headers):
    """A page elsewhere may begin a login with a challenge of its own."""
    code = code_of(site.log_in(query, headers=headers))
    verifier = {"verifier": VERIFIER} if query else {}

    url = f"{site.url}/oauth/fake/token"
    stolen = requests.post(url, json={"code": code, **verifier})

    assert refused(stolen)
    assert send(site, code, **verifier).status_code == 201


# Applications of all kinds


@pytest.mark.parametrize("prefix", ["", "/api"])
@pytest.mark.parametrize("root", ["", "/sub"])
def test_codes_work_below_a_path(provider, prefix, root):
    def mounted(app):
        return DispatcherMiddleware(Response(status=404), {root: app}) if root else app

    records = FlaskRecords(url_prefix=prefix)
    add_members(records)

    with serving_logins({"fake": provider}, records=records, wrap=mounted) as site:
        site.url += root + prefix
        code = code_of(site.log_in())
        answers = [send(site, code), send(site, code)]

    assert [answer.status_code for answer in answers] == [201, 401]


def add_members(records, **options):
    records.add("authentication", AuthenticationService(**options))
    users = records.add("users", SQLAlchemyService(Member, hidden=["password"]))
    users.before("create", "update", "patch")(hash_password())


NOISE = [f"{number * 7919:x}" for number in range(9000)]


def test_large_answers_are_sent_where_tokens_do_not_log_in(provider, records):
    records["authentication"].after("create")(
        lambda method, context: context.result.update(noise=NOISE)
    )
    settings = {"strategies": ["local"]}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        answer = send(site, code_of(site.log_in())).json()

    assert (answer["user"], answer["noise"]) == (ADA_USER, NOISE)


def test_large_answers_do_not_get_into_headers(site, records):
    """A proxy refuses them."""
    records["authentication"].after("create")(
        lambda method, context: context.result.update(noise=NOISE)
    )

    ended = site.log_in()
    answer = send(site, code_of(ended)).json()

    assert len(ended.headers["Location"]) < 3000
    assert (answer["user"], answer["noise"]) == (ADA_USER, NOISE)
    assert site.caller(answer["accessToken"]) == ADA_USER


def test_another_worker_with_a_newer_secret_takes_the_code(provider):
    old, new = "o" * 32, "n" * 32
    later = {"SECRET_KEY": new, "SECRET_KEY_FALLBACKS": [old]}

    with (
        serving_logins({"fake": provider}, SECRET_KEY=old) as site,
        serving_logins({"fake": provider}, **later) as worker,
        serving_logins({"fake": provider}, SECRET_KEY=new) as stranger,
    ):
        ended = site.log_in()
        body, cookies = {"code": code_of(ended)}, ended.cookies
        answers = [
            requests.post(f"{one.url}/oauth/fake/token", json=body, cookies=cookies)
            for one in (worker, stranger)
        ]

    assert [answer.status_code for answer in answers] == [201, 401]


def test_token_is_sent_itself_if_the_settings_say_so(provider):
    oauth = {"redirect": HOME, "response": "fragment"}

    with serving_logins({"fake": provider}, oauth) as site:
        ended = site.log_in(CHALLENGE)
        target, answer = answer_of(ended)
        user = site.caller(answer["access_token"])

    assert (target, list(answer), user) == (HOME, ["access_token"], ADA_USER)
    assert not [name for name in cookies_of(ended) if "answer" in name]


class Pages(OAuthStrategy):
    """Users return to pages of the server, or to those of a script with a greeting."""

    def success_url(self, target, result):
        if target.endswith("/plain"):
            return target

        return f"{super().success_url(target, result)}&greeting=hello"


def test_strategy_may_send_no_code_or_more_than_it(provider):
    records = FlaskRecords()
    add_members(records, strategies={"fake": Pages()})

    with serving_logins({"fake": provider}, records=records) as site:
        plain, more = site.start("?redirect=/plain"), site.log_in()
        plain = site.follow(site.follow(plain))
        user = send(site, code_of(more)).json()["user"]

    assert (answer_of(plain), user) == ((f"{HOME}/plain", {}), ADA_USER)
    assert not [name for name in cookies_of(plain) if "answer" in name]
    assert answer_of(more)[1]["greeting"] == "hello"


def test_pages_of_the_application_replace_no_answer_for_a_script(provider):
    with serving_logins({"fake": provider}) as site:
        site.app.register_error_handler(401, lambda error: ("Log in!", 401))
        url = f"{site.url}/oauth/fake"

        answers = [requests.post(f"{url}/token", json={"code": "x"})]
        answers += [requests.post(url)]

    assert [answer.json()["code"] for answer in answers] == [401, 401]


def test_exchanges_are_limited(provider):
    records = FlaskRecords(limiter=Limiter(get_remote_address))
    add_members(records)
    config = {"RATELIMIT_STORAGE_URI": "memory://"}

    with serving_logins({"fake": provider}, records=records, **config) as site:
        answers = [send(site, "x") for _ in range(31)]

    assert [answer.status_code for answer in answers] == [401] * 30 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0


@pytest.mark.parametrize("response", ["token", "", 5, True, [], {"code": True}])
def test_unknown_response_is_named_at_the_start(response):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {
        "secret": "s" * 32,
        "oauth": {"redirect": "/", "response": response},
    }
    records = FlaskRecords()
    add_members(records)

    with pytest.raises(RuntimeError, match=r"\['oauth'\]\['response'\] is .* fragment"):
        records.init_app(app)
