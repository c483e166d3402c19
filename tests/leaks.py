"""A plugin of pytest that fails a run in which a secret has got out."""

import json
import os
import re
from html import escape
from urllib.parse import parse_qsl, quote_plus

import pytest
from flask import request, request_finished

from flask_records import AuthenticationService
from flask_records.accounts import AccountManagement


class Leaks:
    """Looks for passwords, hashes and tokens in all that is answered and logged, as it
    passes.
    """

    HASH = re.compile(rb"\$argon2|\$2[aby]\$\d\d\$|scrypt:\d|pbkdf2:\w+:\d")
    TOKEN = re.compile(rb"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.|\b[0-9a-f]{32}\.[\w-]{43}\b")
    FORMS = (
        str,
        escape,
        lambda text: quote_plus(text, errors="replace"),
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    )
    """The forms that a text may be written in."""

    def __init__(self):
        self.found = {}
        """The secrets and their places, in the order of finding."""
        self.passwords = set()
        """The passwords that were sent, in all forms."""

    def look_at(self, text, place, may_have_token=False):
        """Look for secrets in what was answered or logged."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")

        if self.HASH.search(data):
            self.found[f"a hash in {place}"] = True

        if not may_have_token and self.TOKEN.search(data):
            self.found[f"a token in {place}"] = True

        if any(password in data for password in self.passwords):
            self.found[f"a password in {place}"] = True

    def remember_passwords(self, body):
        """Look for the passwords of a body from now on."""
        if b"password" not in body:
            return

        try:
            json.loads(body, object_hook=self._remember)
        except (ValueError, RecursionError):
            self._remember(dict(parse_qsl(body.decode("utf-8", "replace"))))

    def _remember(self, record):
        password = record.get("password")

        # Shorter and simpler ones occur by chance.
        is_secret = isinstance(password, str) and len(password) >= 8

        if is_secret and len(set(password)) >= 5:
            forms = {str(form(password)) for form in self.FORMS}
            self.passwords |= {form.encode("utf-8", "replace") for form in forms}

        return record

    def look_at_answer(self, app, response, **rest):
        """Look at the answer of an application, and at its body while it is sent."""
        # What the application has not read can't be in its answer.
        self.remember_passwords(getattr(request, "_cached_data", b""))
        place = f"{current_test()}: {request.method} {request.path}"
        may_have_token = response.status_code < 400 and is_login(app)
        self.look_at(str(response.headers), f"{place}, headers", may_have_token)

        if response.is_sequence:
            self.look_at(b"".join(response.iter_encoded()), place, may_have_token)
        else:
            response.response = self._streamed(response.response, place, may_have_token)

    def _streamed(self, chunks, *args):
        seen = b""

        try:
            for chunk in chunks:
                # A secret may be cut in two.
                seen = seen[-2000:] + (
                    chunk.encode() if isinstance(chunk, str) else chunk
                )
                self.look_at(seen, *args)
                yield chunk
        finally:
            getattr(chunks, "close", str)()


def current_test():
    return os.environ.get("PYTEST_CURRENT_TEST", "no test")


def is_login(app):
    """Return whether the current request is for a login."""
    records = app.extensions.get("records")
    path = (request.blueprint or "").rpartition("records:")[2]
    service = records and records.services.get(path)
    services = AuthenticationService, AccountManagement
    is_service = isinstance(getattr(service, "target", None), services)
    return is_service or (request.endpoint or "").endswith("records_oauth.callback")


LEAKS = Leaks()
"""The secrets that have got out in this run, which then fails."""


def pytest_configure(config):
    request_finished.connect(LEAKS.look_at_answer)


def pytest_make_parametrize_id(val, argname):
    """Name cases of hashes and tokens, which are random, alike in all processes."""
    text = val.encode("utf-8", "replace") if isinstance(val, str) else b""
    is_random = Leaks.HASH.search(text) or Leaks.TOKEN.search(text)
    return argname if is_random else None


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        for title, text in report.sections:
            LEAKS.look_at(text, f"{report.nodeid}: {title}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    LEAKS.found |= getattr(node, "workeroutput", {}).get("leaks", {})


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["leaks"] = LEAKS.found

    if LEAKS.found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for leak in LEAKS.found:
        terminalreporter.write_line(f"LEAK: {leak}", red=True)
