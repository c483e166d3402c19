"""Flask-WTF's CSRFProtect and two services over one model, by the documentation."""

from __future__ import annotations

import pytest
import requests

from ...test_docs import module as module
from .documented import serving

NEWS = {"title": "News", "remarks": "Ask Bob", "isPublished": True}
EVIL = {"Origin": "https://evil.example"}


@pytest.fixture
def url(module):
    with serving("existing-applications.md", module) as url:
        yield url


@pytest.fixture
def editor(url):
    """A browser with the session and the token of an editor."""
    with requests.Session() as browser:
        browser.headers["X-CSRFToken"] = browser.get(f"{url}/enter").json()["csrf"]
        yield browser


def test_service_for_sessions_takes_the_token_of_a_page(editor, url):
    assert editor.post(f"{url}/desk/articles", json=NEWS).status_code == 201


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("token", [None, "wrong"])
def test_form_of_another_site_is_refused(editor, url, verb, token):
    editor.post(f"{url}/desk/articles", json=NEWS)
    headers = {**EVIL, "X-CSRFToken": token}
    path = "/desk/articles" if verb == "POST" else "/desk/articles/1"

    answer = editor.request(verb, url + path, data={"title": "x"}, headers=headers)

    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/json"
    assert "CSRF" in answer.json()["message"]
    assert [each["title"] for each in editor.get(f"{url}/articles").json()] == ["News"]


def test_service_that_is_exempt_needs_no_token(url):
    answer = requests.post(f"{url}/comments", json={"text": "Nice"})

    assert answer.status_code == 201


def test_readers_see_what_is_published_without_remarks(editor, url):
    editor.post(f"{url}/desk/articles", json=NEWS)
    editor.post(f"{url}/desk/articles", json={"title": "Draft"})

    assert requests.get(f"{url}/articles").json() == [{"id": 1, "title": "News"}]
    assert requests.get(f"{url}/articles/2").status_code == 404
    assert requests.get(f"{url}/articles?remarks=Ask+Bob").status_code == 400
    assert requests.post(f"{url}/articles", json=NEWS).status_code in (400, 405)
    assert requests.get(f"{url}/desk/articles").status_code == 403


def test_event_of_one_service_reaches_the_receivers_of_the_other(module, editor, url):
    seen = []
    module.articles.events()(lambda event, record, context: seen.append(record))

    editor.post(f"{url}/desk/articles", json=NEWS)

    assert seen == [{"id": 1, "title": "News"}]
