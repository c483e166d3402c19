"""The fields of a model: the one door from a name on the wire to a column."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.hybrid import HybridExtensionType

from ..errors import BadRequest
from .values import cast
from .values import Conversion
from .values import conversion_of

SHOWN_LENGTH: t.Final = 100
"""How many characters of a wrong value an error shows."""


@dataclass(frozen=True)
class Field:
    """One value of a record, and the column it comes from."""

    name: str
    """The name of the model's attribute, on the wire too."""

    column: t.Any
    """The expression that is filtered and sorted."""

    selected: t.Any
    """The expression that is selected."""

    conversion: Conversion
    """How values are read."""

    is_writable: bool = False
    """Whether a body may name the field."""

    is_required: bool = False
    """Whether a new record has to have a value."""

    is_nullable: bool = True
    """Whether the column can be null."""

    has_default: bool = False
    """Whether a new record gets a value if it is given none."""

    def compared(self, value: t.Any) -> t.Any:
        """Return a value of a query as one of the column's type.

        :raises BadRequest: It can't be cast. The message names the field and the value.
        """
        try:
            return cast(self.conversion, value, in_query=True)
        except ValueError as error:
            raise BadRequest(
                f"'{self.name}' can't be {shown(value)}, which {error}.",
                errors={self.name: str(error)},
            ) from error

    def stored(self, value: t.Any) -> t.Any:
        """Return a value of a body as one of the column's type.

        :raises ValueError: It can't be cast or the column can't hold it, with a phrase
            that says why.
        """
        value = cast(self.conversion, value, in_query=False)

        if value is not None:
            self.conversion.check(value)

        return value


class Fields:
    """The fields of a model that one kind of caller knows of.

    The fields are the mapped columns, column properties and hybrid properties of the
    model, except those whose name begins with an underscore, which is Python's way to
    say that they are private. The identifier field may have one.

    :param model: The mapped class.
    :param id: The name of the identifier field. The primary key by default.
    :param hidden: Fields that do not exist for this caller. They can still be written.
    :param readonly: Fields that can't be written.
    :raises ValueError: A name is not a field of the model, or the model has a primary
        key of several columns and no ``id`` is given.
    """

    def __init__(
        self,
        model: type[t.Any],
        id: str | None = None,
        hidden: Collection[str] = (),
        readonly: Collection[str] = (),
    ) -> None:
        self.model = model
        self.mapper: orm.Mapper[t.Any] = sa.inspect(model)
        id = id or self._primary_key_name()
        every = {field.name: field for field in _fields_of(self.mapper, id, readonly)}
        _check_names(model, every, (id, *hidden, *readonly))

        self.id = every[id]
        """The identifier field."""
        self.fixed = frozenset({id, *self._names_of(self.mapper.primary_key)})
        """The names of the fields that a written record keeps."""
        self._every = every
        self._hidden = frozenset(hidden)
        self._readable = {
            name: field for name, field in every.items() if name not in self._hidden
        }
        self.names = frozenset(self._readable)
        """The names of the fields that can be read."""

    def __iter__(self) -> t.Iterator[Field]:
        """Yield the fields that can be read."""
        return iter(self._readable.values())

    def __getitem__(self, name: str) -> Field:
        """Return a field that can be read.

        :raises BadRequest: There is no such field, as far as the caller can tell.
        """
        try:
            return self._readable[name]
        except KeyError:
            raise BadRequest(
                f"'{name}' is not a field.", errors={name: "is not a field"}
            ) from None

    def ordered(self, name: str) -> Field:
        """Return a field that can be sorted by, or compared with less and greater.

        :raises BadRequest: There is no such field, or it has no order.
        """
        field = self[name]

        if not field.conversion.is_ordered:
            raise BadRequest(
                f"'{name}' has no order.", errors={name: "can't be sorted or compared"}
            )

        return field

    def selected(self, names: Iterable[str] | None) -> list[Field]:
        """Return the fields to select: those listed and the identifier.

        :param names: The names listed, or ``None`` for all.
        :raises BadRequest: A name is not a field.
        """
        if names is None:
            return list(self._readable.values())

        chosen = {name: self[name] for name in names}
        return list({self.id.name: self.id, **chosen}.values())

    def written(self, name: str) -> Field | None:
        """Return a field that a body may name, or ``None``."""
        field = self._every.get(name)
        return field if field is not None and field.is_writable else None

    def values(
        self, data: Mapping[str, t.Any], *, skip: Collection[str] = (), new: bool
    ) -> tuple[dict[str, t.Any], dict[str, str]]:
        """Return the values that a body gives, by field, and what is wrong with the
        others, by field.

        :param data: The body.
        :param skip: Fields to ignore.
        :param new: Whether the body is that of a new record, where null asks for the
            default.
        """
        values: dict[str, t.Any] = {}
        errors: dict[str, str] = {}

        for name, value in data.items():
            if name in skip:
                continue

            field = self.written(name)

            if field is None:
                errors[name] = self._why_not_written(name)
                continue

            try:
                value = field.stored(value)
            except ValueError as error:
                errors[name] = str(error)
                continue

            if value is not None or field.is_nullable:
                values[name] = value
            elif not (new and field.has_default):
                errors[name] = "is required"

        return values, errors

    def missing(self, values: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and does not have.

        :param values: The names of the fields that it has.
        """
        return [
            field.name
            for field in self._every.values()
            if field.is_required and field.name not in values
        ]

    def replaceable(self) -> Iterable[Field]:
        """Yield the fields that an update sets to null or their default where the body
        does not name them. A caller can't repeat what he can't read, so that hidden
        fields stay.
        """
        for field in self._readable.values():
            if field.is_writable and field.name not in self.fixed:
                yield field

    def _why_not_written(self, name: str) -> str:
        return "is read-only" if name in self._readable else "is not a field"

    def _primary_key_name(self) -> str:
        names = self._names_of(self.mapper.primary_key)

        if len(names) > 1:
            raise ValueError(
                f"'{self.model.__name__}' has a primary key of several columns. Name"
                " the identifier field in 'id'."
            )

        return names[0]

    def _names_of(self, columns: Iterable[t.Any]) -> list[str]:
        return [self.mapper.get_property_by_column(column).key for column in columns]


def shown(value: t.Any) -> str:
    """Return a value for an error message, shortened.

    :param value: The value that a client sent.
    """
    text = value if isinstance(value, str) else repr(value)

    if len(text) > SHOWN_LENGTH:
        text = f"{text[:SHOWN_LENGTH]}..."

    return f"'{text}'"


def _check_names(
    model: type[t.Any], known: Mapping[str, Field], names: Iterable[str]
) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"'{name}' is not a field of '{model.__name__}'.")


def _fields_of(
    mapper: orm.Mapper[t.Any], id: str, readonly: Collection[str]
) -> Iterable[Field]:
    for prop in mapper.column_attrs:
        if prop.key == id or not prop.key.startswith("_"):
            yield _field_of_column(mapper, prop, prop.key in readonly)

    for name, descriptor in mapper.all_orm_descriptors.items():
        is_hybrid = descriptor.extension_type is HybridExtensionType.HYBRID_PROPERTY

        if is_hybrid and not str(name).startswith("_"):
            yield _field_of_hybrid(mapper, str(name))


def _field_of_column(
    mapper: orm.Mapper[t.Any], prop: orm.ColumnProperty[t.Any], readonly: bool
) -> Field:
    expression = getattr(mapper.class_, prop.key)
    conversion = _conversion(mapper, prop.key, expression)
    column = prop.columns[0]

    if not isinstance(column, sa.Column):
        return Field(prop.key, expression, expression, conversion)

    writable = not readonly and not _is_kept_by_mapper(mapper, column)
    return Field(
        prop.key,
        expression,
        _selected(prop.key, expression),
        conversion,
        is_writable=writable,
        is_required=_is_required(mapper, column),
        is_nullable=bool(column.nullable),
        has_default=_has_default(column),
    )


def _field_of_hybrid(mapper: orm.Mapper[t.Any], name: str) -> Field:
    try:
        expression = getattr(mapper.class_, name)
        selected = sa.label(name, expression)
    except Exception as error:
        raise ValueError(
            f"The hybrid property '{name}' of '{mapper.class_.__name__}' has no SQL"
            " expression. Give it one, or make it a plain property."
        ) from error

    return Field(name, expression, selected, _conversion(mapper, name, expression))


def _conversion(mapper: orm.Mapper[t.Any], name: str, expression: t.Any) -> Conversion:
    conversion = conversion_of(expression.type)

    if conversion is None:
        raise ValueError(
            f"'{mapper.class_.__name__}.{name}' is of type {expression.type!r}, which"
            " has no form on the wire. Rename it to begin with an underscore to leave"
            " it out."
        )

    return conversion


def _selected(name: str, expression: t.Any) -> t.Any:
    # An enum goes over the wire as the text that the database holds.
    if isinstance(expression.type, sa.Enum):
        return sa.type_coerce(expression, sa.String()).label(name)

    return expression


def _is_kept_by_mapper(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    identity = column.identity
    return (
        column is mapper.polymorphic_on
        or column is mapper.version_id_col
        or column.computed is not None
        or (identity is not None and bool(identity.always))
    )


def _has_default(column: sa.Column[t.Any]) -> bool:
    return (
        column.default is not None
        or column.server_default is not None
        or (column.primary_key and _is_generated(column))
    )


def _is_required(mapper: orm.Mapper[t.Any], column: sa.Column[t.Any]) -> bool:
    return not (
        column.nullable or _has_default(column) or _is_kept_by_mapper(mapper, column)
    )


def _is_generated(column: sa.Column[t.Any]) -> bool:
    is_generated = column.table.autoincrement_column is column
    return is_generated or bool(column.foreign_keys)
