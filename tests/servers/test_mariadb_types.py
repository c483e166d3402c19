"""Queries that only MariaDB refuses are a 400."""

from __future__ import annotations

import pytest
from sqlalchemy import String
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import SQLAlchemyService

from ..databases import serving_models, url_of

MISFIT = "A value does not fit its column."
OPERATORS = ["$like", "$ilike", "$regex", "$search"]


class OnMariaDB(DeclarativeBase):
    pass


class Stamp(OnMariaDB):
    __tablename__ = "misfit_stamp"
    __table_args__ = {"mariadb_charset": "latin1"}

    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(String(20))
    title: Mapped[str | None] = mapped_column(String(20))
    stamp = mapped_column(mysql.TIMESTAMP, nullable=True)


@pytest.fixture
def stamps(server_urls):
    things = SQLAlchemyService(Stamp, multi=True, whitelist=OPERATORS)

    with serving_models(url_of("mariadb", server_urls), {"things": things}) as client:
        client.post("/things", json={"note": "a"})
        yield client


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "note[$regex]=\\N{DIGIT ONE}",
            "A value is not a regular expression of the database.",
        ),
        ("note=🎉&title=a", MISFIT),
        ("note[$search]=🎉", MISFIT),
        ("note[$in][]=é&note[$in][]=ł", MISFIT),
    ],
)
def test_a_query_that_mariadb_refuses_is_a_400(stamps, query, message):
    response = stamps.get(f"/things?{query}")

    assert (response.status_code, response.json["message"]) == (400, message)
