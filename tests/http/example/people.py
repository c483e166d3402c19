"""Clients of the example application."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from ...authentication import bearer
from ...processes import environment, PASSWORD, ROOT

NUMBERS = itertools.count(1)

CHEAP = {"FLASK_RECORDS_AUTHENTICATION__passwords": '{"memory": 64, "passes": 1}'}


def new_email():
    return f"user{next(NUMBERS)}@example.com"


@dataclass(frozen=True)
class Person:
    """A user who is logged in."""

    id: int
    email: str
    token: str

    @property
    def path(self):
        return f"/users/{self.id}"


class Api:
    """A client of the example: calls give the status and the body of the answer."""

    def __init__(self, app):
        self._client = app.test_client()

    def __call__(self, verb, path, data=None, person=None, **options):
        headers = bearer(person.token) if person else {}
        options = {"json": data, "headers": headers, **options}
        answer = self._client.open(path, method=verb, **options)
        return answer.status_code, answer.get_json(silent=True)

    def register(self, email, **fields):
        return self("POST", "/users", {"email": email, "password": PASSWORD, **fields})

    def log_in(self, email, password=PASSWORD):
        data = {"strategy": "local", "email": email, "password": password}
        return self("POST", "/authentication", data)

    def person(self, **fields):
        """Register a user, and log in."""
        status, user = self.register(new_email(), **fields)
        assert status == 201, user
        token = self.log_in(user["email"])[1]["accessToken"]
        return Person(user["id"], user["email"], token)


@contextmanager
def loaded(url, folder, **variables):
    """The module of the example, in an environment and with a database of its own."""
    name = f"example{next(NUMBERS)}"
    spec = importlib.util.spec_from_file_location(name, ROOT / "wsgi.py")
    module = importlib.util.module_from_spec(spec)

    with pytest.MonkeyPatch.context() as patch:
        for variable, value in (environment(url, folder) | CHEAP | variables).items():
            patch.setenv(variable, value)

        patch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        yield module

    with module.app.app_context():
        module.db.session.remove()
        module.db.drop_all()
        module.db.engine.dispose()
