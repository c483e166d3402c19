"""The example application in this process, and those who use it."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from .authentication import bearer
from .databases import url_of
from .processes import environment
from .processes import PASSWORD
from .processes import ROOT

NUMBERS = itertools.count(1)

CHANGES = ["PUT", "PATCH", "DELETE"]

ON_SQLITE = pytest.mark.parametrize("example", ["sqlite"], indirect=True)
"""For what is refused before a database sees it."""


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

    def __call__(self, verb, path, data=None, token=None, **options):
        options = {"json": data, "headers": bearer(token) if token else {}, **options}
        answer = self._client.open(path, method=verb, **options)
        return answer.status_code, answer.get_json(silent=True)

    def register(self, email, **fields):
        return self("POST", "/users", {"email": email, "password": PASSWORD, **fields})

    def log_in(self, email, password=PASSWORD):
        data = {"strategy": "local", "email": email, "password": password}
        return self("POST", "/authentication", data)

    def token(self, *args):
        return self.log_in(*args)[1]["accessToken"]

    def person(self, **fields):
        """A new user."""
        status, user = self.register(new_email(), **fields)
        assert status == 201, user
        return Person(user["id"], user["email"], self.token(user["email"]))

    def about_user(self, verb):
        """Return what it takes to write a user with a verb: the path, a token unless
        the user is new, and the email.
        """
        if verb == "POST":
            return "/users", None, new_email()

        person = self.person()
        return person.path, person.token, person.email


def new_email():
    return f"user{next(NUMBERS)}@example.com"


def new_room():
    return {"name": f"room {next(NUMBERS)}"}


def data_of(path):
    """Return the body that replaces a record of a service."""
    services = {
        "users": {"email": new_email(), "password": PASSWORD},
        "rooms": new_room(),
        "messages": {"text": "hello"},
    }
    return services[path.split("/")[1]]


def kind(answer):
    """The status and the name of an error."""
    return answer[0], answer[1]["name"]


@contextmanager
def loaded(url, folder, root=ROOT, **variables):
    """The module of the example, in an environment and with a database of its own."""
    cheap = {"FLASK_RECORDS_AUTHENTICATION__passwords": '{"memory": 64, "passes": 1}'}
    name = f"example{next(NUMBERS)}"
    spec = importlib.util.spec_from_file_location(name, root / "wsgi.py")
    module = importlib.util.module_from_spec(spec)

    with pytest.MonkeyPatch.context() as patch:
        for variable, value in (environment(url, folder) | cheap | variables).items():
            patch.setenv(variable, value)

        patch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        yield module

    with module.app.app_context():
        module.db.session.remove()
        module.db.drop_all()
        module.db.engine.dispose()


@contextmanager
def loaded_on(server, server_urls, folder):
    """The module of the example, on a kind of database."""
    url = url_of(server, server_urls, folder / "example.db")

    with loaded(url, folder) as module:
        yield module
