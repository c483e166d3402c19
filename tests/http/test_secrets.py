"""Fields named like secrets that clients may read are told at the start."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Door(Base):
    __tablename__ = "secrets_door"

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str]
    pin_hash: Mapped[str]
    privateKey: Mapped[str]
    key: Mapped[str]
    hash_count: Mapped[int]
    tokens: Mapped[int]
    has_password: Mapped[bool]
    secretSeed: Mapped[bytes] = mapped_column(sa.LargeBinary)


TOLD = """\
Clients can read 'token', 'pin_hash', 'privateKey', 'secretSeed' of 'Door', as their \
names may be those of secrets. Hide them, SQLAlchemyService(Door, hidden=['token', \
'pin_hash', 'privateKey', 'secretSeed']), or list all fields for clients in 'fields'.\
"""


@pytest.mark.parametrize(
    ("options", "methods", "told"),
    [
        ({}, ["find"], TOLD),
        ({}, ["create"], None),
        ({"fields": ["token"]}, ["find"], None),
        (
            {
                "hidden": ["pin_hash", "privateKey", "secretSeed"],
                "visible": {"token": lambda user: False},
            },
            ["find"],
            None,
        ),
    ],
)
def test_names_like_those_of_secrets_are_told(caplog, options, methods, told):
    records = FlaskRecords()
    session = sa.orm.Session
    service = SQLAlchemyService(Door, session=session, **options)
    records.add("doors", service, public=True, methods=methods)

    records.init_app(Flask("tests"))

    assert [each.message for each in caplog.records] == ([told] if told else [])
