"""A changed password ends the tokens of a user, without a store for revoked ones."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests
import sqlalchemy as sa
from argon2 import PasswordHasher
from werkzeug.security import generate_password_hash

from flask_records import hash_password
from flask_records import NotAuthenticated
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records import Strategy
from flask_records.authentication.token_ids import create_token_id
from flask_records.authentication.token_ids import is_token_id_of
from tests.authentication import ANN
from tests.authentication import API_KEY
from tests.authentication import bearer
from tests.authentication import CHEAP
from tests.authentication import LOGIN
from tests.authentication import make_records
from tests.authentication import SECRET
from tests.authentication import serving
from tests.authentication import signed
from tests.listening import running
from tests.models import User

HASH = PasswordHasher(1, 8, 1).hash("correct horse")
SCRYPT = generate_password_hash("correct horse", "scrypt:1024:8:1")
NEW = {"password": "a new secret"}
BOB = {"email": "bob@example.com", "password": "battery staple"}


class Site:
    """A running server, and its application."""

    def __init__(self, app, url):
        self.app = app
        self.records = app.extensions["records"]
        self._url = url

    def call(self, verb, path, token=None, **options):
        headers = bearer(token) if token else {}
        url = self._url + path
        return requests.request(verb, url, headers=headers, timeout=10, **options)

    def log_in(self, strategy="local", **user):
        login = {**LOGIN, "strategy": strategy, **user}
        return self.call("POST", "/authentication", json=login)

    def token(self, **user):
        return self.log_in(**user).json()["accessToken"]

    def answer(self, token):
        response = self.call("GET", "/secrets", token)
        return response.status_code, response.json().get("message")


@contextmanager
def site_of(records, tmp_path, settings=None, **config):
    url = f"sqlite:///{tmp_path / 'test.db'}"

    with serving(records, settings, url=url, **config) as client:
        with running(client.application) as address:
            yield Site(client.application, address)


def add_people(records):
    """Another service over the model of the users, with another identifier."""
    service = SQLAlchemyService(User, hidden=["password"], id="email")
    people = records.add("people", service)
    people.before("create", "update", "patch")(hash_password())


@pytest.fixture
def records():
    records = make_records(rehash=True)
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


def test_other_changes_of_a_user_leave_its_tokens(site):
    token = site.token()

    response = site.call("PATCH", "/users/1", token, json={"age": 18})

    assert response.status_code == 200
    assert site.answer(token)[0] == 200


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

    token = response.json().get("accessToken", "")
    assert site.answer(token)[0] == 401


def test_strategy_that_checks_more_than_the_password_gets_no_token_for_an_old_one(
    tmp_path,
):
    entered, go = threading.Event(), threading.Event()

    def with_code(service, data, params):
        user = service.login(data["email"], data["password"])
        entered.set()
        assert go.wait(5)
        return {"user": {**user}}

    settings = {"secret": SECRET, "passwords": CHEAP, "strategies": ["code"]}
    records = make_records(strategies={"code": Strategy(with_code), "api-key": API_KEY})

    with site_of(records, tmp_path, settings) as site, ThreadPoolExecutor(1) as pool:
        login = pool.submit(site.log_in, "code")
        assert entered.wait(5)
        internally(site, "users", 1, {"password": HASH})
        go.set()
        token = login.result().json()["accessToken"]

        assert site.answer(token) == (401, "jwt revoked")
        assert site.answer(site.token(strategy="code"))[0] == 200


def test_removed_user_gets_no_token_of_a_login_under_way(tmp_path):
    def leave(service, data, params):
        user = service.get_user(1)
        service.users.remove(1)
        return {"user": user}

    settings = {"secret": SECRET, "passwords": CHEAP, "strategies": ["leave"]}
    records = make_records(strategies={"leave": Strategy(leave), "api-key": API_KEY})

    with site_of(records, tmp_path, settings) as site:
        response = site.log_in("leave")

    assert response.status_code == 401
    assert response.json()["message"] == "The user of the token is gone."


def test_costlier_hash_of_a_password_leaves_all_tokens(records, tmp_path):
    """The settings were changed, and the next login hashes the password again."""
    costly = {"secret": SECRET, "passwords": {**CHEAP, "passes": 2}}

    with site_of(records, tmp_path) as site:
        token = site.token()

        with serving_same(site, costly) as later:
            second = later.token()

            with later.app.app_context():
                hash = later.records["users"]._get(1)["password"]

            answers = [later.answer(one)[0] for one in (token, second)]

    assert hash.startswith("$argon2id$v=19$m=64,t=2,p=1$")
    assert answers == [200, 200]


@contextmanager
def serving_same(site, settings):
    """Another application with the database of a site."""
    app = type(site.app)("tests")
    app.config.update(site.app.config, RECORDS_AUTHENTICATION=settings)
    app.config["SQLALCHEMY_DATABASE_URI"] = site.app.config["SQLALCHEMY_DATABASE_URI"]
    site.app.extensions["sqlalchemy"].init_app(app)
    site.records.init_app(app)

    with running(app) as address:
        yield Site(app, address)


@pytest.mark.parametrize(
    "hash",
    [SCRYPT, PasswordHasher(1, 8, 1, 32, 8).hash("x")],
    ids=["scrypt", "argon2"],
)
def test_token_of_a_login_that_replaces_a_hash_is_valid(site, hash):
    password = "x" if hash.startswith("$argon2") else "correct horse"
    internally(site, "users", 1, {"password": hash})

    tokens = [site.token(password=password) for _ in range(2)]

    assert [site.answer(token)[0] for token in tokens] == [200, 200]


@pytest.mark.parametrize("jti", ["x", "0" * 36, "f" * 14 + "8" + "f" * 21])
def test_tokens_of_other_servers_outlive_a_changed_password(site, jti):
    """They do not tell which password they were made for."""
    token = signed(jti=jti)
    before = site.answer(token)

    CHANGES["patch"](site, token)

    assert (before[0], site.answer(token)[0]) == (200, 200)


def mask(method, context):
    context.result["password"] = "***"


def drop(method, context):
    del context.result["password"]


def remember_first():
    """A before hook that keeps a user for ever."""
    kept = {}

    def hook(method, context):
        if str(context.id) in kept:
            context.result = dict(kept[str(context.id)])

    def keep(method, context):
        kept.setdefault(str(context.id), dict(context.result))

    return hook, keep


@pytest.mark.parametrize("hook", [mask, drop])
def test_hooks_that_take_the_hash_away_change_nothing(records, site, hook):
    records["users"].after("get")(hook)
    token = site.token()
    before = site.answer(token)

    internally(site, "users", 1, {"password": HASH})

    assert (before[0], site.answer(token)) == (200, (401, "jwt revoked"))
    assert site.answer(site.token())[0] == 200


def test_login_after_a_change_is_valid_where_a_hook_keeps_older_records(records, site):
    read, keep = remember_first()
    records["users"].before("get")(read)
    records["users"].after("get")(keep)
    site.token()

    internally(site, "users", 1, {"password": HASH})

    assert site.answer(site.token())[0] == 200


def test_token_for_other_users_of_the_same_id_is_refused(tmp_path):
    """An application that shares the secret calls its users otherwise."""
    with site_of(make_records(), tmp_path) as site:
        internally(site, "users", 1, {"password": None})

        with site.app.app_context():
            tokens = site.records.authentication().settings.tokens

        own, other = (
            tokens.create_token(1, token_id=create_token_id(path, None))[0]
            for path in ("users", "staff")
        )

        assert [site.answer(own)[0], site.answer(other)[0]] == [200, 401]


def test_hash_is_told_to_nobody(records, site):
    told = []

    @records.after()
    def look(method, context):
        told.append(repr([vars(context.params), context.dispatch]))

    records.events()(lambda event, record, context: told.append(repr(record)))
    records["authentication"].after()(
        lambda method, context: told.append(repr([vars(context), vars(context.params)]))
    )

    token = site.token()
    site.call("GET", "/secrets", token)
    site.call("DELETE", "/authentication", token)

    assert len(told) > 8
    assert "argon2" not in "".join(told)


@pytest.mark.parametrize(
    "hash",
    [None, "", HASH, SCRYPT, "$argon2", "é", "a$b$c$d"],
    ids=["none", "empty", "argon2", "scrypt", "start", "no-ascii", "parts"],
)
def test_identifier_holds_for_its_users_and_hash(hash):
    token_id = create_token_id("users", hash)

    assert is_token_id_of(token_id, "users", hash)
    assert not is_token_id_of(token_id, "staff", hash)
    assert not is_token_id_of(token_id, "users", f"{hash}x$y$z")


def test_identifiers_of_one_hash_differ():
    assert len({create_token_id("users", HASH) for _ in range(100)}) == 100


def test_user_without_a_hash_in_its_record_gets_a_token(tmp_path):
    class Nameless:
        def find(self, params):
            return [{"id": 1, "email": ANN["email"], "password": HASH}]

        def get(self, id, params):
            if str(id) != "1":
                raise NotAuthenticated

            return {"id": 1}

        def create(self, data, params):
            return {"id": 1}

    with site_of(make_records(users=Nameless()), tmp_path) as site:
        assert site.answer(site.token())[0] == 200
        assert site.log_in(password="wrong").status_code == 401


def test_token_that_the_application_creates_ends_with_the_password(site):
    with site.app.app_context():
        users = site.records["users"]
        [user] = users.find(Params(query={"email": ANN["email"]}))
        token, _ = site.records.authentication().create_token(user)

    before = site.answer(token)
    internally(site, "users", 1, {"password": HASH})

    assert (before[0], site.answer(token)) == (200, (401, "jwt revoked"))
