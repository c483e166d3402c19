import re

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from tests.authentication import ANN, ANY_LOGIN, CHEAP, LOGIN, SECRET
from tests.models import Base, User

SETTINGS = {"secret": SECRET, "passwords": CHEAP}

HIDE = """\
Clients of 'users' can see the password hashes. Hide them:

    SQLAlchemyService(User, hidden=["password"])
"""

HASH = """\
Passwords that clients of 'users' send are not hashed. Connect the hook before \
'init_app', or say that the application hashes them, in updates too, with \
AuthenticationService(custom_hashing=True):

    users.before("create", "update", "patch")(hash_password("password"))
"""

NO_USERS = """\
There is no service 'nobody' with the users. Add it, or name another one: \
AuthenticationService(users=...).\
"""

NO_FIELD = """\
AuthenticationService({}='nobody') names no field of 'users'. Name another one, or \
leave 'local' out of RECORDS_AUTHENTICATION['strategies'] if nobody logs in with a \
password.\
"""

NO_HASH = """\
'password' of 'users' takes no hashes of passwords, which are texts of 97 characters. \
Make the column a String(255), or say that the application hashes them, with \
AuthenticationService(custom_hashing=True).\
"""

WRITES = ("create", "update", "patch")


def make_records(options=None, *, model=User, path="users", hashed=WRITES, **rest):
    """An extension whose users are safe unless they are made otherwise."""
    records = FlaskRecords()
    records.add("authentication", AuthenticationService(**rest))
    options = {"hidden": ["password"]} if options is None else options
    users = records.add(
        path, SQLAlchemyService(model, **options), public=["create"], allow=ANY_LOGIN
    )

    if hashed:
        users.before(*hashed)(hash_password("password"))

    return records


def start(records, **settings):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {**SETTINGS, **settings}
    records.init_app(app)
    return app


def refusal_of(records, **settings):
    with pytest.raises(RuntimeError) as caught:
        start(records, **settings)

    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "hashed", "message"),
    [
        ({}, WRITES, HIDE),
        ({"hidden": ["age"]}, WRITES, HIDE),
        (None, (), HASH),
        (None, ("create",), HASH),
        (None, ("create", "patch"), HASH),
        ({}, (), f"{HIDE}\n{HASH}"),
    ],
)
def test_users_whose_passwords_are_not_safe_do_not_start(options, hashed, message):
    assert refusal_of(make_records(options, hashed=hashed)) == message


def test_field_that_no_client_can_write_needs_no_hook():
    options = {"hidden": ["password"], "readonly": ["password"]}

    assert start(make_records(options, hashed=()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, HIDE.replace("users", "people")),
        ({"hidden": ["password"]}, HASH.replace("of 'users", "of 'people")),
    ],
)
def test_other_services_over_the_users_are_checked_too(options, message):
    records = make_records()
    people = records.add("people", SQLAlchemyService(User, **options), allow=ANY_LOGIN)

    if not options:
        people.before(*WRITES)(hash_password())

    assert refusal_of(records) == message.replace("    users.", "    people.")


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (sa.String(96), NO_HASH),
        (sa.LargeBinary(200), NO_HASH),
        (sa.String(97), None),
        (sa.Text(), None),
    ],
)
def test_column_that_takes_no_hash_does_not_start(type_, message):
    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id: Mapped[int] = mapped_column(primary_key=True)
        email: Mapped[str] = mapped_column(sa.String(100), unique=True)
        password: Mapped[str | None] = mapped_column(type_)

    records = make_records(model=Person)

    if message is None:
        assert start(records, passwords={})
    else:
        assert refusal_of(records, passwords={}) == message

    assert start(make_records(model=Person, custom_hashing=True))
    readonly = {"hidden": ["password"], "readonly": ["password"]}
    assert start(make_records(readonly, model=Person))


@pytest.mark.parametrize("option", ["users", "username", "password"])
def test_name_that_names_nothing_does_not_start(option):
    message = refusal_of(make_records(**{option: "nobody"}))

    assert message == {"users": NO_USERS}.get(option, NO_FIELD.format(option))


@pytest.fixture
def late(tmp_path):
    """An extension that got its application first, and a client of that."""
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = SETTINGS
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path / 'test.db'}"
    db = SQLAlchemy(app, model_class=Base)
    app.add_url_rule("/page", "page", lambda: "page")
    records = FlaskRecords(app)

    with app.app_context():
        db.create_all()

    return records, app.test_client()


@pytest.mark.parametrize("options", [{}, {"hidden": ["password"]}])
def test_services_that_are_added_later_are_checked_at_the_first_call(
    late, options, caplog
):
    records, client = late
    records.add("authentication", AuthenticationService())
    records.add(
        "users", SQLAlchemyService(User, **options), public=True, allow=ANY_LOGIN
    )

    answers = [
        client.get("/users"),
        client.post("/users", json=ANN),
        client.post("/authentication", json=LOGIN),
    ]

    assert [answer.status_code for answer in answers] == [500] * 3
    assert {answer.json["message"] for answer in answers} == {"Internal server error"}
    assert re.search("RuntimeError: (Clients|Passwords .*) of 'users'", caplog.text)
    assert client.get("/page").text == "page"
