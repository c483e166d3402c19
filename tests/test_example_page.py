"""The page of the example application, as a browser gets it."""

from __future__ import annotations

import re

import pytest

from .example import Api
from .example import loaded

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


def test_files_of_the_page_are_there_below_a_prefix(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        client = example.app.test_client()
        page = client.get("/", environ_overrides={"SCRIPT_NAME": "/chat"}).text
        paths = re.findall(r'(?:src|href)="/chat(/[^"]+)"', page)
        files = [client.get(path) for path in paths]

    assert len(paths) == 4
    assert [file.status_code for file in files] == [200] * 4
    assert {file.headers["X-Content-Type-Options"] for file in files} == {"nosniff"}
    assert 'data-root="/chat"' in page


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        *(f"/static/{name}" for name in ("../config.py", "%2e%2e/config.py", "x")),
        *("/instance/config.py", "/config.py", "/secret.key", "/records.db"),
    ],
)
def test_other_files_are_not_served(tmp_path, path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        assert Api(example.app)("GET", path)[0] == 404
