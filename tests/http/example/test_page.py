"""The page of the example, and its settings."""

import re
from contextlib import ExitStack

import pytest

from .people import Api, loaded

GITHUB = {
    "FLASK_RECORDS_AUTHENTICATION__oauth__github__key": "the-key",
    "FLASK_RECORDS_AUTHENTICATION__oauth__github__secret": "the-secret",
}

LIMITED = {"FLASK_RATELIMIT_ENABLED": "true"}


@pytest.fixture
def make_app(tmp_path):
    """A function that makes the application in an environment."""
    with ExitStack() as stack:

        def make_app(**variables):
            url = f"sqlite:///{tmp_path}/new.db"
            return stack.enter_context(loaded(url, tmp_path, **variables)).app

        yield make_app


def test_files_of_the_page_are_served_below_a_prefix(example):
    client = example.app.test_client()

    page = client.get("/", environ_overrides={"SCRIPT_NAME": "/chat"}).text
    paths = re.findall(r'(?:src|href)="/chat(/(?:static|flask_records)/[^"]+)"', page)
    files = [client.get(path) for path in paths]

    assert len(paths) == 5
    assert {file.status_code for file in files} == {200}
    assert {file.headers["Cache-Control"] for file in files} == {"no-cache"}
    assert 'data-root="/chat"' in page


def test_page_has_no_script_and_style_inside(example):
    page = example.app.test_client().get("/").text

    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", page) == []


def test_page_links_to_the_explorer_where_it_is_on(make_app, example):
    link = '<a href="/_records/">Records</a>'
    app = make_app(FLASK_RECORDS_EXPLORER__enabled="false")

    assert link in example.app.test_client().get("/").text
    assert "/_records" not in app.test_client().get("/").text


def test_login_at_a_provider_is_a_matter_of_settings(make_app, example):
    client = make_app(**GITHUB).test_client()

    page = client.get("/").text
    start = client.get("/oauth/github")

    assert "Log in with GitHub" in page
    assert start.headers["Location"].startswith("https://github.com/login/oauth/")
    assert "client_id=the-key" in start.headers["Location"]
    assert "Log in with" not in example.app.test_client().get("/").text
    assert example.app.test_client().get("/oauth/github").status_code == 404


def test_limits_of_writes_come_from_the_environment(make_app):
    limits = {"FLASK_RECORDS_LIMITS": '{"messages.create": "2 per minute"}'}
    api = Api(make_app(**LIMITED, **limits))
    person = api.person()

    answers = [api("POST", "/messages", {"text": "hi"}, person) for _ in range(3)]

    assert [status for status, _ in answers] == [201, 201, 429]
