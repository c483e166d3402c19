from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property, DeclarativeBase, Mapped, mapped_column

from flask_records import BadRequest
from flask_records.query import FieldOptions, Fields

from ..models import Dog, Everything, Message, User


class Base(DeclarativeBase):
    pass


class Person(Base):
    """A model with a column of each kind that a record may or may not name."""

    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column("full_name", sa.String(5))
    age: Mapped[int | None]
    secret: Mapped[str | None]
    level: Mapped[int] = mapped_column(default=1)
    city: Mapped[str] = mapped_column(server_default="Ghent")
    rank: Mapped[int] = mapped_column(sa.Computed("age * 2"))
    number: Mapped[int] = mapped_column(sa.Identity(always=True))
    series: Mapped[int] = mapped_column(sa.Identity(always=False))
    version: Mapped[int] = mapped_column()
    _private: Mapped[str | None]
    _hashed: Mapped[bytes | None] = mapped_column(sa.PickleType)

    __mapper_args__ = {"version_id_col": version}

    @hybrid_property
    def is_adult(self) -> bool:
        return self.age >= 18

    @hybrid_property
    def _is_old(self) -> bool:
        return self.age >= 80

    @property
    def shout(self) -> str:
        return self.name.upper()


Person.next_age = column_property(Person.age + 1)
VISIBLE = [
    "age", "city", "id", "is_adult", "level", "name", "next_age", "number", "rank",
    "secret", "series", "version",
]  # fmt: skip


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


class Profile(Base):
    """A model whose primary key the application gives."""

    __tablename__ = "profile"

    person_id: Mapped[int] = mapped_column(sa.ForeignKey("person.id"), primary_key=True)


@pytest.fixture
def fields():
    return Fields(Person, FieldOptions(hidden=["secret"], readonly=["age"]))


def sql(expression):
    return " ".join(str(sa.select(expression)).split())


def names(fields):
    return [field.name for field in fields]


def read(fields, body, **options):
    """The values and the problems of a body."""
    return fields.body.values(body, **options)[:2]


@pytest.mark.parametrize(
    ("model", "name", "selected"),
    [
        (Person, "name", "SELECT person.full_name FROM person"),
        (Person, "next_age", "SELECT person.age + :age_1 AS anon_1 FROM person"),
        (
            Message,
            "is_long",
            "SELECT length(message.text) > :l AS is_long FROM message",
        ),
    ],
)
def test_expression_of_a_field(model, name, selected):
    field = Fields(model)[name]

    assert sql(field.selected).replace(":length_1", ":l") == selected
    assert field.is_writable == (name == "name")


def test_enum_is_selected_as_the_text_it_is_stored_as():
    field = Fields(Everything)["color"]

    assert isinstance(field.selected.type, sa.String)
    assert isinstance(field.column.type, sa.Enum)
    assert not isinstance(field.selected.type, sa.Enum)


@pytest.mark.parametrize(
    "name", ["secret", "nope", "_private", "shout", "full_name", ""]
)
def test_hidden_field_is_like_one_that_is_not_there(fields, name):
    with pytest.raises(BadRequest) as caught:
        fields[name]

    assert caught.value.message == f"'{name}' is not a field."
    assert caught.value.errors == {name: "is not a field"}


def test_hidden_field_is_not_listed(fields):
    assert "secret" not in names(fields)
    assert fields.names == set(names(fields)) == {*VISIBLE} - {"secret"}


@pytest.mark.parametrize(
    ("listed", "selected"),
    [
        (None, {*VISIBLE} - {"secret"}),
        ([], {"id"}),
        (["age"], {"id", "age"}),
        (["id", "age", "age"], {"id", "age"}),
        (["is_adult", "next_age"], {"id", "is_adult", "next_age"}),
    ],
)
def test_selected(fields, listed, selected):
    found = names(fields.selected(listed))

    assert set(found) == selected
    assert len(found) == len(selected)


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


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"id": "uuid"}, "uuid"),
        ({"hidden": ["pasword"]}, "pasword"),
        ({"readonly": ["pasword"]}, "pasword"),
        ({"hidden": ["messages"]}, "messages"),
    ],
)
def test_option_that_names_no_field_is_an_error(options, name):
    with pytest.raises(ValueError, match=f"'{name}', which is not a field of 'User'."):
        Fields(User, FieldOptions(**options))


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
    class OwnBase(DeclarativeBase):
        pass

    class Room(OwnBase):
        __tablename__ = "unique_room"
        __table_args__ = tuple(arguments)

        id: Mapped[int] = mapped_column(primary_key=True)
        tenant: Mapped[int]
        code: Mapped[int]

    if is_unique:
        assert Fields(Room, FieldOptions(id="code")).id.name == "code"
    else:
        with pytest.raises(ValueError, match=r"'Room.code' identifies.*unique=True"):
            Fields(Room, FieldOptions(id="code"))


def test_column_without_a_form_on_the_wire_is_an_error():
    class Thing(Base):
        __tablename__ = "thing"
        id: Mapped[int] = mapped_column(primary_key=True)
        pickled: Mapped[bytes] = mapped_column(sa.PickleType)

    with pytest.raises(ValueError, match=r"^'Thing\.pickled' is of type PickleType\("):
        Fields(Thing)


HYBRIDS = {
    "raises": lambda self: len(self.name),
    "gives no expression": lambda self: self.name is not None,
    "gives nothing": lambda self: None,
}


@pytest.mark.parametrize("getter", HYBRIDS.values(), ids=HYBRIDS.keys())
def test_hybrid_property_without_an_expression_is_an_error(getter):
    class Base(DeclarativeBase):
        pass

    class Thing(Base):
        __tablename__ = "thing"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]
        size = hybrid_property(getter)

    with pytest.raises(
        ValueError, match="^The hybrid property 'size' of 'Thing' has no"
    ):
        Fields(Thing)


@pytest.mark.parametrize(
    "name", ["rank", "number", "version", "age", "is_adult", "next_age"]
)
def test_field_that_is_read_only(fields, name):
    values = read(fields, {name: 1}, sent={name}, new=True)

    assert values == ({}, {name: "is read-only"})


@pytest.mark.parametrize(
    "name", ["nope", "_private", "shout", "full_name", "__class__"]
)
def test_unknown_field_of_a_body(fields, name):
    assert read(fields, {name: 1}, new=True) == ({}, {name: "is not a field"})


def test_all_errors_of_a_body_are_told_together(fields):
    body = {
        "id": 1,
        "name": "Alexander",
        "level": "low",
        "rank": 1,
        "nope": 1,
        "city": "A",
    }

    assert read(fields, body, skip={"id"}, new=True) == (
        {"city": "A"},
        {
            "name": "has more than 5 characters",
            "level": "is not a whole number",
            "rank": "is read-only",
            "nope": "is not a field",
        },
    )


@pytest.mark.parametrize(
    ("name", "new", "values", "errors"),
    [
        ("secret", True, {"secret": None}, {}),
        ("secret", False, {"secret": None}, {}),
        ("name", True, {}, {"name": "is required"}),
        ("name", False, {}, {"name": "is required"}),
        ("level", True, {}, {}),
        ("level", False, {}, {"level": "is required"}),
        ("city", True, {}, {}),
        ("city", False, {}, {"city": "is required"}),
        ("id", True, {}, {}),
    ],
)
def test_null_of_a_body(fields, name, new, values, errors):
    assert read(fields, {name: None}, new=new) == (values, errors)


@pytest.mark.parametrize(
    ("model", "given", "missing"),
    [
        (Person, {}, ["name"]),
        (Person, {"name"}, []),
        (Country, {}, ["code", "_id"]),
        (Country, {"_id"}, ["code"]),
        (Seat, {}, ["row", "place"]),
        (Profile, {}, ["person_id"]),
    ],
)
def test_missing(model, given, missing):
    id = {"Country": "_id", "Seat": "code"}.get(model.__name__)

    assert sorted(Fields(model, FieldOptions(id=id)).body.missing(given)) == sorted(
        missing
    )


def test_update_replaces_what_its_caller_can_read_and_write(fields):
    assert sorted(names(fields.body.replaceable())) == [
        "city",
        "level",
        "name",
        "series",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [("five", "five"), ("x" * 100, "x" * 100), ("x" * 101, f"{'x' * 100}...")],
)
def test_message_shows_at_most_a_hundred_characters_of_a_value(fields, value, shown):
    with pytest.raises(BadRequest) as caught:
        fields["age"].compared(value)

    assert caught.value.message == (
        f"'age' can't be '{shown}', which is not a whole number."
    )
    assert caught.value.errors == {"age": "is not a whole number"}
