"""Problems of fields have codes, which are sent where the application asks for them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, validates

from flask_records import BadRequest, FlaskRecords, Problem, problems, SQLAlchemyService

from ..databases import serving_models

DOCS = Path(__file__).parents[2] / "docs"


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "problem_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(3), unique=True)
    size: Mapped[int | None] = mapped_column(sa.SmallInteger)
    kind: Mapped[str | None] = mapped_column(sa.Enum("a", "b", name="problem_kind"))
    notes: Mapped[dict | None] = mapped_column(sa.JSON)


class Checked(Base):
    __tablename__ = "problem_checked"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(9))

    @validates("name")
    def check_name(self, key, value):
        raise ValueError("is not nice")


@pytest.fixture
def things(database_url):
    things = SQLAlchemyService(Thing, multi=True, readonly=["notes"])
    services = {"things": things, "checked": Checked}
    options = {"RECORDS_ERRORS": {"codes": True}}

    def refuse(method, context):
        errors = {"name": "is kept", "size": Problem("is sold out", "sold", left=0)}
        raise BadRequest("No.", errors=errors)

    with serving_models(database_url, services, **options) as client:
        client.records["things"].before("remove")(refuse)
        yield client


PROBLEMS = [
    ("POST", "/things", {}, {"name": ("required", "is required")}),
    (
        "POST",
        "/things",
        {"name": "long", "size": "x", "kind": "c"},
        {
            "name": (
                *("too_long", "has more than 3 characters"),
                {"max": 3, "unit": "characters"},
            ),
            "size": ("type", "is not a whole number", {"expected": "integer"}),
            "kind": ("choice", "is not one of a, b", {"choices": ["a", "b"]}),
        },
    ),
    (
        "POST",
        "/things",
        [{"name": "b"}, {"name": "c", "size": 99999, "x": 1, "notes": {}}],
        {
            "1.size": (
                *("out_of_range", "is out of range"),
                {"min": -32768, "max": 32767},
            ),
            "1.x": ("unknown_field", "is not a field"),
            "1.notes": ("read_only", "is read-only"),
        },
    ),
    ("POST", "/things", {"name": "a"}, {"name": ("not_unique", "has to be unique")}),
    ("GET", "/things?x=1", None, {"x": ("unknown_field", "is not a field")}),
    (
        "DELETE",
        "/things/1",
        None,
        {"name": ("invalid", "is kept"), "size": ("sold", "is sold out", {"left": 0})},
    ),
    ("POST", "/checked", {"name": "x"}, {"name": ("invalid", "is not nice")}),
]


def full(code, message, data=None):
    problem = {"code": code, "message": message}
    return {**problem, "data": data} if data else problem


@pytest.mark.parametrize(("verb", "path", "body", "errors"), PROBLEMS)
def test_codes_are_sent(things, verb, path, body, errors):
    things.post("/things", json={"name": "a"})

    response = things.open(path, method=verb, json=body)

    expected = {name: full(*problem) for name, problem in errors.items()}
    assert response.json["errors"] == expected


def test_without_the_setting_a_problem_is_its_text(client, messages, rooms):
    response = client.post("/rooms", json={})

    assert response.json["errors"] == {"name": "is required"}


def test_all_codes_are_documented():
    made = [
        *(each for each in vars(problems).values() if isinstance(each, Problem)),
        problems.too_long(1, "bytes"),
        problems.too_short(1, "items"),
        problems.too_deep(1),
        problems.too_many_places(1),
        problems.out_of_range(1, 2),
        problems.no_choice("ab"),
        Problem("is odd"),
    ]

    text = (DOCS / "errors.md").read_text()
    section = text.partition("## Codes")[2].partition("\n## ")[0]
    codes = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)

    assert sorted({each.code for each in made}) == sorted(codes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (True, " must be a mapping such as {'codes': True}."),
        ({"code": True}, " has no key 'code'. The keys are 'codes'."),
        ({"codes": 1}, "['codes'] must be True or False, not 1."),
    ],
)
def test_other_settings_are_refused(settings, message):
    app = Flask("app")
    app.config["RECORDS_ERRORS"] = settings

    with pytest.raises(RuntimeError, match=re.escape(f"RECORDS_ERRORS{message}")):
        FlaskRecords(app)
