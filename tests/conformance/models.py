"""The tables of the reference application, and its seed data."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records.authentication.passwords import Passwords


class Base(DeclarativeBase):
    # The identifiers of removed records are not given again.
    __table_args__ = {
        "sqlite_autoincrement": True,
        "mysql_collate": "utf8mb4_bin",
        "mariadb_collate": "utf8mb4_bin",
    }

    id: Mapped[int] = mapped_column(primary_key=True, sort_order=-1)


class User(Base):
    __tablename__ = "users"

    email: Mapped[str | None] = mapped_column(sa.String(255), unique=True)
    password: Mapped[str] = mapped_column(sa.String(255))
    name: Mapped[str | None] = mapped_column(sa.String(255))
    avatar: Mapped[str | None] = mapped_column(sa.String(255))
    fakeId: Mapped[str | None] = mapped_column(sa.String(255), unique=True)
    noemailId: Mapped[str | None] = mapped_column(sa.String(255), unique=True)
    deniedId: Mapped[str | None] = mapped_column(sa.String(255), unique=True)


class Message(Base):
    __tablename__ = "messages"

    text: Mapped[str | None] = mapped_column(sa.Text)
    read: Mapped[bool | None]
    roomId: Mapped[int | None]
    userId: Mapped[int | None]
    createdAt: Mapped[int | None] = mapped_column(sa.BigInteger)
    archived: Mapped[bool | None]


class Tag(Base):
    __tablename__ = "tags"

    name: Mapped[str] = mapped_column(sa.Text)
    color: Mapped[str | None] = mapped_column(
        sa.Text().with_variant(sa.Text(2**24), "mysql", "mariadb")
    )
    rank: Mapped[int | None]


class NamedBase(DeclarativeBase):
    metadata = Base.metadata


class NamedTag(NamedBase):
    """A tag that is identified by its name, which only the servers of the recordings
    take for unique.
    """

    __table__ = Tag.__table__
    __mapper_args__ = {"primary_key": [Tag.__table__.c.name]}


class Picky(Base):
    __tablename__ = "picky"

    name: Mapped[str | None] = mapped_column(sa.String(255))
    kind: Mapped[str | None] = mapped_column(sa.String(255))


class Secret(Base):
    __tablename__ = "secrets"

    title: Mapped[str | None] = mapped_column(sa.String(255))
    ownerId: Mapped[int | None]


class Person(Base):
    __tablename__ = "people"

    name: Mapped[str | None] = mapped_column(sa.String(255))
    age: Mapped[int | None]
    created: Mapped[bool | None]
    time: Mapped[int | None] = mapped_column(sa.BigInteger)


PASSWORDS = {"alice@example.com": "alice-secret", "bob@example.com": "bob-secret"}
HASHES = {email: Passwords().hash(text) for email, text in PASSWORDS.items()}


def gravatar(email):
    digest = hashlib.md5(email.lower().encode()).hexdigest()
    return f"https://s.gravatar.com/avatar/{digest}?s=60"


def reset(engine):
    """Put the seed data back."""
    with engine.begin() as connection:
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)

        for model, rows in seeds().items():
            connection.execute(sa.insert(model.__table__), rows)


def seeds():
    return {
        User: [
            {
                "email": email,
                "password": HASHES[email],
                "name": email.partition("@")[0].title(),
                "avatar": gravatar(email),
            }
            for email in PASSWORDS
        ],
        Message: [_message(number) for number in range(1, 26)],
        Tag: [
            {"name": "red", "color": "#f00", "rank": 3},
            {"name": "green", "color": "#0f0", "rank": 1},
            {"name": "blue", "color": "#00f", "rank": 2},
            {"name": "amber", "color": "#fb0", "rank": 1},
            {"name": "cyan", "color": "#0ff", "rank": 3},
        ],
        Picky: [
            {"name": "apple", "kind": "fruit"},
            {"name": "apricot", "kind": "fruit"},
            {"name": "banana", "kind": "fruit"},
            {"name": "carrot", "kind": "root"},
            {"name": "beet", "kind": "root"},
        ],
        Secret: [
            {"title": "first secret", "ownerId": 1},
            {"title": "second secret", "ownerId": 2},
        ],
    }


TEXTS = {23: "Stra\u00dfe \u65e5\u672c\u8a9e 100% na\u00efve & more", 24: None}


def _message(number):
    return {
        "text": TEXTS.get(number, f"message {number}"),
        "read": number % 2 == 0,
        "roomId": None if number == 25 else (number - 1) % 5 + 1,
        "userId": 2 if number % 3 == 0 else 1,
        "createdAt": 1_600_000_000_000 + number * 1000,
        "archived": number % 10 == 0,
    }
