from __future__ import annotations

import hashlib
import json
import re

import bcrypt
import jwt
import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.hazmat.primitives.serialization import PublicFormat
from flask import Flask
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from werkzeug.security import generate_password_hash

from flask_records import AuthenticationService
from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import Forbidden
from flask_records import hash_password
from flask_records import NotAuthenticated
from flask_records import NotFound
from flask_records import protect
from flask_records import SQLAlchemyService
from flask_records import Strategy

from .authentication import ANN
from .authentication import API_KEY
from .authentication import bearer
from .authentication import CHEAP
from .authentication import Echo
from .authentication import log_in
from .authentication import LOGIN
from .authentication import make_records
from .authentication import SECRET
from .authentication import serving
from .authentication import signed
from .models import User

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

KEY = {"X-Api-Key": "robot's key"}

USER = {"id": 1, "email": "ann@example.com", "age": None}

STRANGER = {"user": None, "authentication": {}, "authenticated": False, "extra": {}}

INVALID = "Invalid authentication information"
NO_STRATEGY = f"{INVALID} (no `strategy` set)"
NOT_ALLOWED = f"{INVALID} (strategy not allowed in authStrategies)"

NO_TEXT = [0, 1, 1.5, True, False, [], ["x"], {}, {"$ne": "x"}, {"$gt": ""}]


@pytest.fixture(scope="module")
def client():
    with serving(make_records()) as client:
        yield client


def refused(message):
    return {
        "name": "NotAuthenticated",
        "message": message,
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


def start(records=None, **config):
    """An application with the services of an extension, or with one that is closed."""
    app = Flask("tests")
    app.config.update(config)
    records = records or FlaskRecords()

    if not records.services:
        records.add("messages", Echo())

    records.init_app(app)
    return app


def test_login_answers_with_the_token_and_the_user(client):
    response = client.post("/authentication", json=LOGIN)

    token = response.json["accessToken"]
    claims = jwt.decode(token, options={"verify_signature": False})
    known = {"strategy": "local", "accessToken": token, "payload": claims}
    assert response.status_code == 201
    assert response.json == {
        "accessToken": token,
        "authentication": known,
        "user": USER,
    }


def test_login_with_a_token_answers_with_the_same_token(client):
    token = log_in(client)
    data = {"strategy": "jwt", "accessToken": token}

    response = client.post("/authentication", json=data)

    claims = jwt.decode(token, options={"verify_signature": False})
    assert response.status_code == 201
    assert response.json == {
        "accessToken": token,
        "authentication": {**data, "payload": claims},
        "user": USER,
    }


def test_login_with_a_form(client):
    assert client.post("/authentication", data=LOGIN).json["user"] == USER


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**LOGIN, "password": "wrong"}, "Invalid login"),
        ({**LOGIN, "password": ""}, "Invalid login"),
        ({**LOGIN, "password": None}, "Invalid login"),
        ({**LOGIN, "email": "bob@example.com"}, "Invalid login"),
        ({**LOGIN, "email": "Ann@example.com"}, "Invalid login"),
        ({**LOGIN, "email": ""}, "Invalid login"),
        ({**LOGIN, "email": None}, "Invalid login"),
        ({"strategy": "local", "email": "ann@example.com"}, "Invalid login"),
        ({"strategy": "local", "password": "wrong"}, "Invalid login"),
        ({"strategy": "local"}, "Invalid login"),
        (ANN, NO_STRATEGY),
        ([LOGIN], NO_STRATEGY),
        ([], NO_STRATEGY),
        ({}, NO_STRATEGY),
        ({**LOGIN, "strategy": None}, NO_STRATEGY),
        ({**LOGIN, "strategy": ""}, NO_STRATEGY),
        ({**LOGIN, "strategy": "LOCAL"}, NOT_ALLOWED),
        ({**LOGIN, "strategy": "__class__"}, NOT_ALLOWED),
        ({**LOGIN, "strategy": "\ud800"}, NOT_ALLOWED),
        ({**LOGIN, "strategy": ["local"]}, NOT_ALLOWED),
        ({**LOGIN, "strategy": {"local": 1}}, NOT_ALLOWED),
        ({**LOGIN, "strategy": 1}, NOT_ALLOWED),
        ({"strategy": "api-key", "key": "robot's key"}, NOT_ALLOWED),
        ({"strategy": "jwt"}, "No access token"),
        ({"strategy": "jwt", "accessToken": None}, "No access token"),
        ({"strategy": "jwt", "accessToken": ""}, "No access token"),
        ({"strategy": "jwt", "accessToken": 1}, "jwt must be a string"),
        ({"strategy": "jwt", "accessToken": False}, "jwt must be a string"),
        ({"strategy": "jwt", "accessToken": ["a.b.c"]}, "jwt must be a string"),
        ({"strategy": "jwt", "accessToken": {"a": "b"}}, "jwt must be a string"),
        ({"strategy": "jwt", "accessToken": "\ud800.a.b"}, "invalid token"),
    ],
)
def test_login_that_fails(client, data, message):
    response = client.post("/authentication", json=data)

    assert response.status_code == 401
    assert response.json == refused(message)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("value", NO_TEXT)
@pytest.mark.parametrize("name", ["email", "password"])
def test_email_and_password_are_text(client, name, value):
    response = client.post("/authentication", json={**LOGIN, name: value})

    assert response.status_code == 400
    assert response.json == {
        "name": "BadRequest",
        "message": f"'{name}' is not text.",
        "code": 400,
        "className": "bad-request",
        "errors": {name: "is not text"},
    }


@pytest.mark.parametrize("name", ["email[$ne]", "password[$gt]", "email[]"])
def test_form_brings_no_operators(client, name):
    response = client.post("/authentication", data={**LOGIN, name: "x"})

    assert response.status_code == 400


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"password": "p" * 1024}, 401),
        ({"password": "p" * 1025}, 400),
        ({"password": "p" * (2**20 - 100)}, 400),
        ({"password": "p" * 2**20}, 413),
        ({"password": "correct horse\0"}, 401),
        ({"password": "\0"}, 401),
        ({"password": "\ud800"}, 401),
        ({"email": "e" * 1024}, 401),
        ({"email": "e" * 1025}, 400),
        ({"email": "e" * (2**20 - 100)}, 400),
        ({"email": "\ud800"}, 400),
        ({"email": "ann@example.com\0"}, 401),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_login_with_odd_text(client, data, status):
    response = client.post("/authentication", json={**LOGIN, **data})

    assert response.status_code == status


def test_no_database_is_troubled_by_an_odd_email(database_url):
    odd = ["\0", "ann@example.com\0", "\ud800", "\U0010ffff", "e" * 1024, "%", "'"]

    with serving(make_records(), url=database_url) as client:
        answers = [
            client.post("/authentication", json={**LOGIN, "email": email}).status_code
            for email in odd
        ]

    assert set(answers) <= {400, 401}


def test_unknown_email_and_wrong_password_look_the_same():
    records = make_records()

    with serving(records) as client:
        with client.application.app_context():
            records["users"].create({"email": "bob@example.com", "password": None})

        wrong, unknown, without = (
            client.post("/authentication", json={**LOGIN, **data})
            for data in (
                {"password": "wrong"},
                {"email": "carl@example.com"},
                {"email": "bob@example.com"},
            )
        )

    assert wrong.data == unknown.data == without.data
    assert [*wrong.headers] == [*unknown.headers] == [*without.headers]


@pytest.mark.parametrize(
    "query",
    [
        "email=bob@example.com",
        "password[$gt]=",
        "$select[]=password",
        "$select[]=nothing",
        "$limit=0",
        "$skip=9",
        "$or[0][email]=x",
        "$populate=messages",
        "$unknown=1",
        "strategy=jwt",
        "%ff=%00",
    ],
)
def test_query_string_of_a_login_does_not_matter(client, query):
    good = client.post(f"/authentication?{query}", json=LOGIN)
    bad = client.post(f"/authentication?{query}", json={**LOGIN, "password": "wrong"})

    assert (good.status_code, good.json["user"]) == (201, USER)
    assert (bad.status_code, bad.json["message"]) == (401, "Invalid login")


def test_name_of_a_user_can_be_normalized():
    with serving(make_records(normalize=str.lower)) as client:
        data = {**LOGIN, "email": "ANN@Example.com"}

        assert client.post("/authentication", json=data).json["user"] == USER


@pytest.mark.parametrize(
    "header",
    [
        "Bearer {}",
        "bearer {}",
        "BEARER {}",
        "bEaReR  {}",
        "Bearer\t{}",
        "JWT {}",
        "jwt {}",
        "Jwt {}",
        "{}",
    ],
)
def test_schemes_that_have_a_token(client, header):
    headers = {"Authorization": header.format(log_in(client))}

    assert client.get("/secrets", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "Not authenticated"),
        ("Basic {}", "Not authenticated"),
        ("Basic YTpi", "Not authenticated"),
        ("Token {}", "Not authenticated"),
        ("Bearer: {}", "Not authenticated"),
        ("Bearers {}", "Not authenticated"),
        ("Digest username=ann, {}", "Not authenticated"),
        ("Bearer", "jwt malformed"),
        ("Bearer garbage", "jwt malformed"),
        ('Bearer "{}"', "invalid token"),
        ("Bearer {},", "invalid token"),
        ("Bearer Bearer {}", "jwt malformed"),
    ],
)
def test_headers_that_let_nobody_in(client, header, message):
    headers = {"Authorization": header.format(log_in(client))}

    response = client.get("/secrets", headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)


@pytest.mark.parametrize(
    ("verb", "path", "data"),
    [
        ("GET", "/secrets?$unknown=1", b""),
        ("GET", "/secrets/99", b""),
        ("POST", "/secrets", b"{"),
        ("POST", "/secrets", b"[{}]"),
        ("POST", "/secrets/1", b"{}"),
        ("POST", "/secrets", b"{" * 2**21),
    ],
)
def test_stranger_is_told_nothing_else(client, verb, path, data):
    response = client.open(
        path, method=verb, data=data, content_type="application/json"
    )

    assert response.status_code == 401
    assert response.json == refused("Not authenticated")


def test_public_method_knows_the_user_of_a_token(client):
    response = client.get("/echo", headers=bearer(log_in(client)))

    claims = response.json["authentication"]["payload"]
    assert claims["sub"] == "1"
    assert response.json == {
        "user": USER,
        "authentication": {"strategy": "jwt", "payload": claims},
        "authenticated": True,
        "extra": {},
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda: "garbage",
        lambda: "\xff.\xfe.\xfd",
        lambda: signed("x" * 32),
        lambda: signed(exp=1),
        lambda: signed(sub="99"),
    ],
    ids=["garbage", "bytes", "another secret", "expired", "nobody"],
)
def test_public_method_ignores_a_bad_token(client, make):
    response = client.get("/echo", headers=bearer(make()))

    assert response.status_code == 200
    assert response.json == {**STRANGER, "authentication": {"strategy": "jwt"}}


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_client_can_not_say_who_he_is(client, verb):
    claimed = {
        "user": {"id": 1},
        "authenticated": True,
        "authentication": {"strategy": "jwt", "payload": {"sub": "1"}},
        "params": {"user": {"id": 1}, "authenticated": True},
        "provider": None,
        "extra": {"user": {"id": 1}},
    }
    query = (
        "user[id]=1&authenticated=true&authentication[strategy]=jwt&provider="
        "&params[user][id]=1&extra[user][id]=1"
    )
    headers = {"User": "1", "Authenticated": "true", "X-User": "1", "Remote-User": "1"}
    data = claimed if verb == "POST" else None

    echo = client.open(f"/echo?{query}", method=verb, json=data, headers=headers)
    closed = client.open(f"/secrets?{query}", method=verb, json=data, headers=headers)

    assert echo.json == STRANGER
    assert (closed.status_code, closed.json) == (401, refused("Not authenticated"))


def test_hidden_fields_of_a_user_are_not_seen():
    users = SQLAlchemyService(User, hidden=["password", "age"])

    with serving(make_records(users=users)) as client:
        login = client.post("/authentication", json=LOGIN).json
        echo = client.get("/echo", headers=bearer(login["accessToken"])).json

    assert login["user"] == echo["user"] == {"id": 1, "email": "ann@example.com"}


def test_hash_of_a_user_is_not_seen_even_if_nothing_hides_it():
    class Users:
        user = {"id": 1, "email": "ann@example.com", "age": None}

        def find(self, params):
            return [self.user]

        def get(self, id, params):
            return self.user

        def create(self, data, params):
            self.user = {**self.user, **data}
            return {"id": 1}

    with serving(make_records(users=Users())) as client:
        login = client.post("/authentication", json=LOGIN).json
        echo = client.get("/echo", headers=bearer(login["accessToken"])).json

    assert login["user"] == echo["user"] == USER


def test_protected_fields_of_a_user_are_not_seen():
    records = make_records()
    records["users"].after()(protect("age", "email"))

    with serving(records) as client:
        login = client.post("/authentication", json=LOGIN).json
        echo = client.get("/echo", headers=bearer(login["accessToken"])).json

    assert login["user"] == echo["user"] == {"id": 1}


@pytest.mark.parametrize("is_logged_in", [True, False])
@pytest.mark.parametrize("path", ["/authentication", "/authentication/1"])
@pytest.mark.parametrize("verb", ["GET", "PUT", "PATCH"])
def test_authentication_is_created_and_removed_only(client, verb, path, is_logged_in):
    headers = bearer(log_in(client)) if is_logged_in else {}
    data = None if verb == "GET" else LOGIN

    response = client.open(path, method=verb, json=data, headers=headers)

    assert response.status_code == 405
    assert response.headers["Allow"] == "POST,DELETE"


@pytest.mark.parametrize(
    ("verb", "path", "data", "status"),
    [
        ("POST", "/authentication", json.dumps(LOGIN), 201),
        ("POST", "/authentication/", json.dumps(LOGIN), 201),
        ("POST", "/authentication", "{}", 401),
        ("POST", "/authentication", "{", 400),
        ("POST", "/authentication", "{" * 2**21, 413),
        ("POST", "/authentication/1", "{}", 405),
        ("DELETE", "/authentication", None, 401),
        ("DELETE", "/authentication/1", None, 401),
        ("GET", "/authentication", None, 405),
        ("HEAD", "/authentication", None, 405),
        ("PUT", "/authentication/1", "{}", 405),
        ("OPTIONS", "/authentication", None, 204),
    ],
)
def test_nobody_keeps_an_answer_of_authentication(client, verb, path, data, status):
    response = client.open(
        path, method=verb, data=data, content_type="application/json"
    )

    assert response.status_code == status
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/authentication", "/authentication/{}"])
def test_logout_answers_with_what_the_token_says(client, path):
    token = log_in(client)

    response = client.delete(path.format(token), headers=bearer(token))

    claims = jwt.decode(token, options={"verify_signature": False})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    assert response.json == {
        "accessToken": token,
        "authentication": {"strategy": "jwt", "accessToken": token, "payload": claims},
        "user": USER,
    }


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("", {}, "Not authenticated"),
        ("/{good}", {}, "Not authenticated"),
        ("/other", bearer("{good}"), "Invalid access token"),
        ("/{other}", bearer("{good}"), "Invalid access token"),
        ("", bearer("{forged}"), "invalid signature"),
        ("/{forged}", bearer("{forged}"), "invalid signature"),
        ("", bearer("garbage"), "jwt malformed"),
        ("", KEY, NOT_ALLOWED),
    ],
    ids=str,
)
def test_logout_needs_the_token(client, path, headers, message):
    tokens = {"good": signed(), "other": signed(), "forged": signed("x" * 32)}
    headers = {name: value.format(**tokens) for name, value in headers.items()}

    response = client.delete(f"/authentication{path.format(**tokens)}", headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)


def test_strategy_of_the_application_lets_callers_in(client):
    response = client.get("/vault", headers=KEY)

    assert response.json == {
        "user": None,
        "authentication": {"strategy": "api-key"},
        "authenticated": True,
        "extra": {"robot": "R2"},
    }


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("/vault", {"X-Api-Key": "guess"}, "Invalid API key"),
        ("/vault", {"X-Api-Key": ""}, "Invalid API key"),
        ("/vault", bearer("garbage"), "jwt malformed"),
        ("/vault", {**KEY, **bearer("garbage")}, "jwt malformed"),
        ("/vault", {}, "Not authenticated"),
        ("/secrets", KEY, NOT_ALLOWED),
    ],
)
def test_service_accepts_its_strategies_only(client, path, headers, message):
    response = client.get(path, headers=headers)

    assert response.status_code == 401
    assert response.json == refused(message)


@pytest.mark.parametrize(
    ("names", "status", "strategy"),
    [
        (["api-key", "jwt"], 200, "api-key"),
        (["jwt", "api-key"], 200, "jwt"),
        (["jwt"], 200, "jwt"),
        (["local"], 401, None),
        ([], 401, None),
    ],
)
def test_strategies_are_read_from_a_request_in_order(names, status, strategy):
    with serving(make_records(), {**SETTINGS, "parse_strategies": names}) as client:
        response = client.get("/vault", headers={**KEY, **bearer(log_in(client))})

    assert response.status_code == status
    assert response.json.get("authentication", {}).get("strategy") == strategy


@pytest.mark.parametrize(
    ("names", "statuses"),
    [
        (["local", "jwt"], [201, 201]),
        (["local"], [201, 401]),
        (["jwt"], [401, 201]),
        ([], [401, 401]),
    ],
)
def test_tokens_are_got_with_the_strategies_of_the_settings(names, statuses):
    logins = [LOGIN, {"strategy": "jwt", "accessToken": signed()}]

    with serving(make_records(), {**SETTINGS, "strategies": names}) as client:
        answers = [client.post("/authentication", json=one) for one in logins]

    assert [answer.status_code for answer in answers] == statuses


def test_token_is_issued_for_a_user_only():
    with serving(make_records(), {**SETTINGS, "strategies": ["api-key"]}) as client:
        data = {"strategy": "api-key", "key": "robot's key"}
        response = client.post("/authentication", json=data)

    assert response.status_code == 401
    assert response.json == refused("A token is issued for a user only.")


def test_strategy_of_the_application_gets_a_token_for_a_user():
    by_pin = Strategy(lambda service, data, params: {"user": service.get_user(1)})
    records = make_records(strategies={"api-key": API_KEY, "pin": by_pin})

    with serving(records, {**SETTINGS, "strategies": ["pin"]}) as client:
        response = client.post("/authentication", json={"strategy": "pin"})
        headers = bearer(response.json["accessToken"])

        assert response.json["authentication"]["strategy"] == "pin"
        assert client.get("/secrets", headers=headers).json["user"] == USER


def test_login_and_logout_are_events_without_the_token():
    records = make_records()
    heard = []
    records.events()(lambda event, record, context: heard.append((event, record)))

    with serving(records) as client:
        heard.clear()
        client.post("/authentication", json={**LOGIN, "password": "wrong"})
        token = log_in(client)
        client.delete("/authentication", headers=bearer(token))

    claims = jwt.decode(token, options={"verify_signature": False})
    known = {"user": USER, "authentication": {"strategy": "local", "payload": claims}}
    assert heard == [
        ("login", known),
        ("logout", {**known, "authentication": {"strategy": "jwt", "payload": claims}}),
    ]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotAuthenticated("Blocked"), 401),
        (Forbidden("Blocked"), 403),
        (NotFound("Blocked"), 401),
        (BadRequest("Blocked"), 401),
    ],
)
def test_user_that_a_hook_refuses_is_kept_out(error, status):
    records = make_records()

    with serving(records) as client:
        token = log_in(client)

        @records["users"].after("get")
        def block(method, context):
            raise error

        answers = [
            client.get("/secrets", headers=bearer(token)),
            client.post("/authentication", json=LOGIN),
            client.post(
                "/authentication", json={"strategy": "jwt", "accessToken": token}
            ),
            client.delete("/authentication", headers=bearer(token)),
        ]
        echo = client.get("/echo", headers=bearer(token))

    assert [answer.status_code for answer in answers] == [status] * 4
    assert echo.json == {**STRANGER, "authentication": {"strategy": "jwt"}}


def test_user_that_a_hook_takes_away_is_kept_out():
    records = make_records()

    with serving(records) as client:
        token = log_in(client)

        @records["users"].after("get")
        def hide(method, context):
            context.result = None

        answers = [
            client.get("/secrets", headers=bearer(token)),
            client.post("/authentication", json=LOGIN),
        ]

    assert [answer.status_code for answer in answers] == [401, 401]


def test_removed_user_can_not_log_in():
    with serving(make_records()) as client:
        client.delete("/users/1", headers=bearer(log_in(client)))

        response = client.post("/authentication", json=LOGIN)

    assert response.json == refused("Invalid login")


@pytest.mark.parametrize(
    "hash",
    [
        generate_password_hash(ANN["password"], "scrypt:1024:8:1"),
        generate_password_hash(ANN["password"], "pbkdf2:sha256:1000"),
        bcrypt.hashpw(ANN["password"].encode(), bcrypt.gensalt(4)).decode(),
        PasswordHasher(1, 8, 1).hash(ANN["password"]),
    ],
    ids=lambda hash: hash[:7],
)
def test_login_replaces_an_older_hash(hash):
    records = make_records()

    with serving(records) as client:
        with client.application.app_context():
            records["users"]._patch(1, {"password": hash})

        wrong = client.post("/authentication", json={**LOGIN, "password": "wrong"})
        first = client.post("/authentication", json=LOGIN)
        second = client.post("/authentication", json=LOGIN)

        with client.application.app_context():
            kept = records["users"]._get(1)["password"]

    statuses = [wrong.status_code, first.status_code, second.status_code]
    assert statuses == [401, 201, 201]
    assert kept.startswith("$argon2id$v=19$m=64,t=1,p=1$")


def test_older_hash_stays_where_there_is_no_room_for_another():
    class Base(DeclarativeBase):
        pass

    class Member(Base):
        __tablename__ = "member"

        id: Mapped[int] = mapped_column(primary_key=True)
        email: Mapped[str]
        password: Mapped[str | None] = mapped_column(sa.String(60))

    hash = bcrypt.hashpw(ANN["password"].encode(), bcrypt.gensalt(4)).decode()
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    users = SQLAlchemyService(Member, hidden=["password"])
    added = records.add("users", users, public=["create"])
    added.before("create")(lambda method, context: context.data.pop("password"))
    added.before("create", "update", "patch")(hash_password())

    with serving(records, base=Base) as client:
        with client.application.app_context():
            added._patch(1, {"password": hash})

        response = client.post("/authentication", json=LOGIN)

        with client.application.app_context():
            assert added._get(1)["password"] == hash

    assert response.status_code == 201


def test_closed_service_needs_settings():
    with pytest.raises(RuntimeError) as caught:
        start()

    assert str(caught.value) == (
        "The service 'messages' needs a token for its calls, but this app has no"
        " authentication. Configure RECORDS_AUTHENTICATION, or add the service with"
        " 'public=True' to let everybody in."
    )


def test_closed_service_needs_an_authentication_service():
    with pytest.raises(RuntimeError) as caught:
        start(RECORDS_AUTHENTICATION=SETTINGS)

    assert str(caught.value) == (
        "The service 'messages' needs a token for its calls, and nothing issues tokens."
        ' Add one: records.add("authentication", AuthenticationService()).'
    )


def test_closed_service_needs_the_authentication_service_that_it_names():
    records = make_records()
    records.add("admin", Echo(), authentication="nowhere")

    with pytest.raises(RuntimeError, match="nowhere"):
        start(records, RECORDS_AUTHENTICATION=SETTINGS)


def test_closed_service_needs_the_strategies_that_it_names():
    records = make_records()
    records.add("admin", Echo(), strategies=["jtw"])

    with pytest.raises(RuntimeError, match="'admin' accepts 'jtw', which is not a"):
        start(records, RECORDS_AUTHENTICATION=SETTINGS)


@pytest.mark.parametrize("path", ["authentication", "login"])
def test_services_are_added_to_an_app_that_has_a_secret_key(path):
    records = FlaskRecords()
    app = Flask("tests")
    app.config["SECRET_KEY"] = SECRET
    records.init_app(app)

    records.add(path, AuthenticationService())
    records.add("users", Echo())
    records.add("messages", Echo())

    assert app.test_client().get("/messages").status_code == 401


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("secret", " is not a mapping, such as {'secret': ...}."),
        (["secret"], " is not a mapping, such as {'secret': ...}."),
        ({"lifetme": "1d"}, "['lifetme'] is not a setting."),
        ({"private_key": "x"}, "['private_key'] is not a setting."),
        ({"strategies": "local"}, "['strategies'] is not a list of texts."),
        ({"parse_strategies": {}}, "['parse_strategies'] is not a list of texts."),
        ({"strategies": [["jwt"]]}, "['strategies']"),
        ({"passwords": 5}, "['passwords'] is a int, not a Mapping."),
        ({"oauth": []}, "['oauth'] is a list, not a Mapping."),
        ({"allow_short_secret": 1}, "['allow_short_secret'] is a int, not a bool."),
        *(
            (
                {option: ["jwt", "locale"]},
                f"['{option}'] names 'locale', which is not a strategy. There is: jwt,"
                " local, api-key.",
            )
            for option in ("strategies", "parse_strategies")
        ),
    ],
)
def test_wrong_settings_are_refused_at_start_up(setting, message):
    is_mapping = isinstance(setting, dict)
    value = {"secret": SECRET, **setting} if is_mapping else setting

    with pytest.raises(
        RuntimeError, match=re.escape(f"RECORDS_AUTHENTICATION{message}")
    ):
        start(make_records(), RECORDS_AUTHENTICATION=value)


def test_error_names_the_setting_of_the_service():
    with pytest.raises(RuntimeError, match=r"^ADMIN_LOGIN\['x'\] is not a setting"):
        start(
            make_records(settings="ADMIN_LOGIN"), ADMIN_LOGIN={"secret": SECRET, "x": 1}
        )


@pytest.mark.parametrize(
    "environment",
    [
        {"": json.dumps({"secret": SECRET, "lifetime": "15m"})},
        {"__secret": SECRET, "__lifetime": "15m"},
        {"__secret": SECRET, "__lifetime": "900"},
    ],
)
def test_settings_of_the_environment(monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(f"FLASK_RECORDS_AUTHENTICATION{name}", value)

    app = Flask("tests")
    app.config.from_prefixed_env()
    records = make_records()
    records.init_app(app)

    with app.app_context():
        tokens = records.authentication().settings.tokens

    assert tokens.lifetime == 900


def two_doors():
    """An extension with a service for each of two authentication services."""
    records = make_records()
    admin = AuthenticationService(settings="RECORDS_ADMIN_AUTHENTICATION")
    records.add("admin/authentication", admin)
    records.add("admin/secrets", Echo(), authentication="/admin/authentication/")
    return records


@pytest.mark.parametrize(
    "config",
    [
        {"RECORDS_ADMIN_AUTHENTICATION": {"secret": "a" * 32, "passwords": CHEAP}},
        {"RECORDS_ADMIN_AUTHENTICATION": {**SETTINGS, "audience": "admins"}},
        {"RECORDS_ADMIN_AUTHENTICATION": {"passwords": CHEAP}, "SECRET_KEY": "a" * 32},
    ],
)
def test_each_authentication_service_accepts_its_own_tokens(config):
    paths = ["/secrets", "/admin/secrets"]

    with serving(two_doors(), **config) as client:
        tokens = log_in(client), log_in(client, "/admin/authentication")
        statuses = [
            [client.get(path, headers=bearer(token)).status_code for path in paths]
            for token in tokens
        ]

    assert statuses == [[200, 401], [401, 200]]


def test_services_that_would_accept_the_same_tokens_do_not_start():
    """Number 1 of the users may be number 1 of the admins."""
    app = Flask("tests")
    app.config["SECRET_KEY"] = SECRET

    with pytest.raises(RuntimeError, match="would let in at 'admin/authentication'"):
        two_doors().init_app(app)


LONG = "x" * 65


@pytest.mark.parametrize(
    ("own", "admin"),
    [
        ({"secret": SECRET}, {"secrets": [SECRET.encode()]}),
        ({"secret": SECRET}, {"secret": f"{SECRET}\0"}),
        ({"secret": SECRET}, {"secret": "a" * 32, "secrets": [SECRET]}),
        ({"secret": SECRET, "secrets": [b"a" * 32]}, {"secret": "a" * 32}),
        ({"secret": SECRET, "secrets": [b"b" * 32]}, {"secrets": ["b" * 32]}),
        ({"secret": LONG}, {"secrets": [hashlib.sha256(LONG.encode()).digest()]}),
        ({"secret": SECRET * 2}, {"secret": SECRET * 2, "algorithm": "HS512"}),
    ],
)
def test_services_with_one_secret_among_theirs_do_not_start(own, admin):
    config = {
        "RECORDS_AUTHENTICATION": own,
        "RECORDS_ADMIN_AUTHENTICATION": {"secret": "c" * 32, **admin},
    }

    with pytest.raises(RuntimeError, match="would let in at 'admin/authentication'"):
        start(two_doors(), **config)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_services_with_one_pair_of_keys_do_not_start(algorithm, tmp_path):
    """However the keys are written."""
    key = {
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
    }[algorithm]()
    pem = {
        "private_key": key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode(),
        "public_key": key.public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode(),
    }
    paths = {name: str(tmp_path / name) for name in pem}

    for name, text in pem.items():
        (tmp_path / name).write_text(f"A key of ours\n{text}")

    settings = {"algorithm": algorithm, "passwords": CHEAP}
    config = {
        "RECORDS_AUTHENTICATION": {**settings, **pem},
        "RECORDS_ADMIN_AUTHENTICATION": {**settings, **paths},
    }

    with pytest.raises(RuntimeError, match="would let in at 'admin/authentication'"):
        start(two_doors(), **config)

    config["RECORDS_ADMIN_AUTHENTICATION"]["audience"] = "admins"
    assert start(two_doors(), **config)


def test_services_that_are_added_later_are_compared_too():
    records = FlaskRecords()
    records.add("messages", Echo(), public=True)
    app = start(records, SECRET_KEY=SECRET, ADMIN={"passwords": CHEAP})
    records.add("authentication", AuthenticationService())

    with pytest.raises(RuntimeError, match="would let in at 'admin'"):
        records.add("admin", AuthenticationService(settings="ADMIN"))

    assert app.extensions["records"] is records


def test_authentication_has_the_path_that_it_is_added_at():
    records = FlaskRecords()
    service = AuthenticationService("people", custom_hashing=True)
    records.add("v1/login", service)
    users = SQLAlchemyService(User, hidden=["password"])
    records.add("people", users, public=["create"]).before("create")(
        lambda method, context: context.bodies[0].update(
            password=PasswordHasher(1, 8, 1).hash(context.data["password"])
        )
    )

    with serving(records) as client:
        assert client.post("/people", json=ANN).status_code == 201

        token = log_in(client, "/v1/login")

        assert client.get("/people/1", headers=bearer(token)).json == USER
        assert client.post("/authentication", json=LOGIN).status_code == 404


def test_apps_of_one_extension_have_their_own_secrets():
    records = make_records()
    other = {"secret": "t" * 32, "passwords": CHEAP}

    with serving(records) as one, serving(records, other) as two:
        tokens = log_in(one), log_in(two)
        statuses = [
            [
                client.get("/secrets", headers=bearer(token)).status_code
                for token in tokens
            ]
            for client in (one, two)
        ]

    assert statuses == [[200, 401], [401, 200]]


def test_factory_makes_apps_with_their_own_settings():
    records = make_records()

    apps = [
        start(records, RECORDS_AUTHENTICATION={**SETTINGS, "issuer": issuer})
        for issuer in ("one", "two")
    ]

    issuers = []

    for app in apps:
        with app.app_context():
            issuers.append(records.authentication().settings.tokens.issuer)

    assert issuers == ["one", "two"]


TEXT = st.text(max_size=7) | st.sampled_from(["local", "jwt", "a.b.c", "\ud800", "\0"])

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=5,
)

BODIES = st.fixed_dictionaries(
    {"strategy": st.sampled_from(["local", "jwt", "api-key"]) | VALUES},
    optional={
        "email": st.just("ann@example.com") | VALUES,
        "password": VALUES,
        "accessToken": VALUES,
        "key": VALUES,
    },
)


@settings(max_examples=300, deadline=None)
@given(BODIES | VALUES)
def test_no_body_of_a_login_is_an_error_of_the_server(client, body):
    response = client.post("/authentication", json=body)

    assert response.status_code in (400, 401)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60),
    st.sampled_from(
        [
            "application/json",
            "application/json; charset=utf-16",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/html",
            "",
        ]
    ),
)
def test_no_bytes_of_a_login_are_an_error_of_the_server(client, data, content_type):
    response = client.post("/authentication", data=data, content_type=content_type)

    assert response.status_code in (400, 401)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["Bearer ", "JWT ", "Basic ", ""]),
    st.text(st.characters(max_codepoint=255, blacklist_characters="\r\n"), max_size=40),
    st.sampled_from(["GET /secrets", "GET /vault", "DELETE /authentication"]),
)
def test_no_header_is_an_error_of_the_server(client, scheme, value, call):
    verb, path = call.split()
    headers = {"Authorization": scheme + value, "X-Api-Key": value}

    response = client.open(path, method=verb, headers=headers)

    assert response.status_code == 401
