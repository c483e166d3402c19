"""Logins at a provider that end in a session, as the documentation makes them."""

from __future__ import annotations

import pytest
import requests
from werkzeug import Response

from ...listening import running
from ...oauth_providers import ADA
from ...test_docs import blocks_of
from ...test_docs import DOCS
from ...test_docs import module as module
from ...test_docs import run_python


@pytest.fixture
def url(module, provider):
    """The address of the application, whose provider runs here."""
    first, *others = [
        block
        for block in blocks_of(DOCS / "existing-oauth.md")
        if block.language == "python"
    ]
    run_python(first, module)
    oauth = module.app.config["RECORDS_AUTHENTICATION"]["oauth"]
    oauth["github"] = provider.settings

    for block in others:
        run_python(block, module)

    with running(module.app) as url:
        yield url


@pytest.fixture
def browser():
    with requests.Session() as browser:
        yield browser


def test_login_ends_in_the_session_without_a_token(browser, url):
    answer = browser.get(f"{url}/oauth/github")

    assert answer.text == f"Hello, {ADA['email']}."
    assert not any("#" in each.headers["Location"] for each in answer.history)


def test_login_leads_to_the_page_that_the_link_names(browser, url):
    answer = browser.get(f"{url}/oauth/github?redirect=/?page=2")

    assert answer.url == f"{url}/?page=2"


def test_login_that_fails_shows_why(browser, url, provider):
    provider.answers["profile"] = Response(status=500)

    answer = browser.get(f"{url}/oauth/github")

    reason = "Log in. GitHub is not responding. Try again later."
    assert answer.text.startswith(reason)


def test_login_of_another_browser_is_not_taken(browser, url):
    started = browser.get(f"{url}/oauth/github", allow_redirects=False)
    back = browser.get(started.headers["Location"], allow_redirects=False)

    answer = requests.get(back.headers["Location"])

    assert answer.text.startswith(
        "Log in. The login took too long, or began in another"
    )


def test_clients_write_no_users(module, browser, url):
    browser.get(f"{url}/oauth/github")

    with module.app.app_context():
        token = module.authentication.create_token({"id": 1})[0]

    headers = {"Authorization": f"Bearer {token}"}
    answer = browser.patch(f"{url}/users/1", json={"email": "x"}, headers=headers)
    assert answer.json()["message"] == "Users are written by logins."
