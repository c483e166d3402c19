"""Fields that a comparator of the application compares."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Lower(TypeDecorator[str]):
    """Compares without regard to case."""

    impl = sa.String(20)
    cache_ok = True

    class comparator_factory(TypeDecorator.Comparator):
        def __eq__(self, other):
            return sa.func.lower(self.expr) == other.lower()


class Word(Base):
    __tablename__ = "compared_word"

    id: Mapped[int] = mapped_column(primary_key=True)
    typed: Mapped[str | None] = mapped_column(Lower)


WORDS = [
    {"typed": "Ann"},
    {"typed": "bob"},
    {"typed": None},
]


@pytest.fixture(scope="module")
def client(module_url):
    records = FlaskRecords()
    service = SQLAlchemyService(Word, multi=True)
    records.add("words", service, public=True)

    with served(SQLAlchemy(model_class=Base), records, module_url) as app:
        client = app.test_client()
        assert client.post("/words", json=WORDS).status_code == 201
        yield client


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("typed=ANN", [1]),
        ("typed=Bob", [2]),
    ],
)
def test_comparator_decides_where_it_can(client, query, ids):
    response = client.get(f"/words?{query}")

    assert response.status_code == 200, response.json
    assert [record["id"] for record in response.json] == ids
