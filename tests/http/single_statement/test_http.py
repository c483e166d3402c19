"""Writes over HTTP take one statement each."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship

from flask_records import Conflict
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served
from ...sql import statements_of
from .twins import kinds


class HttpBase(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Deck(HttpBase):
    __tablename__ = "single_deck"

    id: Mapped[int] = mapped_column(primary_key=True)


class Card(HttpBase):
    __tablename__ = "single_card"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20), unique=True)
    rank: Mapped[int] = mapped_column(default=1)
    secret: Mapped[str | None] = mapped_column(sa.String(20))
    deck_id: Mapped[int | None] = mapped_column(sa.ForeignKey("single_deck.id"))

    deck: Mapped[Deck | None] = relationship()


@pytest.fixture
def cards(database_url):
    db, records = SQLAlchemy(model_class=HttpBase), FlaskRecords()
    options = {"multi": True, "whitelist": ["$populate"]}
    service = SQLAlchemyService(Card, hidden=["secret"], readonly=["rank"], **options)
    records.add("cards", service, public=True)
    records.add("decks", SQLAlchemyService(Deck, client_ids=True), public=True)

    with served(db, records, database_url) as app, app.app_context():
        yield app.test_client(), db.engine


def card(id, title):
    return {"id": id, "title": title, "rank": 1, "deck_id": None}


def test_writes_over_http_are_one_statement_each(cards):
    client, engine = cards
    answers = []

    with statements_of(engine) as statements:
        for verb, path, body in [
            ("POST", "", {"title": "Zoë", "secret": "s3cret"}),
            ("POST", "", [{"title": "b"}, {"title": "a"}]),
            ("POST", "", {"title": "a"}),
            ("POST", "", {"title": "c", "rank": 5}),
            ("PATCH", "/1?$select=title", {"title": "Eve"}),
            ("PATCH", "/1?title=Zoë", {"title": "Eve"}),
            ("DELETE", "/2", None),
            ("DELETE", "/2", None),
        ]:
            response = client.open(f"/cards{path}", method=verb, json=body)
            answers.append((response.status_code, response.json))

    conflict = Conflict(
        "There is a record with this 'title' already.",
        errors={"title": "has to be unique"},
    )
    assert [answers[0], answers[1], answers[2], answers[4], answers[6]] == [
        (201, card(1, "Zoë")),
        (201, [card(2, "b"), card(3, "a")]),
        (409, conflict.to_dict()),
        (200, {"id": 1, "title": "Eve"}),
        (200, card(2, "b")),
    ]
    assert [status for status, _ in answers] == [201, 201, 409, 400, 200, 404, 200, 404]

    if engine.dialect.name != "mariadb":
        # SQLite inserts one after the other what it can't return in an order.
        inserts = 4 if engine.dialect.name == "sqlite" else 3
        others = ["UPDATE", "UPDATE", "DELETE", "DELETE"]
        assert kinds(statements).split() == ["INSERT"] * inserts + others


def test_writes_that_populate_are_left_to_the_unit_of_work(cards):
    client, engine = cards
    client.post("/decks", json={"id": 5})
    answers = []

    with statements_of(engine) as statements:
        for verb, path in (("POST", ""), ("PATCH", "/1"), ("DELETE", "/1")):
            body = {"title": "a", "deck_id": 5}
            response = client.open(
                f"/cards{path}?$populate=deck", method=verb, json=body
            )
            answers.append(response.json)

    assert answers == [card(1, "a") | {"deck_id": 5, "deck": {"id": 5}}] * 3
    assert kinds(statements).startswith("INSERT SELECT")
