"""The Python code of a model gets values, and no SQL in the place of a value: null is
``None``, and a default is the value or is not seen at all.
"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.mutable import MutableDict, MutableList
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


seen = []


def only_values(name, value):
    assert value is None or isinstance(value, (str, int, list, dict)), repr(value)
    seen.append((name, value))


class Page(Base):
    """Each kind of code that looks at values."""

    __tablename__ = "model_code_page"
    id: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column()
    tags: Mapped[list | None] = mapped_column(sa.JSON)
    meta: Mapped[dict | None] = mapped_column(MutableDict.as_mutable(sa.JSON))
    names: Mapped[list | None] = mapped_column(MutableList.as_mutable(sa.JSON))
    role: Mapped[str] = mapped_column(sa.String(20), server_default="user")
    level: Mapped[int] = mapped_column(server_default="3")
    place: Mapped[str] = mapped_column(
        sa.String(20), server_default=sa.text("'no' || 'where'")
    )
    label: Mapped[str] = mapped_column(sa.String(20), default=sa.func.lower("ABC"))
    edits: Mapped[int] = mapped_column(default=0, onupdate=sa.text("edits + 1"))

    __mapper_args__ = {"version_id_col": version}

    def __init__(self, tags=None, **values):
        only_values("init", tags)
        super().__init__(tags=tags, **values)

    @validates("tags", "meta", "role", "level", "place", "label")
    def check(self, name, value):
        only_values(name, value)
        return value


@sa.event.listens_for(Page, "before_insert")
@sa.event.listens_for(Page, "before_update")
@sa.event.listens_for(Page, "before_delete")
def look(mapper, connection, page):
    if page.level == 13:
        raise ValueError("13 brings bad luck")

    for name in ("tags", "meta", "names", "role", "level", "place", "label"):
        only_values(name, getattr(page, name))


@pytest.fixture
def pages(database_url):
    place = "'no' || 'where'" if "mariadb" not in database_url else "CONCAT('nowhere')"
    Page.__table__.c.place.server_default.arg = sa.text(f"({place})")

    with serving_models(database_url, {"pages": Page}) as client:
        seen.clear()
        yield client


JSON = ("tags", "meta", "names")
VALUES = {"tags": ["a"], "meta": {"a": 1}, "names": ["b"]}
DEFAULTS = {"role": "user", "level": 3, "place": "nowhere", "label": "abc"}
NULLS = "tags=null&meta=null&names=null"


def test_null_is_stored_in_a_new_record(pages):
    made = pages.post("/pages", json=dict.fromkeys(JSON))

    assert (made.status_code, pages.get(f"/pages?{NULLS}").json) == (201, [made.json])
    assert [made.json[name] for name in JSON] == [None, None, None]
    assert ("tags", None) in seen


def test_null_is_stored_beside_records_that_have_values(pages):
    bodies = [VALUES, {**VALUES, "tags": None}, dict.fromkeys(JSON)]

    made = pages.post("/pages", json=bodies)

    assert made.status_code == 201, made.text
    assert [{name: each[name] for name in JSON} for each in made.json] == bodies


@pytest.mark.parametrize("path", ["/pages/1", "/pages"])
def test_null_is_stored_by_a_patch(pages, path):
    pages.post("/pages", json=[VALUES, VALUES])

    changed = pages.patch(path, json=dict.fromkeys(JSON))
    one = pages.get("/pages/1").json

    assert (changed.status_code, pages.get(f"/pages?{NULLS}").json[:1]) == (200, [one])
    assert [one[name] for name in JSON] == [None, None, None]
    # No column is set twice.
    assert (one["edits"], one["version"]) == (1, 2)


def test_an_update_sets_what_it_leaves_out(pages):
    other = {"role": "x", "level": 5, "place": "y", "label": "z"}
    made = pages.post("/pages", json=VALUES | other).json

    changed = pages.put("/pages/1", json={"names": ["c"]})

    assert changed.status_code == 200
    expected = {"tags": None, "meta": None, "names": ["c"], "edits": 1, "version": 2}
    assert changed.json == made | DEFAULTS | expected
    assert ("role", "user") in seen and ("level", 3) in seen


def test_a_whole_record_with_null_is_taken_back(pages):
    made = pages.post("/pages", json={}).json

    assert pages.put("/pages/1", json=made).status_code == 200


@pytest.mark.parametrize(
    ("verb", "path"), [("POST", ""), ("PUT", "/1"), ("PATCH", "/1"), ("DELETE", "/2")]
)
def test_a_value_error_of_a_listener_is_a_400(pages, verb, path):
    pages.post("/pages", json=[VALUES, VALUES])

    with pages.application.app_context(), pages.db.engine.begin() as connection:
        connection.execute(sa.update(Page).where(Page.id == 2).values(level=13))

    before = pages.get("/pages?$sort[id]=1").json
    refused = pages.open(f"/pages{path}", method=verb, json={"level": 13})

    text = "The data is not valid: 13 brings bad luck"
    assert (refused.status_code, refused.json["message"]) == (400, text)
    assert pages.get("/pages?$sort[id]=1").json == before


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_a_version_that_is_stale_is_a_conflict(pages, verb):
    first = pages.post("/pages", json=VALUES).json
    second = pages.patch("/pages/1", json={"role": "b"}).json

    stale = pages.open("/pages/1", method=verb, json=first | {"role": "c"})
    fresh = pages.open("/pages/1", method=verb, json=second | {"role": "c"})

    assert stale.status_code == 409
    assert stale.json["message"] == "The record was changed by another call. Try again."
    assert (fresh.status_code, fresh.json["role"]) == (200, "c")
