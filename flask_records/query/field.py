"""The fields of a mapped class, each with its column and its conversion."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from urllib.parse import quote, unquote

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import HybridExtensionType
from sqlalchemy.sql.functions import next_value
from sqlalchemy.types import NullType

from ..errors import BadRequest
from ..problems import Problem
from .bounds import shorten
from .column_types import conversion_of
from .conversions import (
    as_scalar,
    Conversion,
    moment_text,
    of_json_text,
    python_type,
)
from .converters import apply_converter, converter_for

if t.TYPE_CHECKING:
    from .fields import FieldOptions

SEPARATOR: t.Final = ","
"""Stands between the parts of an identifier."""

UNQUOTED: t.Final = " !$'()*+:;=@[]"
"""The characters of a part that are not percent-encoded, besides letters and digits."""

TEXTS: t.Final[dict[t.Any, Callable[[t.Any], str]]] = {
    dt.datetime: moment_text,
    bytes: lambda value: base64.b64encode(value).decode(),
}
"""The texts of the parts of identifiers that ``str()`` does not give, by type."""

OPAQUE: t.Final = Conversion(
    lambda value: value, is_ordered=False, is_sorted=False, null_texts=()
)
"""The conversion of a type that has no form on the wire of its own."""

NO_FORM: t.Final = """\
'{model}.{name}' is of type {type!r}, which {reason}. Give it a form on the wire, \
converters={{{class_}: Converter(read, show)}}, or leave it out, hidden=['{name}'].\
"""

HASHES: t.Final = "gives back other values than it takes, as a hash does"

NO_EXPRESSION: t.Final = """\
The hybrid property '{name}' of '{model}' has no SQL expression, or a comparator. Give \
it an expression, make it a plain property, or leave it out: hidden=['{name}'].\
"""

OTHER_TABLE: t.Final = """\
The hybrid property '{name}' of '{model}' reads another table, each row with each row. \
Make its expression a subquery, sa.select(Parent.name).where(Parent.id == \
cls.parent_id).scalar_subquery(), or leave it out: hidden=['{name}'].\
"""

NO_QUERY_NAME: t.Final = """\
'{model}.{name}' can't be named in a query. Give the attribute another name, {other} = \
mapped_column('{name}'), or leave it out: hidden=['{name}'].\
"""

SYNTAX: t.Final = re.compile(r"^\$|[.\[\]]")
"""The characters of a name that have a meaning in queries."""

COUNTERS: t.Final = (sa.Sequence, sa.Identity, next_value)
"""The defaults of columns that the database counts up."""


# Two fields are equal only if they are the same object, which makes them fast keys.
@dataclass(frozen=True, eq=False)
class Field:
    """One value of a record, and the column it comes from."""

    name: str
    """The name of the model's attribute, and of the field on the wire."""

    column: t.Any
    """The expression that is filtered and sorted."""

    selected: t.Any
    """The expression that is selected."""

    conversion: Conversion
    """The way from values on the wire to values of the column."""

    is_counted: bool = False
    """``True`` for a primary key that the database counts up."""

    is_nullable: bool = True
    """``True`` if the column may be null."""

    has_default: bool = False
    """``True`` if the column has a default for new records."""

    is_usual: bool = False
    """``True`` for a column that SQLAlchemy itself compares with values, without a
    comparator of the application.
    """

    has_short_times: bool = False
    """``True`` for times of SQLite that SQL may write, in another form."""

    parts: tuple[Field, ...] = ()
    """The fields of an identifier that is made of several, in the order of the primary
    key. They are compared as a tuple.
    """

    @property
    def is_required(self) -> bool:
        """``True`` if a new record needs a value, for a field that bodies may name."""
        return not (self.is_nullable or self.has_default)

    def at(self, entity: t.Any) -> t.Any:
        """Return the expression that is filtered and sorted on the model, or on an
        alias of it. The name may be the end of a path.
        """
        if self.parts:
            return sa.tuple_(*[part.at(entity) for part in self.parts])

        return getattr(entity, self.name.rpartition(".")[2])

    def text(self, record: dict[str, t.Any]) -> str | None:
        """Return the identifier of a record, by which its parts are found again, or
        ``None`` if one is null.
        """
        values = [record.get(part.name) for part in self.parts]

        if any(value is None for value in values):
            return None

        texts = [TEXTS.get(type(value), str)(value) for value in values]
        return SEPARATOR.join([quote(text, safe=UNQUOTED) for text in texts])

    def cast_for_query(self, value: t.Any) -> t.Any:
        """Cast a value of a query to the column's type.

        :raises BadRequest: It can't be cast. The message names the field and the value.
        """
        conversion, wire_value = self.conversion, value

        if isinstance(value, str) and conversion.reads_json:
            is_null = value in conversion.null_texts
            wire_value = None if is_null else of_json_text(value)

        try:
            return conversion.read(wire_value, is_checked=False)
        except ValueError as error:
            raise self.unfit(value, Problem.of(error)) from error

    def unfit(self, value: t.Any, problem: Problem) -> BadRequest:
        """Return the error for a value of a query."""
        text = f"{quote_value(value)} is not a valid '{self.name}': it {problem}."
        return BadRequest(text, errors={self.name: problem})


def are_comparable(*fields: Field) -> bool:
    """Return ``True`` if columns have the same type, whose values are compared."""
    kinds = set[str]()

    for field in fields:
        type_, schema = field.column.type, field.conversion.schema
        is_own = isinstance(type_, sa.TypeDecorator)
        kind = [type(type_) if is_own else python_type(type_)]
        kind += [schema.get(name) for name in ("type", "format", "enum")]
        kind += [getattr(type_, n, None) for n in ("name", "timezone", "collation")]
        kinds.add(str(kind))

        if field.conversion.is_null_only or not field.conversion.is_sorted:
            return False

    return len(kinds) == 1


@lru_cache(maxsize=1000)
def at_path(path: str, field: Field) -> Field:
    """Return a field with the path to it in its name, the same one each time, as keys
    of caches have it.

    :param path: The path with a dot at its end, such as ``room.``.
    """
    return replace(field, name=f"{path}{field.name}")


def quote_value(value: t.Any) -> str:
    """Return a value as it stands in an error message, shortened."""
    # A client reads and writes JSON.
    is_json = value is None or isinstance(value, (bool, dict, list))
    text = json.dumps(value, default=str) if is_json else str(value)
    return f"'{shorten(text)}'"


def composite_of(name: str, parts: tuple[Field, ...]) -> Field:
    """Return the identifier of a name that is made of several fields."""
    cast_parts, schema = partial(_cast_parts, parts), {"type": "string"}
    conversion = replace(OPAQUE, cast=cast_parts, schema=schema)
    column = sa.tuple_(*[part.column for part in parts])
    return Field(name, column, None, conversion, is_nullable=False, parts=parts)


def _cast_parts(parts: Sequence[Field], value: t.Any) -> tuple[t.Any, ...]:
    """Return the values of an identifier: text, or a list of its parts."""
    items, values = value, []

    if isinstance(value, str):
        items = [unquote(each) for each in value.split(SEPARATOR)]

    if isinstance(items, (list, tuple)) and len(items) == len(parts):
        pairs = zip(parts, items, strict=True)
        values = [part.conversion.read(item, is_checked=False) for part, item in pairs]

    if not values or any(each is None for each in values):
        names = ", ".join(part.name for part in parts)
        raise ValueError(
            Problem(f"is not made of {names}", "type", expected="identifier")
        )

    return tuple(values)


def fields_of(
    mapper: orm.Mapper[t.Any],
    options: FieldOptions,
    dialect: sa.Dialect | None = None,
) -> Sequence[Field]:
    """Return the fields of a mapped class: its columns, column properties and hybrid
    properties, without those whose name begins with an underscore, and hidden ones that
    have no form on the wire.

    :param options: The options of the service. The name of the identifier field is
        known, and may begin with an underscore.
    :param dialect: The dialect of the database, if it is known.
    :raises ValueError: A column or a hybrid property has no form on the wire.
    """
    fields: list[Field] = []
    problems: list[str] = []

    for name in values_of(mapper):
        if name.startswith("_") and name != options.id:
            continue

        try:
            fields.append(_field(mapper, name, options, dialect))
        except ValueError as error:
            if name not in options.hidden:
                problems.append(str(error))

    if problems:
        raise ValueError("\n".join(problems))

    return fields


def values_of(mapper: orm.Mapper[t.Any]) -> Sequence[str]:
    """Return the names of the columns, and of the column and hybrid properties."""
    hybrids = [
        str(key)
        for key, descriptor in mapper.all_orm_descriptors.items()
        if descriptor.extension_type is HybridExtensionType.HYBRID_PROPERTY
    ]
    # The class of a union has no attribute for the column that names the table.
    names = [
        name for name in mapper.column_attrs.keys() if hasattr(mapper.class_, name)
    ]
    return [*names, *hybrids]


def _field(
    mapper: orm.Mapper[t.Any],
    name: str,
    options: FieldOptions,
    dialect: sa.Dialect | None,
) -> Field:
    """Return the field of a column, or of a column or hybrid property.

    :raises ValueError: It has no form on the wire.
    """
    details = {"model": mapper.class_.__name__, "name": name}

    if SYNTAX.search(name):
        other = re.sub(r"\W+", "_", name).strip("_")
        raise ValueError(NO_QUERY_NAME.format(**details, other=other))

    prop = mapper.column_attrs.get(name)
    expression = getattr(mapper.class_, name) if prop else _hybrid(mapper, details)
    type_ = expression.type
    conversion = conversion_of(type_, dialect)
    converter = converter_for(options.converters, name, type_)

    if converter is not None:
        # A converter that reads says what is compared.
        if converter.read and isinstance(type_, NullType):
            conversion = Conversion(as_scalar)

        conversion = apply_converter(conversion or OPAQUE, converter)
    elif conversion is None or (
        conversion.doubt == "one-way" and name not in options.hidden
    ):
        reason = "has no form on the wire" if conversion is None else HASHES
        details |= {"class_": type(type_).__name__, "reason": reason}
        raise ValueError(NO_FORM.format(**details, type=type_))

    selected = conversion.select_as(name, expression)

    if prop is None:
        return Field(name, expression, sa.label(name, selected), conversion)

    column = prop.columns[0]
    return Field(
        *(name, expression, selected, conversion),
        is_counted=any(map(_is_counted, prop.columns)),
        is_nullable=not isinstance(column, sa.Column) or bool(column.nullable),
        has_default=isinstance(column, sa.Column) and _has_default(mapper, column),
        is_usual=not _has_comparator(prop, type_),
        has_short_times=_has_short_times(type_, dialect),
    )


def _hybrid(mapper: orm.Mapper[t.Any], details: dict[str, str]) -> t.Any:
    """Return the expression of a hybrid property.

    :param details: The names of the model and of the property, for errors.
    :raises ValueError: It has none, or a comparator of its own, without a type.
    """
    name = details["name"]

    try:
        expression = getattr(mapper.class_, name)
        # Both fail if it is not a mapped attribute.
        _ = sa.label(name, expression), expression.type
    except Exception as error:
        raise ValueError(NO_EXPRESSION.format(**details)) from error

    statement = sa.select(mapper.class_)
    froms = statement.add_columns(expression).get_final_froms()

    if len(froms) > len(statement.get_final_froms()):
        raise ValueError(OTHER_TABLE.format(**details))

    return expression


def _has_comparator(prop: orm.ColumnProperty[t.Any], type_: t.Any) -> bool:
    """Return ``True`` if code of the application may look at compared values."""
    return prop.comparator_factory is not orm.ColumnProperty.Comparator or any(
        name in vars(base)
        for base in type(type_).__mro__
        if not base.__module__.startswith("sqlalchemy.")
        for name in ("coerce_compared_value", "comparator_factory")
    )


def _has_short_times(type_: t.Any, dialect: sa.Dialect | None) -> bool:
    """Return ``True`` for a type of times that SQL writes in another form on SQLite."""
    type_ = getattr(type_, "impl_instance", type_)
    # A type of SQLite itself may store another form.
    return (
        getattr(dialect, "name", "") == "sqlite"
        and isinstance(type_, (sa.DateTime, sa.Time))
        and type(type_).__module__ == sa.DateTime.__module__
        and "sqlite" not in type_._variant_mapping
    )


def is_kept(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    """Return ``True`` for a column that the mapper or the database writes."""
    identity = column.identity
    return (
        column is mapper.polymorphic_on
        or column is mapper.version_id_col
        or column.computed is not None
        or (identity is not None and bool(identity.always))
        or _is_inherited_key(mapper, column)
    )


def _is_inherited_key(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    """Return ``True`` for a key of a table of joined inheritance that has another name
    than the identifier, to which SQLAlchemy copies that.
    """
    inherited = mapper.inherits.tables if mapper.inherits else ()
    others = mapper.get_property_by_column(column).columns
    return (
        column.primary_key
        and any(key.column.table in inherited for key in column.foreign_keys)
        and set(mapper.primary_key).isdisjoint(others)
    )


def _has_default(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    return (
        column.default is not None
        or column.server_default is not None
        # MariaDB may count up a column outside the primary key.
        or column.autoincrement is True
        or _is_counted(column)
        # A table of joined inheritance has the key of the table it extends.
        or (column.primary_key and bool(mapper.inherits and column.foreign_keys))
    )


def _is_counted(column: t.Any) -> bool:
    """Return ``True`` for a primary key that the database counts up."""
    if not isinstance(column, sa.Column) or not column.primary_key:
        return False

    defaults = [column.default, column.server_default]
    defaults += [getattr(default, "arg", None) for default in defaults]
    is_counter = any(isinstance(default, COUNTERS) for default in defaults)
    # The column of a subquery, too, is a column with a table.
    counter = getattr(column.table, "autoincrement_column", None)
    return is_counter or counter is column
