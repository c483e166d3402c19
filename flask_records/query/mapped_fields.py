"""The fields of a mapped class."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import HybridExtensionType
from sqlalchemy.sql.functions import next_value

from .field import Field
from .types import conversion_of
from .values import Conversion, converted, converter_for

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .fields import FieldOptions

OPAQUE: t.Final = Conversion(
    lambda value: value, is_ordered=False, is_sorted=False, null_texts=()
)
"""The conversion of a type that has no form on the wire without a converter."""

NO_FORM: t.Final = """\
'{model}.{name}' is of type {type!r}, which has no form on the wire. Give it one, \
converters={{{class_}: Converter(read, show)}}, or leave it out, hidden=['{name}'].\
"""

NO_EXPRESSION: t.Final = """\
The hybrid property '{name}' of '{model}' has no SQL expression, or a comparator. Give \
it an expression, make it a plain property, or leave it out: hidden=['{name}'].\
"""

COUNTERS: t.Final = (sa.Sequence, sa.Identity, next_value)
"""The defaults of columns that the database counts up."""


def fields_of(
    mapper: orm.Mapper[t.Any],
    options: FieldOptions,
    dialect: sa.Dialect | None = None,
) -> Iterable[Field]:
    """Yield the fields of a mapped class: its columns, column properties and hybrid
    properties, without those whose name begins with an underscore, and hidden ones that
    have no form on the wire.

    :param options: The options of the service. The name of the identifier field is
        known, and may begin with an underscore.
    :param dialect: The dialect of the database, if it is known.
    :raises ValueError: A column or a hybrid property can't be shown.
    """
    for name in values_of(mapper):
        if name.startswith("_") and name != options.id:
            continue

        try:
            yield _field(mapper, name, options, dialect)
        except FormlessError:
            if name not in options.hidden:
                raise


def values_of(mapper: orm.Mapper[t.Any]) -> Sequence[str]:
    """Return the names of the columns, and of the column and hybrid properties."""
    hybrids = [
        str(key)
        for key, descriptor in mapper.all_orm_descriptors.items()
        if descriptor.extension_type is HybridExtensionType.HYBRID_PROPERTY
    ]
    return [*mapper.column_attrs.keys(), *hybrids]


class FormlessError(ValueError):
    """A column or a hybrid property has no form on the wire."""


def _field(
    mapper: orm.Mapper[t.Any],
    name: str,
    options: FieldOptions,
    dialect: sa.Dialect | None,
) -> Field:
    """Return the field of a column, or of a column or hybrid property."""
    prop = mapper.column_attrs.get(name)
    expression = getattr(mapper.class_, name) if prop else _hybrid(mapper, name)
    type_ = expression.type
    conversion = conversion_of(type_, dialect)
    converter = converter_for(options.converters, name, type_)

    if converter is not None:
        conversion = converted(conversion or OPAQUE, converter)
    elif conversion is None:
        names = {"model": mapper.class_.__name__, "name": name, "type": type_}
        raise FormlessError(NO_FORM.format(**names, class_=type(type_).__name__))

    selected = conversion.selected(name, expression)

    if prop is None:
        return Field(name, expression, sa.label(name, selected), conversion)

    return _field_of_column(mapper, prop, Field(name, expression, selected, conversion))


def _hybrid(mapper: orm.Mapper[t.Any], name: str) -> t.Any:
    """Return the expression of a hybrid property.

    :raises FormlessError: It has none, or a comparator of its own, without a type.
    """
    try:
        expression = getattr(mapper.class_, name)
        # Both fail if it is none.
        _ = sa.label(name, expression), expression.type
    except Exception as error:
        names = {"model": mapper.class_.__name__, "name": name}
        raise FormlessError(NO_EXPRESSION.format(**names)) from error

    return expression


def _field_of_column(
    mapper: orm.Mapper[t.Any], prop: orm.ColumnProperty[t.Any], field: Field
) -> Field:
    """Return the field of a column, or of a column property."""
    column = prop.columns[0]
    field = replace(
        field,
        is_counted=any(map(_is_counted, prop.columns)),
        is_usual=not _has_comparator(prop, field.column.type),
    )

    if not isinstance(column, sa.Column):
        return field

    is_kept, has_default = _is_kept(mapper, column), _has_default(mapper, column)
    return replace(
        field,
        is_writable=not is_kept,
        is_required=not (column.nullable or has_default or is_kept),
        is_nullable=bool(column.nullable),
        has_default=has_default,
    )


def _has_comparator(prop: orm.ColumnProperty[t.Any], type_: t.Any) -> bool:
    """Return ``True`` if code of the application may look at compared values."""
    return prop.comparator_factory is not orm.ColumnProperty.Comparator or any(
        name in vars(base)
        for base in type(type_).__mro__
        if not base.__module__.startswith("sqlalchemy.")
        for name in ("coerce_compared_value", "comparator_factory")
    )


def _is_kept(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    """Return ``True`` for a column that the mapper or the database writes."""
    identity = column.identity
    return (
        column is mapper.polymorphic_on
        or column is mapper.version_id_col
        or column.computed is not None
        or (identity is not None and bool(identity.always))
    )


def _has_default(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    return (
        column.default is not None
        or column.server_default is not None
        # MariaDB may count up a column that is no primary key.
        or column.autoincrement is True
        or (column.primary_key and _is_generated(mapper, column))
    )


def _is_counted(column: t.Any) -> bool:
    """Return ``True`` for a primary key that the database counts up."""
    if not isinstance(column, sa.Column) or not column.primary_key:
        return False

    defaults = [column.default, column.server_default]
    defaults += [getattr(default, "arg", None) for default in defaults]
    is_counter = any(isinstance(default, COUNTERS) for default in defaults)
    return is_counter or column.table.autoincrement_column is column


def _is_generated(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    # The key of a table of joined inheritance is that of the table it extends.
    is_inherited = mapper.inherits is not None and bool(column.foreign_keys)
    return is_inherited or column.table.autoincrement_column is column
