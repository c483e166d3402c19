"""Integers of 64 bits that a converter sends as text."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import Converter, SQLAlchemyService

from ..databases import serving_models


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "big_account"

    id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True
    )
    total: Mapped[int | None] = mapped_column(sa.BigInteger)
    small: Mapped[int | None]
    entries: Mapped[list[Entry]] = relationship(back_populates="account")


class Entry(Base):
    __tablename__ = "big_entry"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(sa.ForeignKey("big_account.id"))
    account: Mapped[Account] = relationship(back_populates="entries")


LARGE = 2**60 + 1


@pytest.fixture
def accounts(database_url):
    converters = {sa.BigInteger: Converter(show=str)}
    service = SQLAlchemyService(Account, converters=converters, client_ids=True)
    entries = SQLAlchemyService(Entry, whitelist=["$populate"])
    services = {"accounts": service, "entries": entries}

    with serving_models(database_url, services) as client:
        accounts = client.records["accounts"]
        accounts.client, accounts.sent = client, []
        accounts.events()(lambda event, record, context: accounts.sent.append(record))

        with client.application.app_context():
            yield accounts


def test_integers_of_64_bits_are_sent_as_text(accounts):
    body = {"id": str(LARGE), "total": str(LARGE), "small": 5}

    answer = accounts.client.post("/accounts", json=body)

    assert answer.json == {"id": str(LARGE), "total": str(LARGE), "small": 5}
    assert accounts.sent == [answer.json]
    assert accounts.client.get(f"/accounts/{LARGE}").json == answer.json
    assert accounts.client.get(f"/accounts?total={LARGE}").json == [answer.json]
    error = accounts.client.get("/accounts?total[$gt]=many").json
    assert (
        error["message"] == "'many' is not a valid 'total': it is not a whole number."
    )
    assert accounts.client.get("/accounts/many").status_code == 404
    assert accounts.client.post("/accounts", json={"total": 1.5}).status_code == 400


def test_relationships_are_found_by_keys_that_are_sent_as_text(accounts):
    accounts.create({"id": LARGE})
    entry = {"account_id": str(LARGE)}
    accounts.client.post("/entries", json=entry)

    answer = accounts.client.get("/entries?$populate=account").json

    assert answer[0]["account"]["id"] == str(LARGE)
