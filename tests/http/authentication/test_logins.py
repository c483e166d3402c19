"""Logins with a name and a password."""

from __future__ import annotations

import jwt
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, hash_password, SQLAlchemyService
from tests.authentication import ANN, bearer, log_in, LOGIN, make_records, serving
from tests.http.authentication.authenticated import INVALID, NOT_ALLOWED, refused, USER
from tests.models import User

NO_STRATEGY = f"{INVALID} (no `strategy` set)"

NO_TEXT = [0, 1, 1.5, True, False, [], ["x"], {}, {"$ne": "x"}, {"$gt": ""}]


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
    assert (
        response.json
        == BadRequest(f"'{name}' is not text.", errors={name: "is not text"}).to_dict()
    )


@pytest.mark.parametrize("name", ["email[$ne]", "password[$gt]", "email[]"])
def test_form_brings_no_operators(client, name):
    response = client.post("/authentication", data={**LOGIN, name: "x"})

    assert response.status_code == 400


class LooseBase(DeclarativeBase):
    pass


class LooseUser(LooseBase):
    """A user in a table that MariaDB compares as it does by default."""

    __tablename__ = "loose_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100))
    password: Mapped[str] = mapped_column(sa.String(200))


SIMILAR = [ANN["email"].upper(), f"{ANN['email']} ", "\u00e1nn@example.com"]


@pytest.mark.parametrize("email", SIMILAR)
def test_user_name_that_a_database_takes_for_another_is_unknown(database_url, email):
    records = make_records(users=SQLAlchemyService(LooseUser, hidden=["password"]))
    other = {"email": email, "password": "battery staple"}

    with serving(records, url=database_url, base=LooseBase) as client:
        unknown = client.post("/authentication", json=LOGIN | {"email": email})
        created = client.post("/users", json=other).json
        logins = [LOGIN, {"strategy": "local", **other}]
        users = [client.post("/authentication", json=each).json for each in logins]

    assert (unknown.status_code, unknown.json["message"]) == (401, "Invalid login")
    assert [each["user"]["email"] for each in users] == [ANN["email"], email]
    assert users[1]["user"] == created


def test_names_are_stored_as_normalize_has_them(database_url):
    records = make_records(normalize=str.lower)
    people = records.add("people", SQLAlchemyService(User, hidden=["password"]))
    people.before("create", "update", "patch")(hash_password())

    with serving(records, url=database_url) as client:
        new = {"email": "NEW@Example.com", "password": ANN["password"]}
        created = client.post("/users", json=new).json
        login = client.post("/authentication", json={"strategy": "local", **new})
        headers = bearer(login.json["accessToken"])
        path = f"people/{created['id']}"
        patched = client.patch(path, json={"email": "Ann@B.com"}, headers=headers).json
        odd = client.patch(path, json={"email": None}, headers=headers)

    assert created["email"] == "new@example.com"
    assert login.status_code == 201
    assert patched["email"] == "ann@b.com"
    assert odd.status_code == 400


def test_names_are_compared_as_normalize_has_them(database_url):
    records = make_records(
        users=SQLAlchemyService(LooseUser, hidden=["password"]), normalize=str.lower
    )

    with serving(records, url=database_url, base=LooseBase) as client:
        login = LOGIN | {"email": ANN["email"].title()}
        response = client.post("/authentication", json=login)
        records_of = records["users"]

        with client.application.app_context():
            records_of._patch(1, {"email": ANN["email"].upper()})

        in_capitals = client.post("/authentication", json=login)

    is_loose = "mariadb" in database_url
    assert response.status_code == 201
    assert in_capitals.status_code == (201 if is_loose else 401)


@pytest.mark.parametrize(("number", "status"), [("7", 201), ("07", 401), ("7.0", 401)])
def test_name_that_is_a_number_is_spelt_in_one_way(number, status):
    """Limits of logins count names."""

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id: Mapped[int] = mapped_column(primary_key=True)
        email: Mapped[str] = mapped_column(sa.String(100))
        number: Mapped[int] = mapped_column(default=7, unique=True)
        password: Mapped[str | None] = mapped_column(sa.String(200))

    people = SQLAlchemyService(Person, hidden=["password"])
    records = make_records(users=people, username="number")
    login = {"strategy": "local", "number": number, "password": ANN["password"]}

    with serving(records, base=Base) as client:
        response = client.post("/authentication", json=login)

    assert response.status_code == status
