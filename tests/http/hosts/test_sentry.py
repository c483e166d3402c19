"""Errors and spans that reach Sentry, as the documentation sends them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest
from flask import Flask
from flask import request

from ...listening import running
from ...processes import ROOT

CALLS = """\
import contextvars
import os
import sys
import types

import requests

from tests.http.hosts.documented import run_examples
from tests.realtime import connected, running_asgi
from tests.test_docs import blocks_of
from tests.test_docs import DOCS
from tests.test_docs import run_python

module = types.ModuleType("app")
sys.modules["app"] = module
module.os = os
run_examples("existing-tools.md", module)
(sentry,) = [
    block for block in blocks_of(DOCS / "existing-tools.md") if "DSN" in block.text
]
run_python(sentry, module)



class Accounts:
    def create(self, data, params):
        raise ValueError("This account can't be created.")


module.records.add("accounts", Accounts(), public=True)

with running_asgi(module.app, module.realtime) as url:
    requests.get(f"{url}/weather/home")
    requests.get(f"{url}/notes/1")
    requests.get(f"{url}/nowhere")

    with connected(url) as socket:
        socket.call("get", "weather", "home")
        socket.call("find", "notes")

    account = {"email": "ann@example.com", "password": "correct horse"}
    headers = {"Authorization": "Bearer eyJ0b2tlbg"}
    requests.post(f"{url}/accounts", json=account, headers=headers)

module.sentry_sdk.flush()
"""


def sent_by(body):
    """Yield the types and the contents of the items of an envelope."""
    lines = gzip.decompress(body).splitlines()

    for header, content in zip(lines[1::2], lines[2::2], strict=True):
        yield json.loads(header)["type"], json.loads(content)


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """The items that a process with an application has sent to Sentry."""
    items = []
    sentry = Flask("sentry")

    @sentry.post("/api/1/envelope/")
    def receive():
        items.extend(sent_by(request.data))
        return {}

    folder = tmp_path_factory.mktemp("sentry")

    with running(sentry) as url:
        done = subprocess.run(
            [sys.executable, "-c", CALLS],
            cwd=folder,
            env={
                "PYTHONPATH": str(ROOT),
                "SENTRY_DSN": url.replace("//", "//key@") + "/1",
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert done.returncode == 0, done.stderr
    return items


def test_unexpected_errors_are_sent_once_each(sent):
    errors = [content for kind, content in sent if kind == "event"]
    causes = [error["exception"]["values"][-1]["value"] for error in errors]

    no_weather = "There is no weather station."
    assert causes == [no_weather, no_weather, "This account can't be created."]


def test_passwords_and_tokens_are_not_sent(sent):
    text = json.dumps(sent)

    assert "ann@example.com" in text
    assert "correct horse" not in text
    assert "eyJ0b2tlbg" not in text


def test_calls_in_requests_are_spans(sent):
    spans = [
        (content["transaction"], span["description"])
        for kind, content in sent
        if kind == "transaction"
        for span in content["spans"]
        if span["op"] == "service"
    ]

    assert ("records:weather.one", "weather get") in spans
    assert ("records:notes.one", "notes get") in spans


def test_calls_over_sockets_are_transactions(sent):
    transactions = [content for kind, content in sent if kind == "transaction"]
    operations = [
        (content["transaction"], content["contexts"]["trace"]["op"])
        for content in transactions
        if not content["transaction"].startswith("records:")
    ]

    # The second one is an unknown URL. The WebSocket itself is none.
    assert sorted(operations) == [
        ("generic WSGI request", "http.server"),
        ("notes find", "service"),
        ("weather get", "service"),
    ]
