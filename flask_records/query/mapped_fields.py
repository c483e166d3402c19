"""The fields of a mapped class."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import HybridExtensionType
from sqlalchemy.sql.functions import next_value
from sqlalchemy.types import NullType

from .converters import converted, converter_for
from .database_types import conversion_of
from .field import Field, selected
from .python_types import annotated_type
from .values import Conversion

if t.TYPE_CHECKING:
    from sqlalchemy.sql.operators import OperatorType

    from .field_options import FieldOptions

OPAQUE: t.Final = Conversion(lambda value: value, is_ordered=False, null_texts=())
"""The conversion of a type that has no form on the wire without a converter."""

COUNTERS: t.Final = (sa.Sequence, sa.Identity, next_value)
"""The defaults of columns that the database counts up."""


def fields_of(
    mapper: orm.Mapper[t.Any],
    options: FieldOptions,
    dialect: sa.Dialect | None = None,
) -> Iterable[Field]:
    """Yield the fields of a mapped class: its columns, column properties and hybrid
    properties, without those that the options exclude or whose name begins with an
    underscore.

    :param options: The options of the service. The name of the identifier field is
        known, and may begin with an underscore.
    :param dialect: The dialect of the database, if it is known.
    :raises ValueError: A column or a hybrid property can't be shown, or the database
        changes the values of a column.
    """
    for prop in mapper.column_attrs:
        if _is_field(prop.key, options):
            is_counted = any(map(_is_counted, prop.columns))
            is_readonly = options.is_readonly(prop.key) or (
                is_counted and not options.client_ids
            )
            field = _field_of_column(mapper, prop, options, dialect)
            yield replace(field, is_counted=is_counted, is_readonly=is_readonly)

    for name, descriptor in mapper.all_orm_descriptors.items():
        is_hybrid = descriptor.extension_type is HybridExtensionType.HYBRID_PROPERTY

        if is_hybrid and _is_field(str(name), options):
            yield _field_of_hybrid(mapper, str(name), options, dialect)


def _is_field(name: str, options: FieldOptions) -> bool:
    is_private = name.startswith("_") and name != options.id
    return not is_private and name not in options.exclude


def _field_of_column(
    mapper: orm.Mapper[t.Any],
    prop: orm.ColumnProperty[t.Any],
    options: FieldOptions,
    dialect: sa.Dialect | None,
) -> Field:
    expression = getattr(mapper.class_, prop.key)
    conversion = _conversion(mapper, prop.key, expression, options, dialect)
    column = prop.columns[0]

    is_key = isinstance(column, sa.Column) and column.primary_key
    fault = conversion.fault or (conversion.key_fault if is_key else None)

    if fault is not None and isinstance(column, sa.Column):
        raise ValueError(f"'{mapper.class_.__name__}.{prop.key}': {fault}")

    has_comparator = _has_comparator(prop, expression.type)
    field = Field(
        prop.key,
        expression,
        selected(prop.key, expression, conversion),
        conversion,
        is_usual=not has_comparator,
        has_comparator=has_comparator,
    )

    if not isinstance(column, sa.Column):
        return field

    return replace(
        field,
        is_writable=not _is_kept_by_mapper(mapper, column),
        is_required=_is_required(mapper, column),
        is_nullable=bool(column.nullable),
        has_default=_has_default(mapper, column),
    )


def _field_of_hybrid(
    mapper: orm.Mapper[t.Any],
    name: str,
    options: FieldOptions,
    dialect: sa.Dialect | None,
) -> Field:
    try:
        expression = getattr(mapper.class_, name)
        labelled = sa.label(name, expression)
    except Exception as error:
        raise ValueError(
            f"The hybrid property '{name}' of '{mapper.class_.__name__}' has no SQL"
            " expression. Give it one, make it a plain property, or leave it out:"
            f" exclude=['{name}']."
        ) from error

    if not hasattr(expression, "type"):
        expression = HybridColumn(expression, labelled.element)

    if isinstance(expression.type, NullType):
        expression, labelled = _annotated(mapper, name, expression, labelled)

    conversion = _conversion(mapper, name, expression, options, dialect)
    shown = selected(name, expression, conversion) if conversion.select else labelled
    return Field(name, expression, shown, conversion)


def _annotated(
    mapper: orm.Mapper[t.Any], name: str, expression: t.Any, labelled: t.Any
) -> tuple[t.Any, t.Any]:
    """Return the expression of a hybrid property, and its label, with the type that
    its Python function is annotated with, if it has one.
    """
    descriptor: t.Any = mapper.all_orm_descriptors[name]
    type_ = annotated_type(getattr(descriptor, "fget", None))

    if type_ is None:
        return expression, labelled

    typed = sa.type_coerce(labelled.element, type_)
    return typed, sa.label(name, typed)


def _has_comparator(prop: orm.ColumnProperty[t.Any], type_: t.Any) -> bool:
    """Return ``True`` if code of the application may look at compared values."""
    return prop.comparator_factory is not orm.ColumnProperty.Comparator or any(
        name in vars(base)
        for base in type(type_).__mro__
        if not base.__module__.startswith("sqlalchemy.")
        for name in ("coerce_compared_value", "comparator_factory")
    )


def _conversion(
    mapper: orm.Mapper[t.Any],
    name: str,
    expression: t.Any,
    options: FieldOptions,
    dialect: sa.Dialect | None,
) -> Conversion:
    conversion = conversion_of(expression.type, dialect)
    converter, class_ = converter_for(options.converters, name, expression.type)

    if converter is not None:
        return converted(conversion or OPAQUE, converter, class_)

    if conversion is None:
        raise ValueError(
            f"'{mapper.class_.__name__}.{name}' is of type {expression.type!r}, which"
            f" has no form on the wire. Leave it out: exclude=['{name}'], or a name"
            " that begins with an underscore."
        )

    return conversion


def _is_kept_by_mapper(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
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


def _is_required(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    return not (
        column.nullable
        or _has_default(mapper, column)
        or _is_kept_by_mapper(mapper, column)
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


class HybridColumn(sa.ColumnOperators):
    """The column of a hybrid property, compared by its comparator where that can, and
    by the type of its expression otherwise.

    :param comparator: The attribute of the model.
    :param expression: The expression that is selected.
    """

    def __init__(self, comparator: t.Any, expression: sa.ColumnElement[t.Any]) -> None:
        self._comparator = comparator
        self._expression = expression
        self.type = expression.type
        """The type of the expression."""

    def __clause_element__(self) -> sa.ColumnElement[t.Any]:
        """Return the expression that functions of SQL are called with."""
        return self._expression

    def operate(self, op: OperatorType, *other: t.Any, **options: t.Any) -> t.Any:
        """Return the condition of an operator."""
        # A comparator has the operators that it changes, and SQLAlchemy's raise this
        # error for all others.
        try:
            return op(self._comparator, *other, **options)
        except NotImplementedError:
            return op(self._expression, *other, **options)
