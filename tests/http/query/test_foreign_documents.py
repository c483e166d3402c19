"""Columns of documents may hold what another program has stored."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from flask_records import Params, SQLAlchemyService, Transaction

from ...models_operators import Base, Person


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[" * 100_000, "1" * 5000, "1e400", "'a'", "\x00"]
)
def test_text_that_is_no_document_equals_none(text):
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    Base.metadata.create_all(engine)
    pages = {"session": sessionmaker(engine), "paginate": {"default": 1}}
    service = SQLAlchemyService(Person, **pages)

    with engine.begin() as connection:
        statement = sa.text("INSERT INTO person (extra) VALUES (:text)")
        connection.execute(statement, {"text": text})

    with Transaction():
        assert service.find(Params({"extra": "[1]", "$limit": 0})).total == 0

    engine.dispose()
