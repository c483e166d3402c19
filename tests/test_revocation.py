from __future__ import annotations

import os
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import jwt
import pytest
import redis
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from werkzeug.security import generate_password_hash

from flask_records import AuthenticationService
from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import Params
from flask_records import RedisRevocations
from flask_records import RevokedTokenMixin
from flask_records import SQLAlchemyService
from flask_records import TableRevocations
from flask_records import Transaction
from flask_records import Unavailable

SETTINGS = {"secret": "s" * 32, "passwords": {"memory": 64, "passes": 1}}

everywhere = pytest.mark.parametrize(
    ("database_url", "store"),
    [
        ("sqlite", "table"),
        ("postgresql", "table"),
        ("mariadb", "table"),
        ("sqlite", "redis"),
    ],
    indirect=True,
)

in_tables = pytest.mark.parametrize(
    ("database_url", "store"),
    [("sqlite", "table"), ("postgresql", "table"), ("mariadb", "table")],
    indirect=True,
)

on_sqlite = pytest.mark.parametrize(
    ("database_url", "store"), [("sqlite", "table"), ("sqlite", "redis")], indirect=True
)


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    name: Mapped[str | None] = mapped_column(sa.String(100))


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    login: Mapped[str] = mapped_column(sa.String(100))
    secret: Mapped[str] = mapped_column(sa.String(200))


class Unique(Base):
    __tablename__ = "unique_user"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    email: Mapped[str] = mapped_column(sa.String(100))
    password: Mapped[str] = mapped_column(sa.String(200))


class Named(Base):
    __tablename__ = "named_user"

    email: Mapped[str] = mapped_column(sa.String(100), primary_key=True)
    password: Mapped[str] = mapped_column(sa.String(200))


class RevokedToken(RevokedTokenMixin, Base):
    __tablename__ = "revoked_token"


@pytest.fixture
def redis_client():
    if not os.environ.get("TEST_REDIS_URL"):
        pytest.skip("TEST_REDIS_URL is not set")

    with redis.Redis.from_url(os.environ["TEST_REDIS_URL"]) as client:
        yield client


@pytest.fixture
def redis_store(redis_client):
    prefix = f"test:{uuid.uuid4().hex}:"
    yield RedisRevocations(redis_client, prefix=prefix)

    for key in redis_client.scan_iter(f"{prefix}*"):
        redis_client.delete(key)


@pytest.fixture(params=["table", "redis"])
def store(request):
    """What keeps marks: a table of the database, or Redis."""
    if request.param == "redis":
        return request.getfixturevalue("redis_store")

    return TableRevocations(RevokedToken)


@contextmanager
def served(records, url, **settings):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["RECORDS_AUTHENTICATION"] = {**SETTINGS, **settings}
    app.config["ADMINS"] = {**SETTINGS, "lifetime": "30d", "issuer": "admins"}
    db = SQLAlchemy(app, model_class=Base)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    try:
        yield app
    finally:
        with app.app_context():
            db.session.remove()
            db.drop_all()
            db.engine.dispose()


def add_users(records, path="users", model=User, *, password="password"):
    service = SQLAlchemyService(model, hidden=[password], multi=True)
    users = records.add(path, service, public=["create"])
    users.before("create", "update", "patch")(hash_password(password))
    return users


@pytest.fixture
def records(store):
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService(revocations=store))
    return records


@pytest.fixture
def app(records, database_url):
    with served(records, database_url) as app:
        yield app


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def ann(client):
    """The identifier of a user."""
    return register(client, "ann")


@pytest.fixture
def ben(client, ann):
    """The identifier of another user."""
    return register(client, "ben")


def register(client, email):
    return client.post("/users", json={"email": email, "password": "old"}).json["id"]


def log_in(client, email="ann", password="old", path="/authentication"):
    login = {"strategy": "local", "email": email, "password": password}
    response = client.post(path, json=login)
    assert response.status_code == 201, response.json
    return response.json["accessToken"]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def log_out(client, token):
    return client.delete("/authentication", headers=bearer(token))


def is_valid(client, token, path="/users"):
    status = client.get(path, headers=bearer(token)).status_code
    assert status in (200, 401)
    return status == 200


def signed(subject, **claims):
    """A token of another server that has the secret."""
    issued = int(time.time()) - 10
    payload = {
        "iat": issued,
        "exp": issued + 1000,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": str(subject),
        "jti": uuid.uuid4().hex,
        **claims,
    }
    return jwt.encode(payload, SETTINGS["secret"], headers={"typ": "access"})


def refusal(message):
    return {
        "name": "NotAuthenticated",
        "message": message,
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


@everywhere
def test_logout_revokes_the_token_and_no_other(client, ann, ben):
    token, second, other = log_in(client), log_in(client), log_in(client, "ben")

    response = log_out(client, token)

    assert (response.status_code, response.json["accessToken"]) == (200, token)
    found = [is_valid(client, one) for one in (token, second, other)]
    assert found == [False, True, True]


@everywhere
def test_revoked_token_is_refused_wherever_it_is_sent(client, ann):
    token = log_in(client)
    log_out(client, token)

    responses = [
        client.get("/users", headers=bearer(token)),
        log_out(client, token),
        client.post("/authentication", json={"strategy": "jwt", "accessToken": token}),
        client.delete(f"/authentication/{token}", headers=bearer(token)),
    ]

    assert [response.status_code for response in responses] == [401] * 4
    assert [response.json for response in responses] == [refusal("jwt revoked")] * 4


@everywhere
def test_logout_of_another_token_revokes_neither(client, ann):
    token, other = log_in(client), log_in(client)

    response = client.delete(f"/authentication/{other}", headers=bearer(token))

    assert response.json == refusal("Invalid access token")
    assert is_valid(client, token)
    assert is_valid(client, other)


@everywhere
@pytest.mark.parametrize(
    ("verb", "path", "data"),
    [
        ("PATCH", "/users/{id}", {"password": "new"}),
        ("PATCH", "/users/{id}", {"password": "new", "name": "Ann"}),
        ("PATCH", "/users/{id}?$select=name", {"password": "new"}),
        ("PATCH", "/users?email=ann", {"password": "new"}),
        ("PATCH", "/users?email=ann&$select=name", {"password": "new"}),
        ("PATCH", "/users/{id}", {"password": "old"}),
        ("PATCH", "/users/{id}", {"password": None}),
        ("PUT", "/users/{id}", {"email": "ann", "password": "new"}),
    ],
)
def test_change_of_a_password_revokes_older_tokens(client, ann, ben, verb, path, data):
    tokens, other = [log_in(client), log_in(client)], log_in(client, "ben")
    url = path.format(id=ann)

    response = client.open(url, method=verb, json=data, headers=bearer(tokens[0]))

    assert response.status_code == 200
    assert [is_valid(client, token) for token in tokens] == [False, False]
    assert is_valid(client, other)


@everywhere
@pytest.mark.parametrize(
    "change",
    [
        lambda users, id: users.patch(id, {"password": "new"}),
        lambda users, id: users.patch(
            None, {"password": "new"}, Params(query={"id": {"$in": [id]}})
        ),
        lambda users, id: users.update(id, {"email": "ann", "password": "new"}),
        lambda users, id: users.remove(id),
        lambda users, id: users.remove(None, Params(query={"email": "ann"})),
    ],
    ids=["patch", "patch of many", "update", "remove", "remove of many"],
)
def test_change_in_python_revokes_older_tokens(app, client, ann, ben, change):
    token, other = log_in(client), log_in(client, "ben")

    with app.app_context():
        change(app.extensions["records"]["users"], ann)

    assert not is_valid(client, token)
    assert is_valid(client, other)


@on_sqlite
def test_change_revokes_tokens_whatever_a_hook_makes_of_the_result(app, client, ann):
    token = log_in(client)

    @app.extensions["records"]["users"].after("patch")
    def replace(method, context):
        context.result = {"ok": True}

    response = client.patch(
        f"/users/{ann}", json={"password": "new"}, headers=bearer(token)
    )

    assert (response.status_code, response.json) == (200, {"ok": True})
    assert not is_valid(client, token)


@everywhere
def test_change_of_the_passwords_of_all_revokes_the_tokens_of_all(client, ann, ben):
    token, other = log_in(client), log_in(client, "ben")

    client.patch("/users", json={"password": "new"}, headers=bearer(token))

    assert not is_valid(client, token)
    assert not is_valid(client, other)


@everywhere
def test_login_right_after_a_change_gives_a_token_that_can_be_revoked(client, ann):
    url, new = f"/users/{ann}", {"password": "new"}
    client.patch(url, json=new, headers=bearer(log_in(client)))
    first, second = log_in(client, password="new"), log_in(client, password="new")

    log_out(client, first)

    assert [is_valid(client, first), is_valid(client, second)] == [False, True]


@everywhere
def test_each_change_revokes_tokens_however_fast_they_follow(client, ann):
    url, headers = f"/users/{ann}", bearer(log_in(client))
    client.patch(url, json={"password": "1"}, headers=headers)
    token = log_in(client, password="1")

    client.patch(url, json={"password": "2"}, headers=bearer(token))

    assert not is_valid(client, token)
    assert is_valid(client, log_in(client, password="2"))


@everywhere
@pytest.mark.parametrize("data", [{"name": "Ann"}, {}, {"email": "anna"}])
def test_patch_without_the_password_revokes_nothing(client, ann, data):
    token = log_in(client)

    response = client.patch(f"/users/{ann}", json=data, headers=bearer(token))

    assert response.status_code == 200
    assert is_valid(client, token)


@everywhere
def test_patch_of_nobody_revokes_nothing(client, ann):
    token = log_in(client)

    for url in ("/users/999", "/users?email=nobody"):
        client.patch(url, json={"password": "new"}, headers=bearer(token))

    assert is_valid(client, token)


@in_tables
def test_failed_change_revokes_nothing(records, client, ann):
    token = log_in(client)

    @records.after("patch")
    def refuse(method, context):
        raise BadRequest("Too weak")

    response = client.patch(
        f"/users/{ann}", json={"password": "new"}, headers=bearer(token)
    )

    assert response.status_code == 400
    assert is_valid(client, token)
    assert is_valid(client, log_in(client))


@in_tables
def test_change_that_is_undone_within_a_transaction_revokes_nothing(app, client, ann):
    token = log_in(client)
    users = app.extensions["records"]["users"]

    with app.app_context(), Transaction():
        with pytest.raises(BadRequest), Transaction():
            users.patch(ann, {"password": "new"})
            raise BadRequest

        users.patch(ann, {"name": "Ann"})

    assert is_valid(client, token)


@pytest.mark.parametrize(
    ("database_url", "store"), [("sqlite", "table")], indirect=True
)
def test_token_issued_for_the_old_password_before_the_commit_is_refused(
    app, client, ann
):
    def meanwhile():
        started = int(time.time())

        while int(time.time()) < started + 2:
            time.sleep(0.05)

        return log_in(app.test_client())

    with ThreadPoolExecutor(1) as pool, app.app_context(), Transaction():
        app.extensions["records"]["users"].patch(ann, {"password": "new"})
        token = pool.submit(meanwhile).result()

    assert not is_valid(client, token)


@everywhere
def test_token_of_a_removed_user_is_not_that_of_the_next_with_his_id(app, client, ann):
    token = log_in(client)
    users = app.extensions["records"]["users"]

    with app.app_context():
        users.remove(ann)
        users.create({"id": ann, "email": "eve", "password": "old"})

    assert client.get("/users", headers=bearer(token)).json == refusal("jwt revoked")
    assert is_valid(client, log_in(client, "eve"))


@everywhere
def test_login_that_upgrades_a_hash_revokes_nothing(app, client, ann):
    older = generate_password_hash("old", "pbkdf2:sha256:10")
    token = signed(ann)

    with app.app_context():
        app.extensions["records"]["users"]._patch(ann, {"password": older})

    second = log_in(client)

    with app.app_context():
        hash = app.extensions["records"]["users"].get(ann)["password"]

    assert hash.startswith("$argon2id$")
    assert [is_valid(client, token), is_valid(client, second)] == [True, True]


@everywhere
@pytest.mark.parametrize(
    "claims",
    [
        {"jti": ""},
        {"jti": "é\0'\"%_*?[]:\n"},
        {"jti": "x" * 5_000},
        {"sub": 1},
        {"iat": 0},
        {"iat": time.time() - 5.5},
        {"iat": int(time.time()) + 3600},
        {"exp": time.time() + 1000.5},
    ],
    ids=lambda claims: ascii(claims)[:20],
)
def test_odd_token_that_is_valid_can_be_logged_out(client, ann, claims):
    token = signed(ann, **claims)
    before = is_valid(client, token)

    response = log_out(client, token)

    assert (before, response.status_code) == (True, 200)
    assert not is_valid(client, token)


@on_sqlite
@pytest.mark.parametrize("jti", [7, None, True, ["x"], {"x": 1}, "x" * 100_000])
def test_token_without_an_identifier_of_its_own_is_refused(client, ann, jti):
    response = log_out(client, signed(ann, jti=jti))

    assert response.status_code == 401


@everywhere
def test_logouts_at_once_of_one_token(app, client, ann):
    token = log_in(client)

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: log_out(app.test_client(), token), range(8)))

    statuses = {response.status_code for response in done}
    assert {200} <= statuses <= {200, 401}
    assert not is_valid(client, token)


@in_tables
def test_logouts_at_once_of_several_tokens_all_succeed(app, client, ann):
    """Both have looked for expired marks when they write theirs."""
    tokens, barrier = [log_in(client), log_in(client)], Barrier(2)

    def meet(connection, cursor, statement, *rest):
        # SQLite lets one in at a time.
        if "INTO revoked_token" in statement and connection.dialect.name != "sqlite":
            barrier.wait(5)

    with app.app_context():
        sa.event.listen(
            app.extensions["sqlalchemy"].engine, "before_cursor_execute", meet
        )

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda token: log_out(app.test_client(), token), tokens))

    assert [response.status_code for response in done] == [200, 200]
    assert not any(is_valid(client, token) for token in tokens)


@in_tables
def test_mark_is_removed_once_it_has_expired(app, client, ann, store):
    with app.app_context():
        store.put("expired", 1, int(time.time()) - 1)
        store.put("kept", 1, int(time.time()) + 60)

    log_out(client, log_in(client))

    with app.app_context():
        session = app.extensions["sqlalchemy"].session
        keys = set(session.scalars(sa.select(RevokedToken.key)))

    assert (len(keys), "expired" in keys, "kept" in keys) == (2, False, True)


def test_redis_forgets_a_mark_when_its_tokens_have_expired(redis_store, redis_client):
    redis_store.put("key", 1, int(time.time()) + 60)

    assert 55 < redis_client.ttl(redis_store._prefix + "key") <= 60


@on_sqlite
def test_marks_hold_as_long_as_their_tokens(records, database_url, store):
    with served(records, database_url, lifetime="2s") as app:
        client = app.test_client()
        url = f"/users/{register(client, 'ann')}"
        register(client, "ben")
        left, changed = log_in(client, "ben"), log_in(client)
        messages = {left: set(), changed: set()}
        log_out(client, left)
        client.patch(url, json={"password": "new"}, headers=bearer(changed))

        while not all("jwt expired" in found for found in messages.values()):
            for token, found in messages.items():
                response = client.get("/users", headers=bearer(token))
                found.add(response.status_code == 401 and response.json["message"])

            with app.app_context():
                store.put("what makes room for itself", 1, int(time.time()) + 60)

            time.sleep(0.05)

    assert list(messages.values()) == [{"jwt revoked", "jwt expired"}] * 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logout_without_revocations_leaves_the_token_valid(database_url):
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService())

    with served(records, database_url) as app:
        client = app.test_client()
        register(client, "ann")
        token = log_in(client)
        response = log_out(client, token)

        assert (response.status_code, response.json["accessToken"]) == (200, token)
        assert response.json["user"] == {"id": 1, "email": "ann", "name": None}
        assert is_valid(client, token)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_redis_that_does_not_answer_is_told_without_its_address(database_url):
    records = FlaskRecords()
    users = add_users(records)

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        client = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
        store = RedisRevocations(client)
        records.add("authentication", AuthenticationService(revocations=store))

        with served(records, database_url) as app:
            client = app.test_client()
            id = register(client, "ann")
            headers = bearer(signed(id))
            login = {"strategy": "local", "email": "ann", "password": "old"}
            responses = [
                client.get("/users", headers=headers),
                client.post("/users", json={"email": "eve"}, headers=headers),
                client.delete("/authentication", headers=headers),
                client.post("/authentication", json=login),
            ]

            with app.app_context():
                before = users.get(id)

                with pytest.raises(Unavailable):
                    users.patch(id, {"password": "new"})

                assert users.get(id) == before

    assert [response.status_code for response in responses] == [503] * 4
    assert [response.json for response in responses] == [
        {
            "name": "Unavailable",
            "message": "Logins can't be checked at the moment.",
            "code": 503,
            "className": "unavailable",
            "errors": {},
        }
    ] * 4


@everywhere
@pytest.mark.parametrize("model", [Unique, Named])
def test_users_with_other_identifiers(database_url, store, model):
    records = FlaskRecords()
    users = add_users(records, model=model)
    records.add("authentication", AuthenticationService(revocations=store))

    with served(records, database_url) as app:
        client = app.test_client()

        with app.app_context():
            ann, _ = users.create(
                [
                    {"email": "Änn '/%", "password": "old"},
                    {"email": "x", "password": "old"},
                ]
            )

        token, other = log_in(client, "Änn '/%"), log_in(client, "x")

        with app.app_context():
            users.patch(ann[users.target.id], {"password": "new"})

        assert [is_valid(client, token), is_valid(client, other)] == [False, True]


@everywhere
def test_users_at_another_path_with_another_password_field(database_url, store):
    records = FlaskRecords()
    people = add_users(records, "api/people", Person, password="secret")
    service = AuthenticationService(
        "/api/people/", username="login", password="secret", revocations=store
    )
    records.add("login", service)

    with served(records, database_url) as app:
        client = app.test_client()
        login = {"strategy": "local", "login": "ann", "secret": "old"}

        with app.app_context():
            id = people.create({"login": "ann", "secret": "old"})["id"]

        token = client.post("/login", json=login).json["accessToken"]
        url, new = f"/api/people/{id}", {"secret": "new"}
        response = client.patch(url, json=new, headers=bearer(token))

        assert (response.status_code, response.json) == (
            200,
            {"id": id, "login": "ann"},
        )
        assert not is_valid(client, token, "/api/people")


@everywhere
def test_users_of_two_services_with_one_id_are_not_the_same(database_url, store):
    records = FlaskRecords()
    users = add_users(records)
    records.add("authentication", AuthenticationService(revocations=store))
    people = add_users(records, "people", Person, password="secret")
    admins = AuthenticationService(
        "people",
        username="login",
        password="secret",
        revocations=store,
        settings="ADMINS",
    )
    records.add("admins", admins)
    records.add("doors", SQLAlchemyService(Named), authentication="admins")

    with served(records, database_url) as app:
        client = app.test_client()
        login = {"strategy": "local", "login": "ann", "secret": "old"}

        with app.app_context():
            one = people.create({"login": "ann", "secret": "old"})["id"]
            other = users.create({"email": "ann", "password": "old"})["id"]

        token = client.post("/admins", json=login).json["accessToken"]

        with app.app_context():
            users.patch(other, {"password": "new"})

        assert one == other
        assert is_valid(client, token, "/doors")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "names",
    [["ADMINS", "RECORDS_AUTHENTICATION"], ["RECORDS_AUTHENTICATION", "ADMINS"]],
)
def test_mark_is_kept_for_the_longest_lifetime_of_all_services(
    database_url, redis_store, redis_client, names
):
    """Services that share users and marks, with tokens of a day and of 30 days."""
    records = FlaskRecords()
    users = add_users(records)

    for name in names:
        service = AuthenticationService(revocations=redis_store, settings=name)
        records.add(name.lower(), service)

    with served(records, database_url) as app, app.app_context():
        id = users.create({"email": "ann", "password": "old"})["id"]
        users.patch(id, {"password": "new"})

    keys = redis_client.scan_iter(f"{redis_store._prefix}*")
    assert max(map(redis_client.ttl, keys)) > 29 * 24 * 60 * 60
