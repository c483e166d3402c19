"""Bodies over HTTP and in Python, checked by models of pydantic before the model's own
rules.
"""

from __future__ import annotations

import datetime as dt
import enum
from contextlib import contextmanager
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from pydantic import (
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    HttpUrl,
    model_validator,
    SecretStr,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest, FlaskRecords, Problem, SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class Color(enum.Enum):
    red = "red"
    green = "green"


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    full_name: Mapped[str] = mapped_column(sa.String(20))
    role: Mapped[str] = mapped_column(sa.String(20), default="guest")
    born: Mapped[dt.date | None]
    seen: Mapped[dt.datetime | None]
    salary: Mapped[Decimal | None] = mapped_column(sa.Numeric(8, 2))
    color: Mapped[Color | None]
    picture: Mapped[bytes | None]
    site: Mapped[str | None] = mapped_column(sa.String(100))
    password: Mapped[str | None] = mapped_column(sa.String(100))
    address = mapped_column(sa.JSON)
    stars: Mapped[int] = mapped_column(default=1)
    fixed: Mapped[str] = mapped_column(sa.String(9), default="kept")


class Address(BaseModel):
    model_config = ConfigDict(extra="forbid")

    zip: str = Field(alias="zipCode", pattern="^[0-9]{5}$")
    since: dt.date | None = None


class PersonBody(BaseModel):
    full_name: str = Field(alias="fullName", min_length=2)
    born: dt.date | None = None
    seen: dt.datetime | None = None
    salary: Decimal | None = Field(default=None, ge=0)
    color: Color | None = None
    picture: Base64Bytes | None = None
    site: HttpUrl | None = None
    password: SecretStr | None = None
    address: Address | None = None
    stars: int = Field(default=3, le=5)

    @field_validator("full_name")
    @classmethod
    def trim(cls, name):
        return name.strip()

    @model_validator(mode="after")
    def check_order(self):
        if self.born and self.seen and self.seen.date() < self.born:
            raise ValueError(Problem("is before 'born'", "order", field="seen"))

        return self


ANN = {"fullName": " Ann "}


def problems_of(answer):
    status, body = answer
    assert status == 400, body
    return {name: each["code"] for name, each in body["errors"].items()}


@pytest.fixture
def records():
    return FlaskRecords()


@pytest.fixture
def persons(records):
    options = {"hidden": ["password"], "readonly": ["fixed"], "multi": True}
    service = SQLAlchemyService(Person, **options)
    schemas = dict.fromkeys(("create", "update", "patch"), PersonBody)
    return records.add("persons", service, schemas=schemas, public=True)


@contextmanager
def calls_to(records, url):
    """A function that makes a call, and returns the status and body of its answer."""
    db = SQLAlchemy(model_class=Base)

    with served(db, records, url, RECORDS_ERRORS={"codes": True}) as app:
        client = app.test_client()

        def call(verb, path, data=None):
            answer = client.open(path, method=verb, json=data)
            return answer.status_code, answer.get_json()

        call.app = app
        yield call


@pytest.fixture
def call(records, persons):
    with calls_to(records, "sqlite://") as call:
        yield call


def test_values_are_converted_and_defaults_filled_in(records, persons, database_url):
    data = {
        "fullName": " Ann ",
        "born": "2000-01-02",
        "seen": "2026-01-01T12:00:00+02:00",
        "salary": "10.50",
        "color": "red",
        "picture": "AAH/",
        "site": "https://example.com/a",
        "address": {"zipCode": "12345", "since": "2020-01-01"},
    }

    with calls_to(records, database_url) as call:
        status, person = call("POST", "/persons", data)

    assert status == 201
    assert person == {
        "id": 1,
        "full_name": "Ann",
        "role": "guest",
        "born": "2000-01-02",
        "seen": "2026-01-01T10:00:00.000Z",
        "salary": "10.50",
        "color": "red",
        "picture": "AAH/",
        "site": "https://example.com/a",
        "address": {"zipCode": "12345", "since": "2020-01-01"},
        "stars": 3,
        "fixed": "kept",
    }


def test_all_problems_have_paths_and_codes(call):
    data = {
        "fullName": "A",
        "born": "soon",
        "salary": -1,
        "color": "blue",
        "picture": "AAA",
        "address": {"zipCode": "x", "more": 1},
        "stars": 9,
    }

    assert problems_of(call("POST", "/persons", data)) == {
        "fullName": "string_too_short",
        "born": "date_from_datetime_parsing",
        "salary": "greater_than_equal",
        "color": "enum",
        "picture": "base64_decode",
        "address.zipCode": "string_pattern_mismatch",
        "address.more": "unknown_field",
        "stars": "less_than_equal",
    }


def test_names_that_the_class_does_not_have_are_refused(call):
    data = ANN | {"role": "admin", "colour": "red", "fixed": "changed"}

    assert problems_of(call("POST", "/persons", data)) == {
        "role": "read_only",
        "colour": "unknown_field",
        "fixed": "read_only",
    }


def test_bodies_of_a_list_are_told_apart(call):
    assert problems_of(call("POST", "/persons", [ANN, {"stars": 9}, {}])) == {
        "1.fullName": "required",
        "1.stars": "less_than_equal",
        "2.fullName": "required",
    }


def test_patch_checks_what_is_sent(call):
    call("POST", "/persons", ANN)

    assert call("PATCH", "/persons/1", {"stars": "4"})[1]["stars"] == 4
    assert call("PATCH", "/persons/1", {"born": "2000-01-01"})[1]["stars"] == 4
    assert problems_of(call("PATCH", "/persons/1", {"stars": 6, "fullName": ""})) == {
        "stars": "less_than_equal",
        "fullName": "string_too_short",
    }


def test_patch_runs_validators_of_the_whole_that_see_all_values(call):
    call("POST", "/persons", ANN)
    times = {"born": "2000-01-01", "seen": "1999-01-01T00:00:00Z"}

    assert call("PATCH", "/persons/1", times)[0] == 200
    assert problems_of(call("PATCH", "/persons/1", times | ANN | {"stars": 1})) == {
        "seen": "order"
    }


def test_whole_record_is_taken_back(call):
    person = call("POST", "/persons", ANN)[1]
    names = ("id", "role", "fixed")
    shown = ANN | {name: person[name] for name in names}

    assert call("PUT", "/persons/1", shown)[0] == 200
    assert call("PATCH", "/persons/1", shown)[0] == 200
    assert problems_of(call("PATCH", "/persons/1", shown | {"role": "admin"})) == {
        "role": "read_only"
    }


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_field_is_checked_by_its_alias_and_by_its_name(call, verb):
    call("POST", "/persons", ANN)

    assert call(verb, "/persons/1", {"full_name": " Bob "})[1]["full_name"] == "Bob"
    assert problems_of(call(verb, "/persons/1", {"full_name": "x"})) == {
        "full_name": "string_too_short"
    }
    both = call(verb, "/persons/1", ANN | {"full_name": "x"})
    assert (both[0], both[1]["full_name"]) == (200, "Ann")


def test_update_keeps_fields_beside_the_schema(call, persons):
    with call.app.app_context():
        persons.create({"full_name": "Ann", "role": "admin", "stars": 5})

    person = call("PUT", "/persons/1", {"fullName": "Bob"})[1]

    assert (person["full_name"], person["role"], person["stars"]) == ("Bob", "admin", 3)


def test_rules_of_the_model_stay(call):
    """The class allows a longer name than the column."""
    assert problems_of(call("POST", "/persons", {"fullName": "x" * 21})) == {
        "full_name": "too_long"
    }


def test_secrets_are_stored(call, persons):
    call("POST", "/persons", ANN | {"password": "secret"})

    with call.app.app_context():
        assert persons.get(1)["password"] == "secret"


def test_alias_does_not_write_a_readonly_field(call, records):
    class Fixed(BaseModel):
        full_name: str
        fixed: str = Field(alias="FIXED")

    schemas = {"create": Fixed, "patch": Fixed}
    service = SQLAlchemyService(Person, readonly=["fixed"])
    records.add("fixed", service, schemas=schemas, public=True)

    answer = call("POST", "/fixed", {"full_name": "Ann", "FIXED": "changed"})

    assert problems_of(answer) == {"fixed": "read_only"}


def test_python_names_fields(call, persons):
    with call.app.app_context():
        person = persons.create({"full_name": " Ann "})

        assert person["full_name"] == "Ann"

        message = "'full_name' should have at least 2 characters"

        with pytest.raises(BadRequest, match=message):
            persons.patch(1, {"full_name": "A"})


class ExcludingBody(BaseModel):
    full_name: str
    count: int = Field(1, exclude=True)


def test_a_field_that_the_class_excludes_is_left_out(records):
    service = SQLAlchemyService(Person)
    records.add("persons", service, public=True, schemas={"create": ExcludingBody})

    with calls_to(records, "sqlite://") as call:
        for body in ({"full_name": "Ann"}, {"full_name": "Bo", "count": 2}):
            status, person = call("POST", "/persons", body)

            assert (status, person["full_name"]) == (201, body["full_name"])
