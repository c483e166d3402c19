"""Fields that a comparator of the application compares."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.hybrid import Comparator, hybrid_property
from sqlalchemy.orm import (
    column_property,
    ColumnProperty,
    DeclarativeBase,
    Mapped,
    mapped_column,
)
from sqlalchemy.types import TypeDecorator

from flask_records import FlaskRecords, SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Reversed(Comparator):
    """Compares text with the text that begins with a dash."""

    def __eq__(self, other):
        return self.__clause_element__() == f"-{other}"


class LowerProperty(ColumnProperty.Comparator[str]):
    """Compares without regard to case."""

    def __eq__(self, other):
        return sa.func.lower(self.__clause_element__()) == other.lower()


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
    text: Mapped[str | None] = mapped_column(sa.String(20))
    typed: Mapped[str | None] = mapped_column(Lower)
    name: Mapped[str | None] = column_property(
        sa.Column("name", sa.String(20)), comparator_factory=LowerProperty
    )

    @hybrid_property
    def dashed(self):
        return self.text

    @dashed.inplace.comparator
    @classmethod
    def _dashed(cls):
        return Reversed(cls.text)


WORDS = [
    {"text": "-a", "typed": "Ann", "name": "Ann"},
    {"text": "b", "typed": "bob", "name": "bob"},
    {"text": None, "typed": None, "name": None},
]
WHITELIST = "$like $ilike $search $regex $null $between $notLike".split()


@pytest.fixture(scope="module")
def client(module_url):
    records = FlaskRecords()
    service = SQLAlchemyService(Word, multi=True, whitelist=WHITELIST)
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
        ("name=ANN", [1]),
        ("name=Bob", [2]),
        ("dashed=a", [1]),
        ("dashed=b", []),
        ("dashed[$in][]=b", [2]),
        ("dashed[$nin][]=b", [1, 3]),
        ("dashed[$ne]=b", [1, 3]),
        ("dashed[$gte]=b", [2]),
        ("dashed[$like]=%25a", [1]),
        ("dashed[$notLike]=%25a", [2, 3]),
        ("dashed[$search]=A", [1]),
        ("dashed[$regex]=^b", [2]),
        ("dashed[$null]=true", [3]),
        ("dashed[$between][]=a&dashed[$between][]=c", [2]),
        ("$sort[dashed]=-1&dashed[$null]=false&$limit=1", [2]),
    ],
)
def test_comparator_decides_where_it_can(client, query, ids):
    response = client.get(f"/words?{query}")

    assert response.status_code == 200, response.json
    assert [record["id"] for record in response.json] == ids


def test_property_is_answered(client):
    assert client.get("/words/1").json == {"id": 1, "dashed": "-a", **WORDS[0]}
