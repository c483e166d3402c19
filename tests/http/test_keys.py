"""Primary keys that the database reads in another form than it was given."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from flask_records import FlaskRecords, SQLAlchemyService
from tests.databases import served


class Lower(sa.TypeDecorator):
    """Text that is stored in lower case."""

    impl = sa.String(20)
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return value and value.lower()


KEYS = {
    "padded": (sa.CHAR(5), ["ab", "cd", "abcde"]),
    "aware": (
        sa.DateTime(timezone=True),
        ["2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z", "2026-01-03"],
    ),
    "own": (Lower(), ["Ann", "BOB", "cid"]),
}


@pytest.fixture(params=["one statement", "unit of work"])
def way(request):
    return request.param


@pytest.fixture(params=KEYS)
def key(request):
    return KEYS[request.param]


@pytest.fixture
def things(database_url, way, key):
    class Base(DeclarativeBase):
        pass

    class Thing(Base):
        __tablename__ = "keyed_thing"

        id = mapped_column(key[0], primary_key=True)
        note: Mapped[str | None] = mapped_column(sa.String(20))

        if way == "unit of work":

            @validates("note")
            def check(self, name, value):
                return value

    records = FlaskRecords()
    service = SQLAlchemyService(Thing, multi=True)
    records.add("things", service, public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        yield app.test_client()


def test_records_are_created_and_found_by_keys_in_another_form(things, key):
    first, second, third = key[1]

    one = things.post("/things", json={"id": first, "note": "a"})
    many = things.post("/things", json=[{"id": second}, {"id": third}])
    again = things.post("/things", json={"id": first})

    assert (one.status_code, many.status_code, again.status_code) == (201, 201, 409)

    for record in (one.json, *many.json):
        path = f"/things/{quote(record['id'])}"
        patched = things.patch(path, json={"note": "b"})

        assert things.get(path).json == record | {"note": "b"} == patched.json
        assert things.get(f"/things?id={quote(record['id'])}").json == [patched.json]
        assert things.put(path, json=patched.json).json == patched.json
        assert things.delete(path).json == patched.json

    assert things.get("/things").json == []
