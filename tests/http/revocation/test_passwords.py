"""A changed password ends the tokens of a user, without a store for revoked ones."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher

from flask_records import hash_password, SQLAlchemyService, Strategy
from tests.authentication import (
    ANN,
    API_KEY,
    bearer,
    CHEAP,
    LOGIN,
    make_records,
    SECRET,
    serving,
    signed,
)
from tests.models import User

HASH = PasswordHasher(1, 8, 1).hash("correct horse")
NEW = {"password": "a new secret"}
BOB = {"email": "bob@example.com", "password": "battery staple"}


class Site:
    """An application, and clients of it."""

    def __init__(self, app):
        self.app = app
        self.records = app.extensions["records"]

    def call(self, verb, path, token=None, **options):
        headers = bearer(token) if token else {}
        client = self.app.test_client()
        return client.open(path, method=verb, headers=headers, **options)

    def log_in(self, strategy="local", **user):
        login = {**LOGIN, "strategy": strategy, **user}
        return self.call("POST", "/authentication", json=login)

    def token(self, **user):
        return self.log_in(**user).json["accessToken"]

    def answer(self, token):
        response = self.call("GET", "/secrets", token)
        return response.status_code, response.json.get("message")


@contextmanager
def site_of(records, tmp_path, settings=None, **config):
    url = f"sqlite:///{tmp_path / 'test.db'}"

    with serving(records, settings, url=url, **config) as client:
        yield Site(client.application)


def add_people(records):
    """Another service over the model of the users, with another identifier."""
    service = SQLAlchemyService(User, hidden=["password"], id="email")
    people = records.add("people", service)
    people.before("create", "update", "patch")(hash_password())


@pytest.fixture
def records():
    records = make_records()
    add_people(records)
    return records


@pytest.fixture
def site(records, tmp_path):
    with site_of(records, tmp_path) as site:
        yield site


def execute(site, statement):
    """A change by a form or a script of the application, past all services."""
    with site.app.app_context():
        session = site.app.extensions["sqlalchemy"].session
        session.execute(statement)
        session.commit()


def internally(site, path, id, data):
    with site.app.app_context():
        site.records[path]._patch(id, data)


def changed(column, value):
    return sa.update(User).where(User.id == 1).values({column: value})


SQL = "UPDATE user_account SET password = 'scrypt:1:1:1$x$y' WHERE id = 1"

CHANGES = {
    "patch": lambda site, token: site.call("PATCH", "/users/1", token, json=NEW),
    "spelling": lambda site, token: site.call("PATCH", "/users/01", token, json=NEW),
    "update": lambda site, token: site.call(
        "PUT", "/users/1", token, json={**ANN, **NEW}
    ),
    "null": lambda site, token: site.call(
        "PATCH", "/users/1", token, json={"password": None}
    ),
    "same": lambda site, token: site.call(
        "PATCH", "/users/1", token, json={"password": ANN["password"]}
    ),
    "other": lambda site, token: site.call(
        "PATCH", f"/people/{ANN['email']}", token, json={"password": HASH}
    ),
    "silent": lambda site, token: internally(site, "users", 1, {"password": HASH}),
    "model": lambda site, token: execute(site, changed(User.password, HASH)),
    "sql": lambda site, token: execute(site, sa.text(SQL)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_password_ends_the_tokens_of_the_user(site, change):
    site.call("POST", "/users", json=BOB)
    tokens, other = [site.token(), site.token()], site.token(**BOB)

    change(site, tokens[0])

    assert [site.answer(token) for token in tokens] == [(401, "jwt revoked")] * 2
    assert site.answer(other)[0] == 200


def test_first_password_of_a_user_ends_the_tokens_without_one(tmp_path):
    """A login at a provider needs none."""
    by_name = Strategy(lambda service, data, params: {"user": service.get_user(1)})
    settings = {"secret": SECRET, "passwords": CHEAP, "strategies": ["name", "local"]}
    records = make_records(strategies={"name": by_name, "api-key": API_KEY})

    with site_of(records, tmp_path, settings) as site:
        internally(site, "users", 1, {"password": None})
        token = site.token(strategy="name")
        before = site.answer(token)
        internally(site, "users", 1, {"password": HASH})

        assert (before[0], site.answer(token)) == (200, (401, "jwt revoked"))


@pytest.mark.parametrize("password", ["a new secret", None])
def test_login_under_way_while_the_password_changes_gets_no_valid_token(
    records, site, password
):
    """It has verified the old password, and loads the user."""
    entered, go = threading.Event(), threading.Event()

    @records["users"].after("get")
    def wait(method, context):
        if not entered.is_set():
            entered.set()
            assert go.wait(5)

    with ThreadPoolExecutor(1) as pool:
        login = pool.submit(site.log_in)
        assert entered.wait(5)
        internally(site, "users", 1, {"password": password and HASH})
        go.set()
        response = login.result()

    token = response.json.get("accessToken", "")
    assert site.answer(token)[0] == 401


@pytest.mark.parametrize("jti", ["x", "0" * 36, "f" * 14 + "8" + "f" * 21])
def test_tokens_of_other_servers_outlive_a_changed_password(site, jti):
    """They do not tell which password they were made for."""
    token = signed(jti=jti)
    before = site.answer(token)

    CHANGES["patch"](site, token)

    assert (before[0], site.answer(token)[0]) == (200, 200)
