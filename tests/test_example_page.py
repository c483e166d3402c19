"""The page of the example application, as a browser gets it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .example import Api
from .example import loaded
from .processes import ROOT

POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "connect-src": ["'self'"],
    "img-src": ["'self'"],
    "base-uri": ["'none'"],
    "form-action": ["'none'"],
    "frame-ancestors": ["'none'"],
}


def page_of(tmp_path, **variables):
    """The response of the page, in an environment."""
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path, **variables) as example:
        return example.app.test_client().get("/")


def policy_of(response):
    text = response.headers["Content-Security-Policy"]
    directives = (directive.split() for directive in text.split(";"))
    return {name: sources for name, *sources in directives}


def test_page_loads_what_is_ours_only_and_in_no_frame(tmp_path):
    response = page_of(tmp_path)

    assert response.status_code == 200
    assert policy_of(response) == POLICY
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Referrer-Policy"] == "same-origin"


def test_page_has_no_script_and_style_inside(tmp_path):
    text = page_of(tmp_path).text

    assert re.findall(r"<script[^>]*>[^<]", text) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", text) == []


@pytest.mark.parametrize(
    "variables",
    [
        {"FLASK_GRAVATAR": "true"},
        {
            "FLASK_RECORDS_AUTHENTICATION__oauth__github__key": "key",
            "FLASK_RECORDS_AUTHENTICATION__oauth__github__secret": "secret",
        },
    ],
    ids=["gravatar", "a provider"],
)
def test_page_loads_images_of_others_if_a_setting_says_so(tmp_path, variables):
    policy = policy_of(page_of(tmp_path, **variables))

    assert policy == {**POLICY, "img-src": ["'self'", "https:"]}


@pytest.fixture
def example(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        yield example


def files_of(text, prefix=""):
    """The addresses of the files that a page names, without its prefix."""
    return re.findall(
        rf'(?:src|href)="{prefix}(/(?:static|flask_records)/[^"]+)"', text
    )


def test_files_of_the_page_are_there_below_a_prefix(example):
    client = example.app.test_client()
    page = client.get("/", environ_overrides={"SCRIPT_NAME": "/chat"}).text
    paths = files_of(page, "/chat")
    files = [client.get(path) for path in paths]

    assert {Path(path).name for path in paths} >= {"main.js", "page.css", "icon.svg"}
    assert {file.status_code for file in files} == {200}
    assert {file.headers["X-Content-Type-Options"] for file in files} == {"nosniff"}
    assert 'data-root="/chat"' in page


def test_page_names_all_modules_so_that_they_load_at_once(example):
    folder = ROOT / "instance/static/chat"
    modules = {path.name for path in folder.glob("*.js")}

    page = example.app.test_client().get("/").text

    assert set(re.findall(r'modulepreload" href="[^"]+/([^/"]+)"', page)) == modules


def test_page_and_its_files_are_checked_each_time(example):
    client = example.app.test_client()
    page = client.get("/")

    answers = [client.get(path).headers for path in files_of(page.text)]

    for headers in [page.headers, *answers]:
        assert headers["Cache-Control"] == "no-cache"


def test_browsers_find_an_icon_for_every_page(example):
    answer = example.app.test_client().get("/favicon.ico")

    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")


def test_page_tells_people_without_scripts_what_to_do(example):
    page = example.app.test_client().get("/").text

    assert "<noscript>" in page
    assert "JavaScript" in page


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        *(f"/static/{name}" for name in ("../config.py", "%2e%2e/config.py", "x")),
        *(f"/static/chat/{name}" for name in ("..%2f..%2f..%2fconfig.py", "x", "")),
        *("/instance/config.py", "/config.py", "/secret.key", "/records.db"),
    ],
)
def test_other_files_are_not_served(tmp_path, path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        assert Api(example.app)("GET", path)[0] == 404


def test_page_links_to_the_explorer_where_it_is_on(tmp_path):
    link = '<a href="/_records/">Records</a>'
    on = {"FLASK_RECORDS_EXPLORER__enabled": "true"}

    assert link in page_of(tmp_path, **on).text
    assert "/_records" not in page_of(tmp_path).text
