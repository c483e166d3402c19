"""The costs of logins at providers: requests, bodies and cookies."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import requests
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import SQLAlchemyService
from tests.http.oauth.sites import LOST
from tests.listening import running
from tests.oauth_providers import answer_of
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import make_app
from tests.oauth_providers import Member
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import Provider
from tests.oauth_providers import serving_logins
from tests.oauth_providers import Site
from tests.processes import environment
from tests.processes import remember
from tests.processes import ROOT

FORM_POST = {"params": {"response_mode": "form_post"}}


# Limits by the address of the client


def limited_client(limits=None, **config):
    """A client of an application that counts."""
    records = FlaskRecords(limiter=Limiter(get_remote_address))
    users = records.add("users", SQLAlchemyService(Member, hidden=["password"]))
    users.before("create", "update", "patch")(hash_password())
    records.add("authentication", AuthenticationService())
    provider = Provider()
    provider.url = "https://provider.example"
    config = {"RATELIMIT_STORAGE_URI": "memory://", "RECORDS_LIMITS": limits, **config}
    return make_app({"fake": provider}, records=records, **config).test_client()


def start(client, address="192.0.2.1"):
    return client.get("/oauth/fake", environ_base={"REMOTE_ADDR": address})


def come_back(client):
    environ = {"REMOTE_ADDR": "192.0.2.1"}
    return client.get("/oauth/fake/callback", environ_base=environ)


def statuses(call, *args, times):
    return [call(*args).status_code for _ in range(times)]


@pytest.mark.parametrize("call", [start, come_back])
def test_a_client_gets_30_starts_and_30_answers_a_minute(call):
    client = limited_client()

    assert statuses(call, client, times=32) == [302] * 30 + [429] * 2


def test_a_client_over_the_limit_is_told_when_to_try_again():
    client = limited_client({"oauth.start": "1 per minute"})
    start(client)

    answer = start(client)

    assert answer.json == {
        "name": "TooManyRequests",
        "message": "Too many requests: 1 per 1 minute at most.",
        "code": 429,
        "className": "too-many-requests",
        "errors": {},
    }
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert not {"Location", "Set-Cookie"} & set(answer.headers.keys())


def test_starts_and_answers_count_apart_and_by_address():
    limits = dict.fromkeys(["oauth.start", "oauth.callback"], "1 per minute")
    client = limited_client(limits)

    assert statuses(start, client, times=2) == [302, 429]
    assert statuses(come_back, client, times=2) == [302, 429]
    assert start(client, "192.0.2.2").status_code == 302


@pytest.mark.parametrize("limits", [{"oauth.start": None}, {"oauth.start": ""}])
def test_setting_removes_the_limit(limits):
    assert statuses(start, limited_client(limits), times=40) == [302] * 40


def test_without_a_limiter_nothing_is_counted(provider):
    client = make_app({"fake": provider}).test_client()

    assert statuses(start, client, times=40) == [302] * 40


def test_a_misspelt_limit_of_oauth_is_an_error_at_the_start():
    with pytest.raises(RuntimeError, match=re.escape("'oauth.begin'")):
        limited_client({"oauth.begin": "1 per minute"})


# Bodies


def callback(url, **body):
    url = f"{url}/oauth/fake/callback"
    return requests.post(url, allow_redirects=False, **body)


def test_a_provider_that_does_not_post_gets_no_body_read(provider):
    with serving_logins({"fake": provider}) as site:
        answer = callback(site.url, data={"state": "x"})

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert answer.json()["message"] == "Fake does not answer by POST."


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"data": {"state": "x", "code": "c" * 2**16}}, 413),
        ({"data": {"state": "x", "code": "c" * 2**20}}, 413),
        ({"files": {"code": b"c" * 2**17}}, 400),
        ({"json": {"state": "x"}}, 400),
        ({}, 400),
    ],
    ids=["64 kB", "1 MB", "file", "JSON", "nothing"],
)
def test_an_answer_is_a_form_of_64_kb_at_most(provider, body, status):
    provider.options = FORM_POST

    with serving_logins({"fake": provider}) as site:
        answer = callback(site.url, **body)

    assert answer.status_code == status


def test_an_answer_of_less_than_64_kb_is_read(provider):
    provider.options = FORM_POST

    with serving_logins({"fake": provider}) as site:
        answer = callback(site.url, data={"state": "x", "code": "c" * 60_000})

    assert answer_of(answer) == (HOME, {"error": LOST})


@pytest.mark.parametrize("user", ["[" * 60_000, '{"name":' * 7_000], ids=["[", "{"])
def test_a_name_that_nests_too_deep_keeps_nobody_out(provider, user):
    provider.options = FORM_POST

    with serving_logins({"fake": provider}) as site:
        started = site.start()
        url, _, query = site.authorize(started).partition("?")
        fields = dict(pair.split("=") for pair in query.split("&"))
        cookie = started.headers["Set-Cookie"].split(";")[0]
        data, headers = {**fields, "user": user}, {"Cookie": cookie}
        answer = requests.post(url, data=data, headers=headers, allow_redirects=False)

    assert error_of(answer) is None


# Cookies


def logins_of(browser):
    """The cookies of logins that a browser has, the oldest first."""
    cookies = [one for one in browser.cookies if one.name.startswith("records_login_")]
    return sorted((one.name, one.value) for one in cookies)


def test_a_browser_keeps_the_last_five_logins(provider):
    with serving_logins({"fake": provider}) as site:
        addresses = [site.authorize(site.start()) for _ in range(8)]
        count = len(logins_of(site.browser))
        errors = [error_of(site.visit(address)) for address in addresses]

    assert count == 5
    assert errors == [LOST] * 3 + [None] * 5
    assert logins_of(site.browser) == []


def test_logins_of_all_providers_count_together(provider):
    with (
        running(other := OpenIDProvider()) as other.url,
        serving_logins({"fake": provider, "other": other}) as site,
    ):
        for number in range(8):
            site.start(provider=("fake", "other")[number % 2])

    assert len(logins_of(site.browser)) == 5


def test_large_logins_leave_room_for_fewer(provider):
    noise = "".join(f"{number:x}" for number in range(0, 100_000, 333))[:1400]

    with serving_logins({"fake": provider}) as site:
        started = [site.start(f"?note={number}{noise}") for number in range(8)]
        answer = site.visit(site.authorize(started[-1]))

    header = sum(len(f"{name}={value}; ") for name, value in logins_of(site.browser))
    assert (header < 4200, error_of(answer)) == (True, None)


def test_cookies_of_others_are_left_alone(provider):
    others = {"session": "x", "records_login_": "x", "records_login_x_y": "x"}

    with serving_logins({"fake": provider}) as site:
        site.browser.cookies.update(others)

        for _ in range(8):
            site.start()

    assert others.items() <= site.browser.cookies.get_dict().items()


# Behind gunicorn


@contextmanager
def gunicorn(folder, provider_url):
    """The address of a gunicorn that serves the application."""
    options = "--bind 127.0.0.1:0 --worker-class gthread --threads 4"
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", *options.split()]
        + ["--graceful-timeout", "1", "tests.servers.oauth_app:create_app()"],
        cwd=ROOT,
        env={
            **environment(f"sqlite:///{folder}/oauth.db", folder),
            **dict.fromkeys(["FAKE_URL", "OTHER_URL"], provider_url),
            "WEB_CONCURRENCY": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log = []
    started = threading.Event()
    reader = threading.Thread(target=remember, args=(process.stdout, log, started))
    reader.start()

    try:
        assert started.wait(30), "".join(log)
        yield re.search(r"http://\S+", "".join(log))[0]
    finally:
        process.terminate()
        process.wait(15)
        reader.join()
        process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    provider = Provider()

    with (
        running(provider) as provider.url,
        gunicorn(tmp_path_factory.mktemp("oauth"), provider.url) as url,
    ):
        yield url


def test_an_answer_of_unknown_length_is_read_up_to_64_kb(server):
    def chunks():
        yield b"state=x&code="
        yield from [b"x" * 1024] * 1024

    answer = requests.post(
        f"{server}/oauth/other/callback",
        data=chunks(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )

    assert answer.status_code == 413


def test_a_browser_that_abandons_logins_can_still_log_in(server):
    """Gunicorn refuses a request with a header of 8 kB."""
    with requests.Session() as browser:
        site = Site(None, server, browser)
        started = [site.start(f"?redirect=/{number}") for number in range(40)]
        answer = site.follow(site.follow(started[-1]))

    assert {one.status_code for one in started} == {302}
    assert (answer_of(answer)[0], error_of(answer)) == (f"{HOME}/39", None)
