from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest
from flask_records.query import FieldOptions, Fields, Scope

from ..models import Dog, model_of, User


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column("full_name", sa.String(5))
    age: Mapped[int | None]
    secret: Mapped[str | None]
    _private: Mapped[str | None]
    _hashed: Mapped[bytes | None] = mapped_column(sa.PickleType)

    @property
    def shout(self) -> str:
        return self.name.upper()


class Country(Base):
    __tablename__ = "country"

    code: Mapped[str] = mapped_column(sa.String(2), primary_key=True)
    _id: Mapped[int] = mapped_column(unique=True)


class Seat(Base):
    """A model with a primary key of two columns."""

    __tablename__ = "seat"

    row: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(unique=True)


@pytest.fixture
def scope():
    """The scope of clients."""
    return Scope.of_clients(Fields(Person, FieldOptions(hidden=["secret"])))


@pytest.mark.parametrize(
    "name", ["secret", "nope", "_private", "shout", "full_name", ""]
)
def test_hidden_field_is_like_one_that_is_not_there(scope, name):
    with pytest.raises(BadRequest) as caught:
        scope[name]

    assert caught.value.message == f"'{name}' is not a field."
    assert caught.value.errors == {name: "is not a field"}


@pytest.mark.parametrize(
    ("model", "id", "name", "fixed"),
    [
        (User, None, "id", {"id"}),
        (User, "email", "email", {"id", "email"}),
        (Country, None, "code", {"code"}),
        (Country, "_id", "_id", {"_id", "code"}),
        (Seat, "code", "code", {"row", "place", "code"}),
        (Seat, None, "id", {"row", "place", "id"}),
        (Seat, "_id", "_id", {"row", "place", "_id"}),
        (Dog, None, "id", {"id"}),
    ],
)
def test_identifier(model, id, name, fixed):
    fields = Fields(model, FieldOptions(id=id))

    assert (fields.id.name, fields.fixed) == (name, fixed)


def test_identifier_of_several_columns_has_a_name_of_its_own():
    class Room(Base):
        __tablename__ = "keyed_room"

        tenant: Mapped[int] = mapped_column(primary_key=True)
        id: Mapped[int] = mapped_column(primary_key=True)

    assert Fields(Room, FieldOptions(id="_id")).id.name == "_id"

    with pytest.raises(ValueError, match=r"several columns.*Room, id='_id'\)"):
        Fields(Room)


def test_part_of_an_identifier_is_shown():
    with pytest.raises(ValueError, match="'Seat.row' is a part of the identifier"):
        Fields(Seat, FieldOptions(hidden=["row"]))


@pytest.mark.parametrize(
    ("arguments", "is_unique"),
    [
        ([], False),
        ([sa.UniqueConstraint("code")], True),
        ([sa.Index("one", "code", unique=True)], True),
        ([sa.Index("one", "code")], False),
        ([sa.UniqueConstraint("code", "tenant")], False),
        ([sa.Index("one", "code", unique=True, sqlite_where=sa.text("id"))], False),
    ],
)
def test_identifier_is_unique(arguments, is_unique):
    columns = {name: mapped_column(sa.Integer) for name in ("tenant", "code")}
    model = model_of(__table_args__=tuple(arguments), **columns)

    if is_unique:
        assert Fields(model, FieldOptions(id="code")).id.name == "code"
    else:
        with pytest.raises(ValueError, match=r"'Thing.code' identifies.*unique=True"):
            Fields(model, FieldOptions(id="code"))


HYBRIDS = {
    "raises": lambda self: len(self.name),
    "gives no expression": lambda self: self.name is not None,
    "gives nothing": lambda self: None,
}


@pytest.mark.parametrize("getter", HYBRIDS.values(), ids=HYBRIDS.keys())
def test_hybrid_property_without_an_expression_is_an_error(getter):
    name = mapped_column(sa.String)
    model = model_of(name=name, size=hybrid_property(getter))

    with pytest.raises(ValueError, match="^The hybrid .* 'size' of 'Thing' has no"):
        Fields(model)


def test_a_message_names_all_fields_without_a_form():
    hybrids = {name: hybrid_property(HYBRIDS["raises"]) for name in ("size", "width")}
    model = model_of(name=mapped_column(sa.String), **hybrids)

    with pytest.raises(ValueError, match=r"'size'.*\n.*'width'"):
        Fields(model)


@pytest.mark.parametrize(
    ("value", "shown"),
    [("five", "five"), ("x" * 100, "x" * 100), ("x" * 101, f"{'x' * 100}...")],
)
def test_message_shows_at_most_a_hundred_characters_of_a_value(scope, value, shown):
    with pytest.raises(BadRequest) as caught:
        scope["age"].cast_for_query(value)

    assert caught.value.message == (
        f"'{shown}' is not a valid 'age': it is not a whole number."
    )
    assert caught.value.errors == {"age": "is not a whole number"}
