"""The table of the types of columns: how values of each are converted."""

from __future__ import annotations

import datetime as dt
import json
import typing as t
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Context, Decimal
from functools import partial
from sys import float_info
from types import UnionType

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.types import NullType, TypeDecorator, TypeEngine

from .. import problems
from . import conversions
from .conversions import (
    Cast,
    Check,
    Conversion,
    NULL_TEXTS,
    nullable,
    python_type,
    Schema,
)
from .forms import class_of, is_plain, is_tried, Trial

ANY_DIALECT: t.Final = DefaultDialect()

EXACT: t.Final = Context(prec=3000)
"""The context of calculations that keep all digits."""

DIALECTS: t.Final = "sqlalchemy.dialects."

Make: t.TypeAlias = Callable[[t.Any, sa.Dialect], Conversion | None]
"""Returns the conversion of a type on a database."""

Row: t.TypeAlias = Conversion | Make | None
"""The conversion of all columns of a type, or the function that makes it. ``None`` for
a type that has no form on the wire: the application has to give it a converter.
"""

TypeKey: t.TypeAlias = type[t.Any] | str
"""A column type. One of a dialect is named, since the import of a dialect takes as long
as all our modules of queries do.
"""


def conversion_of(
    type_: TypeEngine[t.Any], dialect: sa.Dialect | None = None
) -> Conversion | None:
    """Return the conversion of a column type, or ``None`` if it has no form on the
    wire without a converter.

    :param dialect: The dialect of the database. What is the same on all by default.
    """
    dialect = dialect or ANY_DIALECT
    variant = type_._variant_mapping.get(dialect.name, type_)

    # An integer of SQLite that stands for another one holds as much.
    if dialect.name != "sqlite" or not isinstance(variant, sa.Integer):
        type_ = variant

    bases = type(type_).__mro__

    for key in [key for base in bases for key in (base, _name_of(base))]:
        if key in TYPES:
            row = TYPES[key]
            return row(type_, dialect) if callable(row) else row

    # The other types of a dialect are text that the database reads.
    return FOREIGN if any(map(_name_of, bases)) else None


def _name_of(class_: type[t.Any]) -> str:
    """Return the name of the type of a dialect, such as ``mysql.SET``."""
    module = class_.__module__

    if not module.startswith(DIALECTS):
        return ""

    return f"{module.removeprefix(DIALECTS).partition('.')[0]}.{class_.__name__}"


def _at_most(length: int | None, things: str) -> Check | None:
    """Return the check of a length, or ``None`` if there is no limit."""
    if length is None:
        return None

    def check(value: t.Any) -> None:
        if len(value) > length:
            raise ValueError(problems.too_long(length, things))

    return check


def _whole_numbers(low: int, high: int) -> Conversion:
    schema: dict[str, t.Any] = {"type": "integer", "minimum": low, "maximum": high}

    # Generated code of Java, Go and others has integers of 32 bits otherwise.
    if high >= 2**31:
        schema["format"] = "int64"

    return Conversion(conversions.integer_between(low, high), schema=schema)


def _integers(bits: int) -> Make:
    def make(type_: t.Any, dialect: sa.Dialect) -> Conversion:
        low = 0 if getattr(type_, "unsigned", False) else -(2 ** (bits - 1))
        return _whole_numbers(low, low + 2**bits - 1)

    return make


def _texts(type_: sa.String, dialect: sa.Dialect) -> Conversion:
    is_postgresql = dialect.name == "postgresql"
    cast = conversions.as_text_without_nul if is_postgresql else conversions.as_text
    check = _at_most(type_.length, "characters")
    schema = TEXT if type_.length is None else {**TEXT, "maxLength": type_.length}
    return Conversion(cast, check, is_text=True, null_texts=(), schema=schema)


def _enums(type_: sa.Enum, dialect: sa.Dialect) -> Conversion:
    texts, class_ = type_.enums, t.cast("t.Any", type_.enum_class)
    # The names of members may be aliases.
    is_named = class_ is not None and type_.values_callable is None
    values = [class_[text] for text in texts] if is_named else class_ or texts
    members = dict(zip(texts, values, strict=False))

    def cast_enum(value: t.Any) -> t.Any:
        if isinstance(value, str) and value in members:
            return members[value]

        if any(value is member for member in members.values()):
            return value

        raise ValueError(problems.no_choice(members))

    return Conversion(
        cast_enum,
        null_texts=[text for text in NULL_TEXTS if text not in members],
        # MariaDB sorts them as they were declared, and compares their texts.
        is_ordered=False,
        # An enum goes over the wire as the text in the database.
        select=_as_text,
        schema={**TEXT, "enum": list(members)},
    )


def _as_text(column: t.Any) -> t.Any:
    return sa.type_coerce(column, sa.String())


def _as_double(column: t.Any) -> t.Any:
    return sa.type_coerce(column, sa.Double())


def _in_double(number: Decimal | float, scale: int | None = None) -> Decimal:
    """Return a number as it is read from SQLite.

    :raises ValueError: It is a text or bytes, which SQLite stores in any column.
    """
    form = ".15g" if scale is None else f".{scale}f"

    try:
        return Decimal(format(float(number), form))
    except ValueError as error:
        raise conversions.Unreadable(repr(error)) from error


def _numerics(type_: t.Any, dialect: sa.Dialect) -> Conversion:
    precision, scale = type_.precision, type_.scale
    is_sqlite = dialect.name == "sqlite"

    # MariaDB rounds numbers to integers in a column without a precision.
    if precision is None and dialect.name in ("mariadb", "mysql"):
        precision, scale = 10, 0
    elif precision is not None and scale is None:
        # NUMERIC(10) is NUMERIC(10, 0).
        scale = 0

    def check(number: Decimal) -> None:
        exponent = t.cast(int, number.normalize(EXACT).as_tuple().exponent)

        if scale is not None and -exponent > scale:
            raise ValueError(problems.too_many_places(scale))

        if precision is not None and number.adjusted() >= precision - (scale or 0):
            raise ValueError(problems.OUT_OF_RANGE)

        if is_sqlite and _in_double(number, scale) != number:
            raise ValueError(problems.MORE_DIGITS)

    def cast(value: t.Any) -> Decimal:
        number = conversions.as_decimal(value)

        if isinstance(value, float) and type_.asdecimal and scale is not None:
            _, digits, exponent = number.normalize().as_tuple()

            # The text of the number may have had other digits than the double.
            if len(digits) > float_info.dig and -t.cast(int, exponent) <= scale:
                raise ValueError(problems.ROUNDED)

        return number

    schema = DECIMAL if type_.asdecimal else NUMBER
    conversion = Conversion(cast, check, schema=schema)

    # SQLAlchemy rounds floats that it makes decimals to ten decimal places.
    if is_sqlite and type_.asdecimal and type_.scale is None:
        return replace(conversion, select=_as_double, show=_in_double)

    return conversion


def _times(type_: t.Any, dialect: sa.Dialect) -> Conversion | None:
    # A time of day with a zone names no moment.
    if type_.timezone:
        return None

    # SQLAlchemy makes 06:00 of the 30 hours that MariaDB may have.
    is_span = dialect.name in ("mariadb", "mysql")
    return replace(TIME, select=_as_driver, show=_in_day) if is_span else TIME


def _as_driver(column: t.Any) -> t.Any:
    return sa.type_coerce(column, NullType())


def _in_day(span: dt.timedelta | dt.time) -> dt.time:
    # A type of the application has read it.
    if isinstance(span, dt.time):
        return span

    if not dt.timedelta() <= span < conversions.DAY:
        raise conversions.Unreadable(f"{span} is not a time of day")

    return (dt.datetime.min + span).time()


def _uuids(type_: sa.Uuid[t.Any], dialect: sa.Dialect) -> Conversion:
    as_uuid = conversions.as_uuid
    cast = as_uuid if type_.as_uuid else lambda value: str(as_uuid(value))
    return Conversion(cast, schema={**TEXT, "format": "uuid"})


def _binaries(type_: t.Any, dialect: sa.Dialect) -> Conversion:
    check = _at_most(getattr(type_, "length", None), "bytes")
    # The text "null" is the base64 of three bytes.
    schema = {**TEXT, "contentEncoding": "base64"}
    return Conversion(conversions.as_bytes, check, null_texts=(), schema=schema)


def _arrays(type_: t.Any, dialect: sa.Dialect) -> Conversion | None:
    item = conversion_of(type_.item_type, dialect)

    # SQLAlchemy has no name for the array of a type that it does not know, and drivers
    # split none of domains.
    is_unknown = isinstance(type_.item_type, NullType)
    is_unknown |= _name_of(type(type_.item_type)) == "postgresql.DOMAIN"

    if item is None or item.doubt == "one-way" or is_unknown:
        return None

    dimensions = type_.dimensions or 1
    schema = nullable(item.schema)

    for _ in range(dimensions):
        schema = {"type": "array", "items": schema}

    select = item.select

    if select is not None:
        impl = select(sa.column("item", type_.item_type)).type
        # Drivers do not split the text of an array whose type they do not know.
        is_text = isinstance(impl, sa.String)
        array = sa.ARRAY(sa.Text() if is_text else impl, dimensions=type_.dimensions)
        select = partial(sa.cast if is_text else sa.type_coerce, type_=array)

    return Conversion(
        _of_items(item.read, dimensions),
        is_ordered=False,
        is_sorted=False,
        is_null_only=item.is_null_only,
        reads_json=True,
        has_item=None if item.is_null_only else _array_has_item,
        select=select,
        show=item.show and _of_items(item.show, dimensions),
        schema=schema,
    )


def _domains(type_: t.Any, dialect: sa.Dialect) -> Conversion | None:
    base = type_.data_type
    # SQLAlchemy binds values of a domain as they are, without the code of its type.
    is_code = isinstance(base, (sa.JSON, TypeDecorator)) or (
        isinstance(base, sa.Enum) and base.enum_class is not None
    )
    return None if is_code else conversion_of(base, dialect)


def _of_items(function: Cast, dimensions: int) -> Cast:
    """Return a function for lists, in so many dimensions, of one for their items."""
    inner = function if dimensions == 1 else _of_items(function, dimensions - 1)

    def convert(value: t.Any) -> t.Any:
        if not isinstance(value, list):
            raise ValueError(problems.NO_LIST)

        return [None if each is None else inner(each) for each in value]

    return convert


def _decorated(type_: TypeDecorator[t.Any], dialect: sa.Dialect) -> Conversion | None:
    impl = type_.load_dialect_impl(dialect)
    conversion, class_ = conversion_of(impl, dialect), python_type(type_)
    declared = None if class_ is python_type(impl) else conversion_of_class(class_)

    if not is_tried(type_):
        return conversion and replace(
            declared or conversion,
            compared_by_database=True,
            # The type makes its values of those that are selected.
            select=None,
        )

    trial = Trial(type_, dialect)
    conversion = declared or _conversion_of_form(trial, conversion)

    if conversion is None or (trial.is_one_way and declared is None):
        return conversion and replace(
            conversion, compared_by_database=True, select=None, doubt="one-way"
        )

    def check(value: t.Any) -> None:
        # An object has no length.
        if conversion.check is not None and is_plain(value):
            conversion.check(value)

    choices = {"enum": trial.choices} if trial.choices else {}
    return replace(
        conversion,
        cast=trial.reader(conversion.cast),
        check=check,
        is_ordered=conversion.is_ordered and not trial.is_random,
        is_null_only=(
            conversion.is_null_only or trial.stores_documents or trial.is_random
        ),
        compared_by_database=True,
        has_item=None,
        # One value that the type can't read would be the end of all others.
        select=lambda column: sa.type_coerce(column, trial.impl),
        show=trial.show,
        schema={**conversion.schema, **choices},
        doubt="untried" if trial.form is None and declared is None else "",
    )


def _conversion_of_form(trial: Trial, of_impl: Conversion | None) -> Conversion | None:
    """Return the conversion of the forms of a type.

    :param of_impl: The conversion of the type that stores its values.
    """
    form = trial.form

    if isinstance(form, dt.datetime):
        return conversion_of(sa.DateTime(timezone=form.tzinfo is not None))

    # The type that stores the values knows their lengths and ranges.
    if form is None or class_of(form) is trial.stored_class:
        return of_impl

    return DOCUMENT if isinstance(form, dict) else conversion_of_class(class_of(form))


def _documents(class_: type[t.Any], problem: problems.Problem) -> Conversion:
    """Return the conversion of JSON documents that are lists, or objects."""

    def cast(value: t.Any) -> t.Any:
        if not isinstance(document := conversions.as_json(value), class_):
            raise ValueError(problem)

        return document

    is_list = class_ is list
    schema = {"type": "array" if is_list else "object"}
    return replace(DOCUMENT, cast=cast, is_null_only=not is_list, schema=schema)


def conversion_of_class(class_: t.Any) -> Conversion | None:
    """Return the conversion of the values of a class, or ``None`` if it has none."""
    if class_ in (list, dict):
        problem = problems.NO_LIST if class_ is list else problems.NO_OBJECT
        return _documents(class_, problem)

    type_ = PYTHON_TYPES.get(class_)
    return None if type_ is None else conversion_of(type_)


def schema_of_class(class_: t.Any) -> Schema | None:
    """Return the JSON Schema of the values of a class, such as ``str``, ``str | None``
    or ``list[int]``, or ``None`` if it has none.
    """
    origin, parts = t.get_origin(class_), t.get_args(class_)
    others = [part for part in parts if part is not type(None)]

    if origin in (t.Union, UnionType):
        schema = schema_of_class(others[0]) if len(others) == 1 < len(parts) else None
        return None if schema is None else nullable(schema)

    if origin is list:
        items = schema_of_class(parts[0])
        return None if items is None else {"type": "array", "items": items}

    conversion = conversion_of_class(origin or class_)
    return None if conversion is None else conversion.schema


def _array_has_item(column: t.Any, item: t.Any) -> t.Any:
    """Return the condition that an array has an item, for which an index is used."""
    return column.bool_op("@>")(sa.literal([item], column.type))


def _has_item_on_postgresql(column: t.Any, item: t.Any) -> t.Any:
    # An index of a column of this type is used all the same.
    documents = sa.cast(column, JSONB())
    return documents.bool_op("@>")(sa.literal([item], JSONB()))


def _has_item_on_sqlite(column: t.Any, item: t.Any) -> t.Any:
    each = sa.func.json_each(column).table_valued("value", "type")

    if isinstance(item, bool):
        condition = each.c.type == json.dumps(item)
    else:
        types = ("text",) if isinstance(item, str) else ("integer", "real")
        condition = sa.and_(each.c.type.in_(types), each.c.value == item)

    items = sa.select(each.c.value).where(condition)
    # A value that is not a list is its own only item.
    return sa.and_(sa.func.json_type(column) == "array", items.exists())


def _has_item_on_mariadb(column: t.Any, item: t.Any) -> t.Any:
    # MariaDB compares the spelling of texts, with escapes or without.
    spellings = {json.dumps(item), json.dumps(item, ensure_ascii=False)}
    items = sa.literal(f"[{', '.join(sorted(spellings))}]", sa.Text())
    return sa.and_(
        sa.func.json_type(column) == "ARRAY",
        sa.func.json_overlaps(column, items) == 1,
    )


HAS_ITEM: t.Final[Mapping[str, Callable[[t.Any, t.Any], t.Any]]] = {
    "postgresql": _has_item_on_postgresql,
    "mariadb": _has_item_on_mariadb,
    "mysql": _has_item_on_mariadb,
}
"""The functions that return the condition that a list of JSON has an item, by the names
of dialects.
"""

# The JSON Schemas of several types.
TEXT: t.Final[Schema] = {"type": "string"}
NUMBER: t.Final[Schema] = {"type": "number"}
DECIMAL: t.Final[Schema] = {"type": "string", "format": "decimal"}
SECONDS: t.Final[Schema] = {"type": "number", "description": "Seconds."}

# The registry of OpenAPI has this name for times without a zone.
TIME: t.Final = Conversion(conversions.as_time, schema={**TEXT, "format": "time-local"})

FOREIGN: t.Final = Conversion(conversions.as_foreign, compared_by_database=True)
"""The conversion of a type whose text only the database can read."""

FOREIGN_TEXT: t.Final = replace(FOREIGN, select=_as_text)
"""The conversion of such a type whose values are texts for all drivers."""

DOCUMENT: t.Final = Conversion(
    conversions.as_json,
    is_ordered=False,
    is_sorted=False,
    # Each database has another idea of equal documents.
    is_null_only=True,
    reads_json=True,
)
"""The conversion of JSON documents."""

UNTYPED: t.Final = Conversion(
    conversions.as_scalar,
    is_ordered=False,
    is_null_only=True,
    null_texts=("null",),
    # A body may have the text "null".
    reads_json=True,
)
"""The conversion of an expression without a type: its values are the driver's. It can
be null, and nothing else is compared with it: SQLite would compare it with texts, which
no number equals.
"""


def _untyped(type_: t.Any, dialect: sa.Dialect) -> Conversion:
    """Return the conversion of a column whose type SQLAlchemy does not know. Servers
    read texts of it; their drivers raise errors of many classes for other values.
    """
    is_any = dialect.name in ("sqlite", ANY_DIALECT.name)
    return UNTYPED if is_any else replace(UNTYPED, cast=conversions.as_text)


INTERVAL: t.Final = Conversion(conversions.as_interval, schema=SECONDS)

TYPES: t.Final[Mapping[TypeKey, Row]] = {
    sa.String: _texts,
    sa.Enum: _enums,
    sa.SmallInteger: _integers(16),
    sa.Integer: _integers(32),
    sa.BigInteger: _integers(64),
    sa.Numeric: _numerics,
    # SQLAlchemy rounds those that it makes decimals.
    sa.Float: Conversion(conversions.as_float, select=_as_double, schema=NUMBER),
    sa.Boolean: Conversion(conversions.as_boolean, schema={"type": "boolean"}),
    sa.DateTime: lambda type_, dialect: Conversion(
        conversions.as_zoned_moment if type_.timezone else conversions.as_naive_moment,
        schema={**TEXT, "format": "date-time"},
    ),
    sa.Date: Conversion(conversions.as_date, schema={**TEXT, "format": "date"}),
    sa.Time: _times,
    sa.Interval: INTERVAL,
    sa.Uuid: _uuids,
    sa.LargeBinary: _binaries,
    sa.BINARY: _binaries,
    sa.VARBINARY: _binaries,
    sa.JSON: lambda type_, dialect: replace(
        DOCUMENT, has_item=HAS_ITEM.get(dialect.name, _has_item_on_sqlite)
    ),
    sa.ARRAY: _arrays,
    sa.PickleType: None,
    TypeDecorator: _decorated,
    NullType: _untyped,
    "postgresql.INTERVAL": INTERVAL,
    "postgresql.DOMAIN": _domains,
    "postgresql.CITEXT": lambda type_, dialect: replace(
        _texts(type_, dialect), select=_as_text
    ),
    **dict.fromkeys(
        [
            *("postgresql.MACADDR8", "postgresql.MONEY", "postgresql.REGCLASS"),
            *("postgresql.TSQUERY", "postgresql.TSVECTOR"),
        ],
        FOREIGN_TEXT,
    ),
    # PostgreSQL cuts the text of bits, and compares no paths, which SQLAlchemy can't
    # set to null. Drivers answer the others as objects.
    "postgresql.BIT": None,
    "postgresql.JSONPATH": None,
    "postgresql.HSTORE": None,
    "postgresql.AbstractMultiRange": None,
    "mysql.SET": None,
    "mysql.TINYINT": _integers(8),
    "mysql.MEDIUMINT": _integers(24),
    "mysql.BIT": lambda type_, dialect: _whole_numbers(0, 2 ** (type_.length or 1) - 1),
    "mysql.YEAR": _whole_numbers(1901, 2155),
    "mysql.TINYBLOB": _binaries,
    "mysql.MEDIUMBLOB": _binaries,
    "mysql.LONGBLOB": _binaries,
}
"""The rows of all types. A type that is not here has the row of its nearest base."""

PYTHON_TYPES: t.Final[Mapping[type[t.Any], TypeEngine[t.Any]]] = {
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    float: sa.Double(),
    str: sa.String(),
    Decimal: sa.Numeric(),
    dt.datetime: sa.DateTime(),
    dt.date: sa.Date(),
    dt.time: sa.Time(),
    dt.timedelta: sa.Interval(),
    uuid.UUID: sa.Uuid(),
    bytes: sa.LargeBinary(),
}
"""The types of columns for the values of Python types."""
