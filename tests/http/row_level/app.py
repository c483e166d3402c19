"""An application whose users own notes."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, Session

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    hash_password,
    set_user_field,
    SQLAlchemyService,
)

from ...authentication import CHEAP, serving


class Base(DeclarativeBase):
    # MariaDB compares text without regard to case unless it is told otherwise.
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Person(Base):
    __tablename__ = "row_level_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))

    notes: Mapped[list[Note]] = relationship(back_populates="user")


class Note(Base):
    __tablename__ = "row_level_note"

    # PostgreSQL counts on from here, whatever identifiers the notes of a test have.
    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(50))
    rank: Mapped[int | None]
    userId: Mapped[int | None] = mapped_column(
        "user_id", sa.ForeignKey("row_level_user.id")
    )

    user: Mapped[Person | None] = relationship(back_populates="notes")


BOB = {"email": "bob@example.com", "password": "battery staple"}

EVE = {"email": "eve@example.com", "password": "purple monkey"}

NOTES = [
    {"id": 1, "text": "ann's", "rank": 1, "userId": 1},
    {"id": 2, "text": "ann's", "rank": 2, "userId": 1},
    {"id": 3, "text": "bob's", "rank": 1, "userId": 2},
    {"id": 4, "text": "bob's", "rank": 2, "userId": 2},
    {"id": 5, "text": "nobody's", "rank": 2, "userId": None},
]

TEXT = {"text": "changed"}

BY_ID = [("GET", None), ("PUT", TEXT), ("PATCH", TEXT), ("DELETE", None)]
"""The calls on one note: the verb and the data."""

WHITELIST = [
    *("$and", "$nor", "$not", "$null", "$like", "$notLike", "$ilike", "$between"),
    *("$regex", "$search", "$populate"),
]


def make_records(users=None, notes=None, *, public=False, own=None):
    """An extension whose notes belong to users.

    :param users: Options of their service.
    :param notes: Options of what serves them.
    :param public: Whether the service of the notes is.
    :param own: Strategies of the application.
    """
    records = FlaskRecords(app_errors=True)
    records.add("authentication", AuthenticationService(strategies=own))
    records.add("staff", AuthenticationService(settings="STAFF"))
    options = {"multi": True, "whitelist": WHITELIST, "client_ids": True}
    service = SQLAlchemyService(Person, hidden=["password"], **options)
    allow = dict.fromkeys(["update", "patch", "remove"], {"id": FromUser("id")})
    options_of_users = {"allow": allow, "public": ["create"], **(users or {})}
    added = records.add("users", service, **options_of_users)
    added.before("create", "update", "patch")(hash_password())
    pages = {"default": 10}
    service = SQLAlchemyService(Note, paginate=pages, **options, **(notes or {}))
    own = {"userId": FromUser("id")}
    added = records.add("notes", service, public=public, readable=own)
    added.before("create", "update", "patch")(set_user_field("userId"))
    return records


@contextmanager
def served(records, url="sqlite://"):
    """A client of an application with the users Ann and Bob."""
    staff = {"secret": "t" * 32, "passwords": CHEAP, "issuer": "staff"}

    with serving(records, url=url, base=Base, STAFF=staff) as client:
        client.post("/users", json=BOB)
        yield client


once = pytest.mark.parametrize("module_url", ["sqlite"], indirect=True)
"""Where no database has a say, one is enough."""


def engine_of(client):
    with client.application.app_context():
        return client.application.extensions["sqlalchemy"].engine


def session_of(client):
    return Session(engine_of(client))


def rows_of(client, model):
    names = sa.inspect(model).columns.keys()
    statement = sa.select(*(getattr(model, name) for name in names))

    with session_of(client) as session:
        rows = session.execute(statement.order_by(model.id))
        return [dict(zip(names, row, strict=True)) for row in rows]


def records_of(response):
    """The records of an answer of any kind."""
    body = response.json

    if isinstance(body, dict):
        return body["data"] if "data" in body else [body]

    return body


def ids_of(response):
    return [record["id"] for record in records_of(response)]


def calls_of(path, data):
    """A call of each kind: the verb, the path and the data. The record is Ann's."""
    return [
        ("GET", path, None),
        ("GET", f"{path}/1", None),
        ("POST", path, data),
        ("PUT", f"{path}/1", data),
        ("PATCH", f"{path}/1", data),
        ("PATCH", path, data),
        ("DELETE", f"{path}/1", None),
        ("DELETE", path, None),
    ]
