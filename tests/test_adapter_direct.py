from __future__ import annotations

import datetime as dt
import enum
import random
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.ext.mutable import MutableDict
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import MappedAsDataclass
from sqlalchemy.orm import relationship
from sqlalchemy.orm import sessionmaker
from sqlalchemy.orm import validates

from flask_records import BadRequest
from flask_records import Conflict
from flask_records import FlaskRecords
from flask_records import Params
from flask_records import RecordsError
from flask_records import Service
from flask_records import SQLAlchemyService
from flask_records import Transaction

from .conftest import counted
from .conftest import enforce_foreign_keys
from .conftest import served
from .models import Everything


class Base(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Shade(enum.Enum):
    red = "r"
    green = "g"


class Wrapped(sa.types.TypeDecorator):
    """A document."""

    impl = sa.JSON
    cache_ok = True


class Shout(sa.types.TypeDecorator):
    """Text that is changed on the way in and out by the database."""

    impl = sa.String(20)
    cache_ok = True

    def bind_expression(self, bindvalue):
        return sa.func.upper(bindvalue, type_=self)

    def column_expression(self, column):
        return sa.type_coerce(column, sa.String()) + "!"


class Even(sa.types.TypeDecorator):
    """Numbers that are refused while they are bound."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is not None and value % 2:
            raise ValueError("is odd")

        return value


class Negated(sa.types.TypeDecorator):
    """Numbers that are stored with the other sign."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else -value

    process_result_value = process_bind_param


class Owner(Base):
    __tablename__ = "direct_owner"

    id: Mapped[int] = mapped_column(primary_key=True)


class Thing(Base):
    """One constraint of each kind, and columns with names of their own."""

    __tablename__ = "direct_thing"
    __table_args__ = (
        sa.UniqueConstraint("x", "y"),
        sa.CheckConstraint("amount >= 0", name="direct_amount"),
        Base.__table_args__,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(sa.String(20), unique=True)
    amount: Mapped[int | None]
    needed: Mapped[str] = mapped_column(sa.String(20), server_default="it's :x")
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey("direct_owner.id"))
    label: Mapped[str | None] = mapped_column("label_text", sa.String(20))
    rank: Mapped[int | None] = mapped_column("rank_number", key="rank_key")
    color: Mapped[Shade | None]
    short: Mapped[Shade | None] = mapped_column(
        sa.Enum(Shade, values_callable=lambda e: [m.value for m in e], name="shorts")
    )
    word: Mapped[str | None] = mapped_column(sa.Enum("yes", "no", name="direct_answer"))
    document: Mapped[Any | None] = mapped_column(sa.JSON)
    at: Mapped[dt.datetime | None] = mapped_column(sa.DateTime(timezone=True))
    x: Mapped[int | None]
    y: Mapped[int | None]

    owner: Mapped[Owner | None] = relationship()


class LooseBase(DeclarativeBase):
    pass


class Loose(LooseBase):
    """The same table, but the model knows nothing of its rules."""

    __tablename__ = "direct_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    needed: Mapped[str | None]


class Seat(Base):
    __tablename__ = "direct_seat"

    row: Mapped[str] = mapped_column(sa.String(1), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    code: Mapped[str] = mapped_column(sa.String(20), unique=True)
    guest: Mapped[str | None] = mapped_column(sa.String(20))


class Filled(Base):
    """One column of each kind of default."""

    __tablename__ = "direct_filled"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    scalar: Mapped[str | None] = mapped_column(sa.String(20), default="free")
    called: Mapped[str] = mapped_column(sa.String(20), default=lambda: "called")
    derived: Mapped[str] = mapped_column(
        sa.String(20), default=lambda context: context.get_current_parameters()["name"]
    )
    zero: Mapped[int] = mapped_column(default=0)
    expression: Mapped[int] = mapped_column(default=sa.literal_column("1 + 2"))
    server: Mapped[str | None] = mapped_column(sa.String(20), server_default="it's :x")
    server_number: Mapped[int] = mapped_column(server_default=sa.text("7"))
    color: Mapped[Shade] = mapped_column(default=Shade.green)
    note: Mapped[str | None] = mapped_column(sa.String(20))


class Sum(Base):
    __tablename__ = "direct_sum"

    id: Mapped[int] = mapped_column(primary_key=True)
    one: Mapped[int]
    two: Mapped[int] = mapped_column(sa.Computed("one + one", persisted=True))


class Twice(Base):
    """A field that is no column."""

    __tablename__ = "direct_twice"

    id: Mapped[int] = mapped_column(primary_key=True)
    one: Mapped[int]

    @hybrid_property
    def two(self):
        return self.one * 2


class Word(Base):
    __tablename__ = "direct_word"

    name: Mapped[str] = mapped_column(sa.String(20), primary_key=True)
    text: Mapped[str | None] = mapped_column(sa.Text)


class Fixed(Base):
    """A key that PostgreSQL fills up with spaces."""

    __tablename__ = "direct_fixed"

    code: Mapped[str] = mapped_column(sa.CHAR(5), primary_key=True)
    text: Mapped[str | None] = mapped_column(sa.CHAR(5))


class Exact(Base):
    """Values that some databases round."""

    __tablename__ = "direct_exact"

    id: Mapped[int] = mapped_column(primary_key=True)
    small: Mapped[float | None] = mapped_column(sa.Float(24))
    moment: Mapped[dt.datetime | None]
    clock: Mapped[dt.time | None]
    blob: Mapped[bytes | None] = mapped_column(sa.LargeBinary(4))
    fixed: Mapped[str | None] = mapped_column(sa.CHAR(5))
    even: Mapped[int | None] = mapped_column(Even)
    shout: Mapped[str | None] = mapped_column(Shout)


class Documents(Base):
    __tablename__ = "direct_documents"

    id: Mapped[int] = mapped_column(primary_key=True)
    plain: Mapped[Any | None] = mapped_column(sa.JSON)
    sql_null: Mapped[Any | None] = mapped_column(sa.JSON(none_as_null=True))
    filled: Mapped[Any | None] = mapped_column(
        sa.JSON(none_as_null=True), default=lambda: {"a": 1}
    )


class Decorated(Base):
    __tablename__ = "direct_decorated"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    wrapped: Mapped[Any | None] = mapped_column(Wrapped)


class Stamp(Base):
    """A primary key that Python makes up, which says nothing of the order."""

    __tablename__ = "direct_stamp"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    number: Mapped[int]


class Debt(Base):
    __tablename__ = "direct_debt"

    id: Mapped[int] = mapped_column(Negated, primary_key=True)
    number: Mapped[int]


MODELS = {
    "owners": (Owner, {}),
    "things": (Thing, {}),
    "named": (Thing, {"id": "code"}),
    "labelled": (Thing, {"id": "label"}),
    "loose": (Loose, {}),
    "seats": (Seat, {"id": "code"}),
    "filled": (Filled, {}),
    "sums": (Sum, {}),
    "twice": (Twice, {}),
    "words": (Word, {}),
    "fixed": (Fixed, {}),
    "exact": (Exact, {}),
    "documents": (Documents, {}),
    "decorated": (Decorated, {}),
    "stamps": (Stamp, {}),
    "debts": (Debt, {}),
    "everything": (Everything, {}),
}
"""The models by the paths of their services, and the options of these."""

WHITELIST = ["$and", "$nor", "$not", "$null", "$like", "$between", "$populate"]
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, tzinfo=dt.UTC)
ROWS = {
    "direct_thing": [
        {"id": 9001, "code": "a", "amount": 1, "owner_id": 1, "label": "l", "rank": 5}
        | {"color": Shade.red, "short": Shade.red, "word": "yes", "x": 1, "y": 1}
        | {"document": {"a": 1}, "at": MOMENT},
        {"id": 9002, "code": "b", "amount": 2, "label": "l", "document": sa.null()},
    ],
    "direct_seat": [{"row": "A", "number": 1, "code": "A1", "guest": "Ann"}],
    "direct_filled": [{"id": 9001, "name": "Ann", "note": "x"}],
    "direct_sum": [{"id": 9001, "one": 1}],
    "direct_twice": [{"id": 9001, "one": 1}],
    "direct_word": [{"name": "a", "text": "Zoë 🎉"}],
    "direct_exact": [{"id": 9001, "small": 0.5}],
    "direct_documents": [{"id": 9001, "plain": 1, "sql_null": 2}],
    "direct_decorated": [{"id": 9001, "wrapped": 3}],
}
"""What is stored at first, by table."""

EMPTYING = {
    "sqlite": ["DELETE FROM {}"],
    "postgresql": ["TRUNCATE {} RESTART IDENTITY CASCADE"],
    "mariadb": ["DELETE FROM {}", "ALTER TABLE {} AUTO_INCREMENT = 1"],
}
"""What empties a table and lets its keys begin anew."""


@dataclass
class World:
    """Two services over each model: one whose session nobody listens to, and one that
    is left to the unit of work because somebody does.
    """

    engine: sa.Engine
    direct: dict[str, Service]
    unit: dict[str, Service]

    @property
    def dialect(self):
        return self.engine.dialect.name

    def fill(self, path):
        """Let there be the rows of a table that are there at first."""
        model = self.direct[path].target.model
        model = Thing if model is Loose else model
        table = model.__table__

        with orm.Session(self.engine) as session:
            for statement in EMPTYING[self.dialect]:
                session.execute(sa.text(statement.format(table.name)))

            if rows := ROWS.get(table.name):
                session.execute(sa.insert(model), rows)

            session.commit()

    def stored(self, path):
        """All that is stored, as the driver tells it, and whether it is null."""
        table = self.direct[path].target.model.__table__
        table = Base.metadata.tables.get(table.name, table)
        names = [sa.literal_column(self._quoted(column)) for column in table.columns]
        columns = [each for name in names for each in (name, name.is_(None))]
        statement = sa.select(*columns).select_from(table)

        with self.engine.connect() as connection:
            rows = connection.execute(statement.order_by(*table.primary_key.columns))
            return [tuple(row) for row in rows]

    def _quoted(self, column):
        return self.engine.dialect.identifier_preparer.quote(column.name)

    def outcome(self, services, path, *calls, query=None):
        """What calls give one after the other, what is stored then, and the statements
        that ran.
        """
        self.fill(path)

        with counted(self.engine) as statements:
            answers = [answer(services[path], *call, query=query) for call in calls]

        return answers, repr(self.stored(path)), statements

    def both(self, path, *calls, query=None):
        """The outcomes of both ways."""
        return [
            self.outcome(services, path, *calls, query=query)
            for services in (self.direct, self.unit)
        ]


def answer(service, method, *args, query=None):
    """What a call gives, in a form in which 1, 1.0 and True are not the same."""
    try:
        result = getattr(service, method)(*args, Params(query or {}))
    except RecordsError as error:
        return repr((type(error), str(error), error.errors))

    return repr(result)


def kinds(statements):
    """The first word of each statement that is about records."""
    words = [statement.split()[0] for statement in statements]
    aside = ("BEGIN", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK")
    return " ".join(word for word in words if word not in aside)


def nothing(*args):
    """What listens without doing anything."""


@contextmanager
def listening(target, name, function=nothing, **options):
    sa.event.listen(target, name, function, **options)

    try:
        yield
    finally:
        sa.event.remove(target, name, function)


def observed(engine):
    """A source of sessions that somebody listens to."""
    make = sessionmaker(engine)
    sa.event.listen(make, "before_flush", nothing)
    return make


def services_of(make):
    records = FlaskRecords()
    options = {"session": make, "multi": True, "whitelist": WHITELIST}
    return {
        path: records.add(path, SQLAlchemyService(model, **options, **more))
        for path, (model, more) in MODELS.items()
    }


@pytest.fixture(scope="module")
def world(module_url):
    engine = sa.create_engine(module_url)
    sa.event.listen(engine, "connect", enforce_foreign_keys)
    Base.metadata.create_all(engine)
    Everything.metadata.create_all(engine, tables=[Everything.__table__])

    with engine.begin() as connection:
        connection.execute(sa.insert(Owner), [{"id": 1}, {"id": 2}])

    make = sessionmaker(engine)
    yield World(engine, services_of(make), services_of(observed(engine)))

    Everything.metadata.drop_all(engine, tables=[Everything.__table__])
    Base.metadata.drop_all(engine)
    engine.dispose()


UUIDS = [str(uuid.UUID(int=n)) for n in (7, 3, 5)]

VALUES = {
    "integer": [-5, "7", 0, 2**31 - 1],
    "small": [-(2**15)],
    "big": [2**63 - 1, -(2**63)],
    "text": ['Zoë\'s "50%_" \\ 🎉\n\t', "", "null", ":x %(y)s ?"],
    "short": ["ÄÖÜäöüß€🎉é"],
    "boolean": [True, "false"],
    "real": [0.1, -1.5e300, 2],
    "price": ["12.50", 0.1, "-99999999.99", 3, Decimal("1E+1")],
    "naive": ["2024-02-29T12:30:15Z", "2024-03-01T01:30:15+13:00"],
    "aware": ["2024-02-29T12:30:15Z", "2024-02-28T23:30:15-13:00", 1709209815000],
    "day": ["2024-02-29"],
    "clock": ["23:59:58"],
    "span": [90061, 0.5, -3],
    "unique_id": [UUIDS[0].upper()],
    "color": ["red"],
    "word": ["yes"],
    "blob": ["AP8Qgw==", ""],
    "document": [{"b": [1, {"c": None}], "a": "ë"}, [], 'it\'s "text"', 1.5, False, ""],
}
"""Values of fields of all types."""


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in VALUES.items() for value in values],
)
def test_a_value_is_written_as_the_unit_of_work_does(world, field, value):
    bodies = [{"id": id, field: value} for id in UUIDS]
    calls = [
        ("create", bodies[0]),
        ("create", bodies[1:]),
        ("patch", UUIDS[1], {field: None, "integer": 1}),
        ("patch", UUIDS[2], {field: value}),
        ("remove", UUIDS[0]),
    ]

    direct, unit = world.both("everything", *calls)

    assert direct[:2] == unit[:2]
    assert kinds(direct[2]).startswith("INSERT INSERT")


@pytest.mark.parametrize("field", VALUES)
def test_null_is_written_as_the_unit_of_work_does(world, field):
    body = {"integer": 1, "text": "a", field: None}
    calls = [("create", body | {"id": UUIDS[0]}), ("patch", UUIDS[0], body)]

    direct, unit = world.both("everything", *calls)

    assert direct[:2] == unit[:2]


def creates(path, *bodies, **query):
    return [(path, ("create", body), query) for body in bodies]


def patches(path, id, *bodies, **query):
    return [(path, ("patch", id, body), query) for body in bodies]


def queried(path, *queries):
    """A patch and a remove with each query."""
    return [
        (path, call, query)
        for query in queries
        for call in (("patch", 9001, {"code": "n", "amount": 8}), ("remove", 9001))
    ]


BULK = [
    # Keys that are given, in an odd order, twice, and that are there already.
    [{"id": 9, "code": "n"}, {"id": -3, "code": "m"}, {"id": 5, "code": "o"}],
    [{"id": 7}, {"id": 7}],
    [{"id": 7}, {"id": 9001}],
    [{"id": 5}, {"id": 0}],
    [{"id": 0}],
    # One of them is wrong.
    [{"code": "n"}, {"code": "a"}, {"code": "m"}],
    [{"code": "n"}, {"code": "n"}],
    [{"amount": 1}, {"amount": -1}],
    [{"owner_id": 1}, {"owner_id": 9}],
    [{"x": 2, "y": 1}, {"x": 1, "y": 1}],
    [{"amount": 1}, {"amount": "x"}],
    [{"amount": 1}, {"nope": 1}],
    # Nothing is wrong.
    [{"code": "n"}],
    [{"code": "n"}, {"code": "m"}],
    [{"code": None, "amount": 1}, {"code": "n", "amount": None}],
    [{"label": "é", "rank": 1}, {"rank": 2, "label": "🎉"}],
    [{"color": "red", "word": "no"}, {"color": None, "word": None}],
    [{"document": {"b": None, "a": [1]}}, {"document": "null"}],
]

ONE_STATEMENT = [
    *creates(
        "things",
        {"code": "n"},
        {"code": None},
        {"code": "", "label": "Zoë 🎉 \\ ' \" %s :x"},
        {"code": "a\0b"},
        {"code": "x" * 21},
        {"amount": 3, "needed": None},
        {"id": 0, "code": "n"},
        {"id": -7},
        {"id": 9001},
        {"id": 2**31},
        {"id": "77"},
        {"id": "x"},
        {"code": "a"},
        {"amount": -1},
        {"owner_id": 1},
        {"owner_id": 9},
        {"x": 1, "y": 1},
        {"label": "n", "rank": 3},
        {"rank": "x", "nope": 1},
        {"color": "green", "short": "g", "word": "no"},
        {"color": Shade.green, "short": Shade.green},
        {"color": "blue", "short": "green"},
        {"document": {"b": [1, None], "a": "ë"}},
        {"document": "null", "at": "2024-02-29T12:30:15+02:00"},
        *BULK,
        [],
    ),
    *creates("things", {"code": "n"}, [{"code": "n"}], **{"$select": ["label"]}),
    *creates("things", {"code": "n", "color": "red"}, **{"$select": ["color", "rank"]}),
    *creates("things", {"code": "n"}, **{"$select": ["nope"]}),
    *creates("things", {"code": "n"}, **{"$limit": 0, "code": "z"}),
    *creates("things", {"code": "n"}, nope=1),
    *patches(
        "things",
        9001,
        {"code": "n"},
        {"code": "a"},
        {"code": None},
        {"code": "b"},
        {"code": "a\0b"},
        {"amount": -1},
        {"amount": "x"},
        {"owner_id": 2},
        {"owner_id": None},
        {"owner_id": 9},
        {"x": None, "y": 3},
        {"label": "é🎉", "rank": None},
        {"color": "green", "short": "g", "word": None},
        {"document": [{"a": None}]},
        {"at": "2024-02-29T12:30:15Z"},
        {"needed": None},
        {"id": 5, "code": "n"},
        {"nope": 1},
    ),
    *patches("things", "9001", {"code": "n"}),
    *patches("things", 999, {"code": "n"}, {"code": "a"}),
    *patches("things", "x", {"code": "n"}),
    *patches("things", "", {"code": "n"}),
    *patches("things", 2**40, {"code": "n"}),
    *patches("things", 9001, {"code": "n"}, **{"$select": ["label", "short"]}),
    *queried(
        "things",
        {"code": "a"},
        {"code": "b"},
        {"code": None},
        {"code": {"$ne": None}, "word": "yes"},
        {"amount": {"$gt": 0, "$lte": "1"}},
        {"amount": {"$in": [1, 2]}},
        {"amount": {"$in": [2, None]}},
        {"amount": {"$nin": [1, None]}},
        {"amount": {"$in": []}},
        {"amount": {"$in": list(range(60))}},
        {"amount": {"$between": [1, 3]}},
        {"label": "l", "rank": {"$lt": 6}},
        {"rank": {"$null": False}, "code": {"$like": "a%"}},
        {"color": "red", "short": "r"},
        {"color": {"$in": ["green", None]}},
        {"color": "blue"},
        {"document": {"a": 1}},
        {"document": 5},
        {"at": {"$gte": "2024-02-29T14:30:15+02:00"}},
        {"$or": [{"code": "z"}, {"$and": [{"code": "a"}, {"rank": 5}]}]},
        {"$nor": [{"rank": 5}]},
        {"$not": {"rank": 4}},
        {"$sort": {"code": 1}, "$limit": 0, "$skip": 5},
        {"$select": ["label"]},
        {"$select": ["color", "short", "nope"]},
        {"nope": 1},
        {"rank": "x"},
    ),
    ("things", ("remove", "9001"), {}),
    ("things", ("remove", 999), {}),
    ("things", ("remove", "x"), {}),
    *creates("twice", {"one": 4}, [{"one": 4}, {"one": 5}], **{"$select": ["one"]}),
    *patches("twice", 9001, {"one": 4}, **{"$select": ["one"]}),
    # The name of another field is the identifier.
    *creates("named", {"code": "n", "id": 7}, [{"code": "n"}, {"code": "m"}]),
    *creates("named", {"code": "a"}, [{"code": "n"}, {"code": "a"}]),
    *patches("named", "a", {"rank": 8}, {"code": "z", "id": 9, "rank": 8}),
    *patches("named", "é", {"rank": 8}),
    ("named", ("remove", "a"), {"rank": 5}),
    ("named", ("remove", "A"), {}),
    # A primary key of several columns.
    *creates(
        "seats",
        {"row": "B", "number": 0, "code": "B0"},
        {"row": "A", "number": 1, "code": "x"},
        {"row": "A", "number": 2, "code": "A1"},
        {"row": "A", "code": "x"},
        [{"row": r, "number": n, "code": f"{r}{n}"} for r, n in ("B2", "A9", "B1")],
        [{"row": "B", "number": n, "code": "same"} for n in (2, 1)],
        [{"row": "B", "number": 1, "code": code} for code in "xy"],
    ),
    *patches("seats", "A1", {"guest": "Bob"}, {"row": "Z", "number": 5, "guest": None}),
    ("seats", ("update", "A1", {"row": "A", "number": 1}), {}),
    ("seats", ("update", "A1", {"guest": "Eve"}), {"guest": "Bob"}),
    ("seats", ("remove", "A1"), {"guest": "Ann"}),
    ("seats", ("remove", "A2"), {}),
    # Defaults.
    *creates(
        "filled",
        {"name": "n"},
        {"name": "n", "scalar": None, "server": None, "note": None},
        {"name": "n", "zero": None, "called": None, "expression": None},
        {"name": "n", "color": None, "server_number": None, "derived": None},
        {"name": "n", "scalar": "x", "server": "x", "zero": 9, "expression": 9},
        {"name": "n", "color": "red", "server_number": 1, "derived": "x"},
        {"note": "x"},
        [{"name": "n"}, {"name": "m"}, {"name": "o"}],
        [{"name": "n", "server": "x"}, {"name": "m", "server": "y"}],
        [{"name": "n", "scalar": None}, {"name": "m", "scalar": None}],
    ),
    *patches("filled", 9001, {"scalar": None, "server": None}, {"color": "red"}),
    *creates("sums", {"one": 2}, [{"one": 2}, {"one": 3}], {"one": 1, "two": 3}),
    ("sums", ("remove", 9001), {"two": 2}),
    # Text as a primary key.
    *creates("words", {"name": "é", "text": "x"}, {"name": "a"}, {"text": "x"}),
    *creates("words", {"name": ""}, [{"name": name} for name in ("z", "B", "é", "Z")]),
    *creates("words", [{"name": "n"}, {"name": "a"}]),
    *patches("words", "a", {"text": ""}, {"name": "b", "text": "x"}),
    *patches("words", "A", {"text": "x"}),
    ("words", ("remove", "a"), {"text": {"$like": "Zoë%"}}),
    *creates("fixed", {"code": "abcde", "text": "ab"}, {"code": "ab"}),
    *creates("fixed", [{"code": "vwxyz"}, {"code": "abcde"}]),
    *creates("fixed", [{"code": "xy"}, {"code": "ab"}], [{"code": "ab"}]),
    # Values that databases and types make others of, or refuse.
    *creates(
        "exact",
        {"small": 0.1},
        {"small": 16777217.0},
        {"moment": dt.datetime(2024, 1, 1, 1, 1, 1, 654321)},
        {"clock": dt.time(1, 1, 1, 654321)},
        {"blob": "AA=="},
        {"blob": "AAAAAAAA"},
        {"fixed": "ab"},
        {"fixed": "ab  "},
        {"even": 2},
        {"even": 3},
        {"shout": "loud"},
        [{"shout": "loud", "even": 2}, {"shout": None, "even": None}],
        [{"shout": "loud", "even": 2}, {"shout": None, "even": 3}],
    ),
    *patches("exact", 9001, {"small": 0.1}, {"even": 3}, {"shout": "loud"}),
    *patches("exact", 9001, {"moment": dt.datetime(2024, 1, 1, 1, 1, 1, 654321)}),
    ("exact", ("remove", 9001), {"shout": None, "small": 0.5}),
    # Documents.
    *creates("documents", {"plain": 1, "sql_null": None}, {"filled": {"a": None}}),
    *creates("decorated", {"wrapped": {"a": None}}, [{"wrapped": 1}, {"wrapped": []}]),
    *patches("decorated", 9001, {"wrapped": "null"}, {"name": "n"}),
    *creates("documents", [{"filled": 1, "plain": 2}, {"filled": [], "plain": {}}]),
    *patches("documents", 9001, {"sql_null": None}, {"filled": None, "plain": 2}),
    # A primary key of a type of its own.
    *creates("debts", {"number": 1}, {"id": 4, "number": 1}),
    *creates("debts", [{"id": 4, "number": 1}, {"id": 9, "number": 2}]),
    # The database requires what the model does not.
    *creates("loose", {"id": 7, "needed": None}, {"id": 7, "needed": "x"}),
    *creates("loose", [{"id": 7, "needed": "x"}, {"id": 8, "needed": None}]),
    *patches("loose", 9001, {"needed": None}, {"needed": "y"}),
]
"""Services, calls and queries that a single statement answers, or none."""


KINDS = {"create": "INSERT", "patch": "UPDATE", "update": "UPDATE", "remove": "DELETE"}


def named(cases):
    return [
        pytest.param(*case, id=f"{case[0]}-{' '.join(map(str, case[1]))[:40]}")
        for case in cases
    ]


@pytest.mark.parametrize(("path", "call", "query"), named(ONE_STATEMENT))
def test_one_statement_gives_and_stores_the_same_as_the_unit_of_work(
    world, path, call, query
):
    direct, unit = world.both(path, call, query=query)

    assert direct[:2] == unit[:2]

    if world.dialect != "mariadb" or call[0] not in ("patch", "update"):
        # SQLite inserts one after the other what it can not return in an order.
        assert set(kinds(direct[2]).split()) <= {KINDS[call[0]]}


UNIT_OF_WORK = [
    *creates(
        "things",
        {},
        {"needed": None},
        {"document": None, "code": "n"},
        [{"document": 1}, {"document": None}],
        [{"code": "n"}, {"amount": 1}],
        [{"id": 7}, {"code": "n"}],
        [{"needed": None, "rank": 1}, {"needed": "y", "rank": 1}],
        [{}, {}],
    ),
    *creates("twice", {"one": 4}, [{"one": 4}, {"one": 5}]),
    *creates("twice", {"one": 4}, **{"$select": ["two"]}),
    *patches("twice", 9001, {"one": 4}),
    *patches("twice", 9001, {"one": 4}, two=2, **{"$select": ["one"]}),
    *patches("twice", 9001, {"one": 4}, two=3, **{"$select": ["one"]}),
    ("twice", ("remove", 9001), {"$select": ["two"]}),
    ("twice", ("remove", 9001), {"two": {"$gt": 1}, "$select": ["one"]}),
    *patches("things", 9001, {}, {"document": None}, {"id": 5}),
    *patches("things", None, {"label": "n"}),
    *patches("things", None, {"label": "n"}, **{"$limit": 1, "$sort": {"code": -1}}),
    ("things", ("update", 9001, {"code": "n", "amount": 4, "document": 1}), {}),
    ("things", ("remove", None), {}),
    ("things", ("remove", None), {"$sort": {"code": -1}, "$limit": 1}),
    *patches("sums", 9001, {"one": 4}),
    *creates("documents", {"plain": None, "filled": 1}),
    ("filled", ("update", 9001, {"name": "n"}), {}),
]
"""Services, calls and queries for which it takes more than one statement."""


@pytest.mark.parametrize(("path", "call", "query"), named(UNIT_OF_WORK))
def test_what_is_more_than_a_row_of_values_is_left_to_the_unit_of_work(
    world, path, call, query
):
    direct, unit = world.both(path, call, query=query)

    assert direct[:2] == unit[:2]
    assert "SELECT" in kinds(direct[2])


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("documents", ("create", {"plain": 5, "filled": None})),
        ("documents", ("create", [{"filled": None}, {"filled": None}])),
        ("documents", ("patch", 9001, {"filled": None})),
        ("decorated", ("create", {"name": "n", "wrapped": None})),
        ("decorated", ("create", [{"wrapped": None}, {"wrapped": None}])),
        ("decorated", ("patch", 9001, {"name": "n", "wrapped": None})),
    ],
    ids=str,
)
def test_null_of_a_document_is_a_null_of_sql_as_with_the_unit_of_work(
    world, path, call
):
    """Whatever the default and the type of the column are."""
    direct, unit = world.both(path, call)

    assert direct[:2] == unit[:2]


def test_a_document_that_is_absent_is_a_null_of_sql(world):
    world.fill("decorated")

    created = world.direct["decorated"].create({"name": "n"})

    with world.engine.connect() as connection:
        is_null = sa.literal_column("wrapped").is_(None)
        statement = sa.select(is_null).where(Decorated.id == created["id"])
        assert connection.execute(statement).scalar_one()


def test_a_record_that_others_refer_to_is_not_removed(world):
    world.fill("things")
    outcomes = []

    for services in (world.direct, world.unit):
        with counted(world.engine) as statements:
            given = answer(services["owners"], "remove", 1)

        outcomes.append((given, world.stored("owners"), kinds(statements)))

    assert outcomes[0][:2] == outcomes[1][:2]
    assert [each[2] for each in outcomes] == ["DELETE", "SELECT SELECT DELETE"]


@pytest.mark.parametrize("size", [1, 2, 150, 1500])
@pytest.mark.parametrize("path", ["things", "stamps", "words", "seats", "debts"])
def test_many_records_come_in_the_order_of_their_bodies(world, path, size):
    numbers = random.Random(size).sample(range(size), size)
    bodies = {
        "things": [{"code": f"c{n}"} for n in numbers],
        "stamps": [{"number": n} for n in numbers],
        "words": [{"name": f"n{n}"} for n in numbers],
        "seats": [{"row": "S", "number": n, "code": f"c{n}"} for n in numbers],
        "debts": [{"number": n} for n in numbers],
    }[path]
    world.fill(path)

    with counted(world.engine) as statements:
        created = world.direct[path].create(bodies)

    assert [{name: c[name] for name in bodies[0]} for c in created] == bodies
    assert set(kinds(statements).split()) == {"INSERT"}


@pytest.mark.parametrize("path", ["things", "sums"])
def test_the_keys_of_many_records_ascend_as_with_the_unit_of_work(world, path):
    field = {"things": "amount", "sums": "one"}[path]
    bodies = [{field: n} for n in range(150)]

    direct, unit = world.both(path, ("create", bodies))

    assert direct[:2] == unit[:2]


def test_many_records_with_given_keys_come_in_the_order_of_their_bodies(world):
    ids = random.Random(1).sample(range(1000, 3000), 1500)
    world.fill("things")

    created = world.direct["things"].create([{"id": n, "amount": n} for n in ids])

    assert [(each["id"], each["amount"]) for each in created] == [(n, n) for n in ids]


@pytest.mark.parametrize("place", [0, 75, 149])
def test_nothing_is_stored_of_many_records_if_one_is_wrong(world, place):
    world.fill("things")
    before = world.stored("things")
    bodies = [{"code": f"c{n}"} for n in range(150)]
    bodies[place] = {"code": "a"}

    with pytest.raises(Conflict, match="'code'"):
        world.direct["things"].create(bodies)

    assert world.stored("things") == before


@pytest.mark.parametrize(
    "call", [("patch", "l", {"rank": 8}), ("remove", "l")], ids=["patch", "remove"]
)
def test_one_record_is_written_even_if_the_identifier_is_that_of_several(world, call):
    direct, unit = world.both("labelled", call)

    assert direct[:2] == unit[:2]


class Local:
    """A database of its own with the service of one model."""

    def __init__(self, model, make=sessionmaker, **options):
        self.engine = sa.create_engine("sqlite://")
        sa.event.listen(self.engine, "connect", enforce_foreign_keys)
        model.metadata.create_all(self.engine)
        self.make = make(self.engine)
        options = {"session": self.make, "multi": True} | options
        self.service = FlaskRecords().add("notes", SQLAlchemyService(model, **options))

    def ways(self, body=None):
        """Which of create, patch and remove were one statement."""
        calls = {
            "create": lambda: self.service.create({"text": "a"} | (body or {})),
            "patch": lambda: self.service.patch(1, {"text": "b"}),
            "remove": lambda: self.service.remove(1),
        }
        return {name for name, call in calls.items() if self.is_direct(call)}

    def is_direct(self, call):
        with counted(self.engine) as statements:
            call()

        ran = [each for each in statements if kinds([each])]
        return len(ran) == 1 and "RETURNING" in ran[0] and "SELECT" not in kinds(ran)


ALL = {"create", "patch", "remove"}


@pytest.fixture
def local():
    """Return a function that makes a :class:`Local`."""
    made = []

    def make(*args, **options):
        made.append(Local(*args, **options))
        return made[-1]

    yield make

    for each in made:
        each.engine.dispose()


def note_of(**members):
    """Return a new model of notes with some members more."""
    base = type("NoteBase", (DeclarativeBase,), {})
    default = {
        "__tablename__": "note",
        "id": mapped_column(sa.Integer, primary_key=True),
        "text": mapped_column(sa.String(20)),
    }
    return type("Note", (base,), default | members)


def listened(name):
    def make():
        model = note_of()
        sa.event.listen(model, name, nothing)
        return model

    make.__name__ = name
    return make


def listened_attribute(name):
    def make():
        model = note_of()
        sa.event.listen(model.text, name, nothing)
        return model

    make.__name__ = f"attribute {name}"
    return make


def related(name, **options):
    """Notes with a relationship to their children."""

    def make():
        model = note_of(children=relationship(lambda: child, **options))
        members = {
            "__tablename__": "child",
            "id": mapped_column(sa.Integer, primary_key=True),
            "note_id": mapped_column(sa.ForeignKey("note.id")),
        }
        child = type("Child", (model.__base__,), members)
        return model

    make.__name__ = name
    return make


def plain():
    return note_of()


def other_names():
    return note_of(
        text=mapped_column("note_text", sa.String(20), key="note_key"),
        id=mapped_column("note_id", sa.Integer, primary_key=True),
    )


def with_defaults():
    return note_of(
        one=mapped_column(sa.Integer, default=1),
        two=mapped_column(sa.Integer, server_default="2"),
        three=mapped_column(sa.Integer, default=sa.literal_column("3")),
    )


def deferred_column():
    return note_of(long=orm.deferred(mapped_column(sa.Text)))


def private_column():
    return note_of(_secret=mapped_column(sa.Text, default="s3cret"))


def validated():
    def validate(self, key, value):
        return value

    return note_of(validate=validates("text")(validate))


def reconstructed():
    return note_of(build=orm.reconstructor(lambda self: None))


def own_setattr():
    return note_of(__setattr__=lambda self, k, v: object.__setattr__(self, k, v))


def own_constructor():
    def __init__(self, text=None, id=None):
        self.text, self.id = text, id

    return note_of(__init__=__init__)


def dataclass_model():
    class Records(MappedAsDataclass, DeclarativeBase):
        pass

    class Note(Records):
        __tablename__ = "note"

        id: Mapped[int] = mapped_column(primary_key=True, init=False)
        text: Mapped[str]

    return Note


def versioned():
    version = mapped_column(sa.Integer)
    return note_of(version=version, __mapper_args__={"version_id_col": version})


def mutable():
    return note_of(document=mapped_column(MutableDict.as_mutable(sa.JSON)))


def updated_in_python():
    return note_of(editor=mapped_column(sa.String(20), onupdate="nobody"))


def updated_by_the_server():
    return note_of(
        editor=mapped_column(sa.String(20), server_onupdate=sa.FetchedValue())
    )


def computed():
    return note_of(long=mapped_column(sa.String(20), sa.Computed("text || text")))


def without_implicit_returning():
    return note_of(__table_args__={"implicit_returning": False})


def single_table_base():
    kind = mapped_column(sa.String(20))
    args = {"polymorphic_on": kind, "polymorphic_identity": "note"}
    model = note_of(kind=kind, __mapper_args__=args)
    args = {"polymorphic_identity": "memo"}
    # A mapper holds those of subclasses weakly.
    model.memo = type("Memo", (model,), {"__mapper_args__": args})
    return model


def single_table_subclass():
    return single_table_base().memo


def joined_table_subclass():
    kind = mapped_column(sa.String(20))
    args = {"polymorphic_on": kind, "polymorphic_identity": "note"}
    model = note_of(kind=kind, __mapper_args__=args)
    members = {
        "__tablename__": "memo",
        "id": mapped_column(sa.ForeignKey("note.id"), primary_key=True),
        "__mapper_args__": {"polymorphic_identity": "memo"},
    }
    return type("Memo", (model,), members)


def two_tables():
    model = note_of()
    other = sa.Table(
        "other",
        model.metadata,
        sa.Column("id", sa.ForeignKey("note.id"), primary_key=True),
    )
    joined = model.__table__.join(other)
    ids = column_property(model.__table__.c.id, other.c.id)
    return type("Both", (model.__base__,), {"__table__": joined, "id": ids})


def column_property_model():
    model = note_of()
    model.loud = column_property(sa.func.upper(model.text))
    return model


def composite_model():
    class Pair:
        def __init__(self, text, more):
            self.text, self.more = text, more

        def __composite_values__(self):
            return self.text, self.more

    text, more = mapped_column(sa.String(20)), mapped_column(sa.String(20))
    return note_of(text=text, more=more, pair=orm.composite(Pair, text, more))


def many_to_one(name, **options):
    def make():
        room_id = mapped_column(sa.ForeignKey("room.id"))
        model = note_of(room_id=room_id, room=relationship(lambda: room, **options))
        members = {
            "__tablename__": "room",
            "id": mapped_column(sa.Integer, primary_key=True),
        }
        room = type("Room", (model.__base__,), members)
        return model

    make.__name__ = name
    return make


def many_to_many():
    base = type("NoteBase", (DeclarativeBase,), {})
    table = sa.Table(
        "between",
        base.metadata,
        sa.Column("one", sa.ForeignKey("note.id"), primary_key=True),
        sa.Column("two", sa.ForeignKey("note.id"), primary_key=True),
    )

    class Note(base):
        __tablename__ = "note"

        id = mapped_column(sa.Integer, primary_key=True)
        text = mapped_column(sa.String(20))
        others = relationship(
            "Note",
            secondary=table,
            primaryjoin=lambda: Note.id == table.c.one,
            secondaryjoin=lambda: Note.id == table.c.two,
        )

    return Note


VARIANTS = [
    (plain, ALL),
    (other_names, ALL),
    (with_defaults, ALL),
    (deferred_column, ALL),
    (private_column, ALL),
    # Something listens.
    (listened("before_insert"), {"patch", "remove"}),
    (listened("after_insert"), {"patch", "remove"}),
    (listened("before_update"), {"create", "remove"}),
    (listened("after_update"), {"create", "remove"}),
    (listened("before_delete"), {"create", "patch"}),
    (listened("after_delete"), {"create", "patch"}),
    (listened("init"), set()),
    (listened("load"), set()),
    (listened("refresh"), set()),
    (listened("refresh_flush"), set()),
    (listened_attribute("set"), set()),
    (listened_attribute("init_scalar"), set()),
    (listened_attribute("modified"), set()),
    (validated, set()),
    (reconstructed, set()),
    (mutable, set()),
    (composite_model, set()),
    # Instances are made or written in a way of their own.
    (own_setattr, set()),
    (own_constructor, set()),
    (dataclass_model, set()),
    # More than a row changes, or it changes in more ways.
    (versioned, set()),
    (updated_in_python, {"create", "remove"}),
    (updated_by_the_server, {"create", "remove"}),
    (computed, {"create", "remove"}),
    (without_implicit_returning, set()),
    (single_table_base, set()),
    (single_table_subclass, set()),
    (joined_table_subclass, set()),
    (two_tables, set()),
    (column_property_model, set()),
    (many_to_many, {"create", "patch"}),
    (related("children"), {"create", "patch"}),
    (related("cascading", cascade="all, delete-orphan"), {"create", "patch"}),
    (related("left to the database", passive_deletes=True), ALL),
    (related("viewed only", viewonly=True), ALL),
    (many_to_one("parent"), ALL),
    (
        many_to_one("owned parent", cascade="all, delete", single_parent=True),
        {"create", "patch"},
    ),
]
"""Models, and which of create, patch and remove are one statement for them."""


@pytest.mark.parametrize(
    ("make", "direct"),
    [pytest.param(*each, id=each[0].__name__) for each in VARIANTS],
)
def test_a_model_with_nothing_to_honour_is_written_by_one_statement(
    local, make, direct
):
    assert local(make()).ways() == direct


@pytest.mark.parametrize(
    "name",
    [
        *("do_orm_execute", "before_flush", "after_flush", "after_flush_postexec"),
        *("before_attach", "after_attach", "transient_to_pending"),
        *("pending_to_persistent", "loaded_as_persistent"),
        *("persistent_to_deleted", "deleted_to_detached"),
    ],
)
@pytest.mark.parametrize("is_global", [False, True])
def test_a_session_that_is_listened_to_writes_by_the_unit_of_work(
    local, name, is_global
):
    world = local(note_of())

    with listening(orm.Session if is_global else world.make, name):
        assert world.ways() == set()


@pytest.mark.parametrize(
    ("name", "direct"),
    [
        ("before_insert", {"patch", "remove"}),
        ("after_update", {"create", "remove"}),
        ("before_delete", {"create", "patch"}),
    ],
)
def test_listeners_to_all_models_are_honoured(local, name, direct):
    world = local(note_of())

    with listening(orm.Mapper, name):
        assert world.ways() == direct


@pytest.mark.parametrize(
    ("name", "direct"),
    [("before_insert", {"patch", "remove"}), ("load", set()), ("init", set())],
)
def test_listeners_to_a_base_are_honoured(local, name, direct):
    model = note_of()

    with listening(model.__base__, name, propagate=True):
        assert local(model).ways() == direct


EVENTS = [
    *("before_insert", "after_insert", "before_update", "after_update"),
    *("before_delete", "after_delete"),
]


def run_all(world):
    world.service.create({"text": "a"})
    world.service.patch(1, {"text": "b"})
    world.service.remove(1)


@pytest.mark.parametrize("name", EVENTS)
def test_a_listener_to_the_model_that_comes_late_is_called(local, name):
    model = note_of()
    world = local(model)
    run_all(world)
    heard = []

    sa.event.listen(model, name, lambda *args: heard.append(name))
    run_all(world)

    assert heard == [name]


@pytest.mark.parametrize("name", ["before_flush", "after_flush_postexec"])
def test_a_listener_to_the_session_that_comes_late_is_called(local, name):
    world = local(note_of())
    run_all(world)
    heard = []

    sa.event.listen(world.make, name, lambda *args: heard.append(name))
    run_all(world)

    assert heard == [name] * 3


def test_what_a_late_listener_changes_is_stored_and_answered(local):
    model = note_of()
    world = local(model)
    world.service.create({"text": "a"})

    @sa.event.listens_for(model, "before_insert")
    @sa.event.listens_for(model, "before_update")
    def shout(mapper, connection, note):
        note.text = note.text.upper()

    created = world.service.create([{"text": "b"}, {"text": "c"}])
    patched = world.service.patch(1, {"text": "d"})

    assert [patched, *created] == world.service.find()
    assert [note["text"] for note in world.service.find()] == ["D", "B", "C"]


def test_a_session_that_deletes_in_a_way_of_its_own_is_honoured(local):
    class Soft(orm.Session):
        def delete(self, instance):
            instance.text = "deleted"

    model = note_of()
    world = local(model, make=lambda engine: sessionmaker(engine, class_=Soft))
    world.service.create({"text": "a"})

    world.service.remove(1)

    assert world.service.find() == [{"id": 1, "text": "deleted"}]


def test_a_polymorphic_model_without_subclasses_has_its_identity(local):
    kind = mapped_column(sa.String(20), nullable=False)
    args = {"polymorphic_on": kind, "polymorphic_identity": "note"}
    world = local(note_of(kind=kind, __mapper_args__=args))

    created = world.service.create({"text": "a"})

    assert created == {"id": 1, "text": "a", "kind": "note"}


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_a_table_may_have_no_primary_key_or_another_one_than_the_model(local, make):
    base = type("NoteBase", (DeclarativeBase,), {})
    table = sa.Table(
        "note",
        base.metadata,
        sa.Column("code", sa.String(20), unique=True),
        sa.Column("text", sa.String(20)),
    )
    args = {"primary_key": [table.c.code]}
    members = {"__table__": table, "__mapper_args__": args}
    service = local(type("Note", (base,), members), make=make).service
    bodies = [{"code": "b", "text": "x"}, {"code": "a", "text": "y"}]

    one = service.create({"code": "c", "text": "z"})
    many = service.create(bodies)
    patched = service.patch("a", {"text": "n"})

    assert [one, many] == [{"code": "c", "text": "z"}, bodies]
    assert patched == {"code": "a", "text": "n"}
    assert service.remove("b") == bodies[0]


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_a_comparison_of_the_model_itself_holds_for_writes(local, make):
    class AnyCase(orm.ColumnProperty.Comparator):
        def operate(self, op, *others, **options):
            column = sa.func.lower(self.__clause_element__())
            return op(column, *[sa.func.lower(each) for each in others], **options)

    text = column_property(sa.Column(sa.String(20)), comparator_factory=AnyCase)
    service = local(note_of(text=text), make=make).service
    service.create({"text": "Ann"})

    patched = service.patch(1, {"text": "Bob"}, Params({"text": "ANN"}))

    assert patched == {"id": 1, "text": "Bob"}
    assert service.remove(1, Params({"text": "BOB"})) == patched


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_what_refers_to_a_record_follows_its_key_if_the_model_says_so(local, make):
    base = type("NoteBase", (DeclarativeBase,), {})

    class Note(base):
        __tablename__ = "note"

        id = mapped_column(sa.Integer, primary_key=True)
        text = mapped_column(sa.String(20), unique=True)
        children = relationship(
            "Child",
            primaryjoin=lambda: Note.text == orm.foreign(Child.note_text),
            passive_updates=False,
        )

    class Child(base):
        __tablename__ = "child"

        id = mapped_column(sa.Integer, primary_key=True)
        note_text = mapped_column(sa.String(20))

    world = local(Note, make=make)
    world.service.create({"text": "a"})

    with world.make.begin() as session:
        session.add(Child(note_text="a"))

    world.service.patch(1, {"text": "b"})

    with world.make() as session:
        assert session.scalars(sa.select(Child.note_text)).all() == ["b"]


@contextmanager
def shared(world, path="things"):
    """A session, and a service that works with it."""
    model, options = MODELS[path]

    with orm.Session(world.engine) as session:
        adapter = SQLAlchemyService(model, session=lambda: session, multi=True)
        yield session, FlaskRecords().add(path, adapter)


@pytest.mark.parametrize("method", ["patch", "remove"])
def test_a_record_that_the_session_holds_is_written_through_it(world, method):
    world.fill("things")
    args = [{"code": "n"}] if method == "patch" else []

    with shared(world) as (session, things), Transaction():
        thing = session.get(Thing, 9001)
        getattr(things, method)(9001, *args)

        assert sa.inspect(thing).deleted == (method == "remove")
        assert thing.code == ("n" if method == "patch" else "a")


@pytest.mark.parametrize("method", ["patch", "remove"])
def test_a_record_that_a_hook_has_just_made_is_written_through_the_session(
    world, method
):
    world.fill("things")
    args = [{"code": "n"}] if method == "patch" else []
    thing, seen = Thing(id=7, code="m"), []

    with shared(world) as (session, things):

        @things.before(method)
        def add(method, context):
            session.add(thing)

        @things.after(method)
        def look(method, context):
            seen.append((sa.inspect(thing).deleted, thing.code))

        getattr(things, method)(7, *args)

    assert seen == [(False, "n") if method == "patch" else (True, "m")]


def test_what_a_hook_adds_to_the_session_is_stored_before_the_record(world):
    world.fill("things")

    with shared(world) as (session, things):

        @things.before("create", "patch")
        def add_owner(method, context):
            owner_id = {"create": 7, "patch": 8}[method]
            session.add(Owner(id=owner_id))
            context.data["owner_id"] = owner_id

        created = things.create({"code": "n"})
        patched = things.patch(9001, {})

    with world.engine.begin() as connection:
        stored = connection.execute(sa.select(Thing.owner_id).order_by(Thing.owner_id))
        assert sorted(stored.scalars(), key=str) == [7, 8, None]
        connection.execute(sa.delete(Thing))
        connection.execute(sa.delete(Owner).where(Owner.id > 2))

    assert (created["owner_id"], patched["owner_id"]) == (7, 8)


def test_what_a_hook_adds_to_the_session_can_be_wrong(world):
    world.fill("things")
    before = world.stored("things")

    with shared(world) as (session, things):

        @things.before()
        def add_thing(method, context):
            session.add(Thing(code="b"))

        for call in (
            lambda: things.create({"code": "n"}),
            lambda: things.patch(9001, {"rank": 1}),
            lambda: things.remove(9001),
        ):
            with pytest.raises(Conflict):
                call()

    assert world.stored("things") == before


def test_hooks_of_the_call_see_what_is_written_through_the_session(world):
    world.fill("things")
    seen = []

    with shared(world) as (session, things):

        @things.after()
        def look(method, context):
            id = context.result["id"]
            thing = session.get(Thing, id)
            codes = session.scalars(sa.select(Thing.code).where(Thing.id == id)).all()
            seen.append((method, thing and thing.code, codes))
            session.expunge_all()

        things.create({"id": 7, "code": "n"})
        things.patch(7, {"code": "m"})
        things.remove(7)

    assert seen == [
        ("create", "n", ["n"]),
        ("patch", "m", ["m"]),
        ("remove", None, []),
    ]


CALLS = [
    ("create", {"code": "n"}),
    ("create", [{"code": "n"}, {"code": "m"}]),
    ("patch", 9001, {"code": "n"}),
    ("remove", 9001),
]


def fail(method, context):
    """A hook that lets calls fail after they have written."""
    if not context.params.extra.get("is_good"):
        raise BadRequest("Refused")


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_an_error_in_an_after_hook_undoes_what_was_written(world, call):
    world.fill("things")
    before = world.stored("things")
    method, *args = call

    with shared(world) as (session, things):
        things.after()(fail)

        with pytest.raises(BadRequest, match="Refused"):
            getattr(things, method)(*args)

    assert world.stored("things") == before


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_inside_another_is_undone_alone(world, call):
    world.fill("things")
    good = Params(extra={"is_good": True})

    with shared(world) as (session, things):
        things.after()(fail)

        @things.before("create")
        def call_another(method, context):
            if "label" in context.bodies[0]:
                with pytest.raises(BadRequest, match="Refused"):
                    getattr(things, call[0])(*call[1:])

        things.create({"id": 7, "label": "outer"}, good)
        things.create({"id": 8}, good)

    with world.engine.connect() as connection:
        rows = connection.execute(sa.select(Thing.id, Thing.code).order_by(Thing.id))
        assert [tuple(row) for row in rows] == [
            (7, None),
            (8, None),
            (9001, "a"),
            (9002, "b"),
        ]


@pytest.mark.parametrize(
    "call",
    [
        ("create", {"code": "a"}),
        ("create", [{"code": "n"}, {"code": "a"}]),
        ("create", [{"id": 7}, {"id": 9001}]),
        ("patch", 9001, {"code": "b"}),
    ],
    ids=str,
)
def test_a_transaction_goes_on_after_a_conflict_in_it(world, call):
    world.fill("things")
    things = world.direct["things"]
    method, *args = call

    with Transaction():
        things.create({"id": 8, "code": "x"})

        with pytest.raises(Conflict):
            getattr(things, method)(*args)

        things.patch(9002, {"code": "y"})

    with world.engine.connect() as connection:
        codes = connection.execute(sa.select(Thing.code).order_by(Thing.id)).scalars()
        assert codes.all() == ["x", "a", "y"]


COPYING = """\
CREATE TRIGGER copying AFTER INSERT ON note WHEN NEW.text NOT LIKE 'copy%' BEGIN \
INSERT INTO note (text) VALUES ('copy of ' || NEW.text); END\
"""


def test_a_trigger_that_inserts_too_does_not_change_the_order(local):
    world = local(note_of())
    bodies = [{"text": text} for text in "cab"]

    with world.engine.begin() as connection:
        connection.exec_driver_sql(COPYING)

    with counted(world.engine) as statements:
        created = world.service.create(bodies)

    assert created == [
        {"id": n, "text": t} for n, t in zip((1, 3, 5), "cab", strict=True)
    ]
    assert len(world.service.find()) == 6
    assert kinds(statements).endswith("SELECT")


def test_a_trigger_that_inserts_too_lets_one_record_be_one_statement(local):
    world = local(note_of())

    with world.engine.begin() as connection:
        connection.exec_driver_sql(COPYING)

    assert world.is_direct(lambda: world.service.create({"text": "a"}))
    assert [note["text"] for note in world.service.find()] == ["a", "copy of a"]


def test_keys_that_sqlite_makes_up_at_the_end_of_all_numbers_keep_the_order(local):
    """Where no number is left above, SQLite chooses one by chance."""
    type_ = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    world = local(note_of(id=mapped_column(type_, primary_key=True)))
    world.service.create({"id": 2**63 - 2, "text": "last"})
    bodies = [{"text": f"t{n}"} for n in range(5)]

    created = world.service.create(bodies)

    assert [{"text": note["text"]} for note in created] == bodies
    assert all(world.service.get(note["id"]) == note for note in created)


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_many_records_may_have_keys_that_are_text_in_python_only(local, make):
    class Coded(sa.types.TypeDecorator):
        impl = sa.Integer
        cache_ok = True

        def process_bind_param(self, value, dialect):
            return None if value is None else int(str(value).strip("n"))

        def process_result_value(self, value, dialect):
            return f"n{value}"

    world = local(note_of(id=mapped_column(Coded, primary_key=True)), make=make)

    created = world.service.create([{"text": "b"}, {"text": "a"}])

    assert created == [{"id": "n1", "text": "b"}, {"id": "n2", "text": "a"}]


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_a_record_that_a_trigger_keeps_out_is_refused(local, make):
    world = local(note_of(), make=make)

    with world.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER ignoring BEFORE INSERT ON note BEGIN"
            " SELECT raise(IGNORE); END"
        )

    with pytest.raises(BadRequest, match="does not keep this identifier"):
        world.service.create({"text": "a"})


class HttpBase(DeclarativeBase):
    __table_args__ = {"mariadb_collate": "utf8mb4_bin"}


class Deck(HttpBase):
    __tablename__ = "direct_deck"

    id: Mapped[int] = mapped_column(primary_key=True)


class Card(HttpBase):
    __tablename__ = "direct_card"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20), unique=True)
    rank: Mapped[int] = mapped_column(default=1)
    secret: Mapped[str | None] = mapped_column(sa.String(20))
    deck_id: Mapped[int | None] = mapped_column(sa.ForeignKey("direct_deck.id"))

    deck: Mapped[Deck | None] = relationship()


@pytest.fixture
def cards(database_url):
    db, records = SQLAlchemy(model_class=HttpBase), FlaskRecords()
    options = {"multi": True, "whitelist": ["$populate"]}
    service = SQLAlchemyService(Card, hidden=["secret"], readonly=["rank"], **options)
    records.add("cards", service, public=True)
    records.add("decks", SQLAlchemyService(Deck), public=True)

    with served(db, records, database_url) as app, app.app_context():
        yield app.test_client(), db.engine


def card(id, title):
    return {"id": id, "title": title, "rank": 1, "deck_id": None}


def test_writes_over_http_are_one_statement_each(cards):
    client, engine = cards
    answers = []

    with counted(engine) as statements:
        for verb, path, body in [
            ("POST", "", {"title": "Zoë", "secret": "s3cret"}),
            ("POST", "", [{"title": "b"}, {"title": "a"}]),
            ("POST", "", {"title": "a"}),
            ("POST", "", {"title": "c", "rank": 5}),
            ("PATCH", "/1?$select=title", {"title": "Eve"}),
            ("PATCH", "/1?title=Zoë", {"title": "Eve"}),
            ("DELETE", "/2", None),
            ("DELETE", "/2", None),
        ]:
            response = client.open(f"/cards{path}", method=verb, json=body)
            answers.append((response.status_code, response.json))

    conflict = Conflict(
        "There is a record with this 'title' already.",
        errors={"title": "has to be unique"},
    )
    assert [answers[0], answers[1], answers[2], answers[4], answers[6]] == [
        (201, card(1, "Zoë")),
        (201, [card(2, "b"), card(3, "a")]),
        (409, conflict.to_dict()),
        (200, {"id": 1, "title": "Eve"}),
        (200, card(2, "b")),
    ]
    assert [status for status, _ in answers] == [201, 201, 409, 400, 200, 404, 200, 404]

    if engine.dialect.name != "mariadb":
        assert kinds(statements) == "INSERT INSERT INSERT UPDATE UPDATE DELETE DELETE"


def test_writes_that_populate_are_left_to_the_unit_of_work(cards):
    client, engine = cards
    client.post("/decks", json={"id": 5})
    answers = []

    with counted(engine) as statements:
        for verb, path in (("POST", ""), ("PATCH", "/1"), ("DELETE", "/1")):
            body = {"title": "a", "deck_id": 5}
            response = client.open(
                f"/cards{path}?$populate=deck", method=verb, json=body
            )
            answers.append(response.json)

    assert answers == [card(1, "a") | {"deck_id": 5, "deck": {"id": 5}}] * 3
    assert kinds(statements).startswith("INSERT SELECT")
