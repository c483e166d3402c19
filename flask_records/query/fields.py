"""The fields of a model: the one door from a name on the wire to a column."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from .bounds import MAX_ERRORS
from .bounds import shortened
from .field import Field
from .mapped_fields import fields_of


class TrustedName(str):
    """The name of a field in a condition of the application, for which no field is
    hidden. No client can send one.
    """


class Fields:
    """The fields of a model that one kind of caller knows of.

    The fields are the mapped columns, column properties and hybrid properties of the
    model, except those whose name begins with an underscore, which is Python's way to
    say that they are private. The identifier field may have one.

    :param model: The mapped class.
    :param id: The name of the identifier field. The primary key by default.
    :param hidden: Fields that do not exist for this caller. They can still be written.
    :param readonly: Fields that a client can't write.
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
        every = {field.name: field for field in fields_of(self.mapper, id, readonly)}
        _check_names(model, every, (id, *hidden, *readonly))

        self.id = every[id]
        """The identifier field."""
        self.fixed = frozenset({id, *self._names_of(self.mapper.primary_key)})
        """The names of the fields that a written record keeps."""
        self.primary_key = [
            getattr(model, self.mapper.get_property_by_column(column).key)
            for column in self.mapper.primary_key
        ]
        """The columns that tell one record from all others."""
        self._every = every
        self.has_comparators = any(field.has_comparator for field in every.values())
        """Whether a comparator of the application compares a column."""
        self._required = [field.name for field in every.values() if field.is_required]
        self._hidden = frozenset(hidden)
        self._readable = {
            name: field for name, field in every.items() if name not in self._hidden
        }
        self._all = tuple(self._readable.values())
        self.names = frozenset(self._readable)
        """The names of the fields that can be read."""

    def __iter__(self) -> t.Iterator[Field]:
        """Yield the fields that can be read."""
        return iter(self._readable.values())

    def __getitem__(self, name: str) -> Field:
        """Return a field that can be read.

        :raises BadRequest: There is no such field, as far as the caller can tell.
        """
        known = self._every if isinstance(name, TrustedName) else self._readable

        try:
            return known[name]
        except KeyError:
            name = shortened(name)
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

    def selected(self, names: Iterable[str] | None) -> tuple[Field, ...]:
        """Return the fields to select: those listed and the identifier.

        :param names: The names listed, or ``None`` for all.
        :raises BadRequest: A name is not a field.
        """
        if names is None:
            return self._all

        chosen = {name: self[name] for name in names}
        return tuple({self.id.name: self.id, **chosen}.values())

    def written(self, name: str, sent: Collection[str] = ()) -> Field | None:
        """Return a field that a body may name, or ``None``.

        :param name: The name.
        :param sent: The names that a client has sent.
        """
        field = self._every.get(name)
        return field if field and self._is_written(field, sent) else None

    def values(
        self,
        data: Mapping[str, t.Any],
        *,
        sent: Collection[str] = (),
        skip: Collection[str] = (),
        new: bool,
    ) -> tuple[dict[str, t.Any], dict[str, str]]:
        """Return the values that a body gives, by field, and what is wrong with the
        others, by field. One that has more than :data:`.MAX_ERRORS` problems is not
        looked at any further.

        :param data: The body.
        :param sent: The names in it that a client has sent. None by default.
        :param skip: Fields to ignore.
        :param new: Whether the body is that of a new record, where null asks for the
            default.
        """
        values: dict[str, t.Any] = {}
        errors: dict[str, str] = {}

        for name, value in data.items():
            if errors and len(errors) > MAX_ERRORS:
                break

            if name in skip:
                continue

            field = self._every.get(name)

            if field is None or not self._is_written(field, sent):
                errors[shortened(name)] = self._why_not_written(name)
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

    def is_unique(self, name: str) -> bool:
        """Return whether the database lets only one record have a value of a field.

        :param name: The name of a field that can be read.
        """
        prop = self.mapper.attrs.get(name)
        column = prop.columns[0] if isinstance(prop, orm.ColumnProperty) else None

        if not isinstance(column, sa.Column) or not isinstance(column.table, sa.Table):
            return False

        kinds = (sa.UniqueConstraint, sa.PrimaryKeyConstraint)
        constraints = [c for c in column.table.constraints if isinstance(c, kinds)]
        indexes = [index for index in column.table.indexes if index.unique]
        return any(list(one.columns) == [column] for one in (*constraints, *indexes))

    def missing(self, values: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and does not have.

        :param values: The names of the fields that it has.
        """
        return [name for name in self._required if name not in values]

    def replaceable(self) -> Iterable[Field]:
        """Yield the fields that an update sets to null or their default where the body
        does not name them. A caller can't repeat what he can't read or write, so that
        hidden and read-only fields stay.
        """
        for field in self._readable.values():
            is_kept = field.is_readonly or field.name in self.fixed

            if field.is_writable and not is_kept:
                yield field

    def _is_written(self, field: Field, sent: Collection[str]) -> bool:
        return field.is_writable and not (field.is_readonly and field.name in sent)

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


def _check_names(
    model: type[t.Any], known: Mapping[str, Field], names: Iterable[str]
) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"'{name}' is not a field of '{model.__name__}'.")
