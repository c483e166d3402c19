"""One field of a record, or an identifier that is made of several."""

from __future__ import annotations

import base64
import datetime as dt
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from urllib.parse import quote, unquote

import sqlalchemy as sa

from ..errors import BadRequest
from ..problems import Problem
from .bounds import shortened
from .casts import moment_text, of_json_text
from .values import Cast, cast, cast_and_check, Conversion

SEPARATOR: t.Final = ","
"""Stands between the parts of an identifier."""

UNQUOTED: t.Final = " !$'()*+:;=@[]"
"""The characters of a part that are not percent-encoded, besides letters and digits."""

TEXTS: t.Final[dict[t.Any, Callable[[t.Any], str]]] = {
    dt.datetime: moment_text,
    bytes: lambda value: base64.b64encode(value).decode(),
}
"""The texts of the parts of identifiers that ``str()`` does not give, by type."""


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

    is_writable: bool = False
    """``True`` if bodies may name the field."""

    is_counted: bool = False
    """``True`` for a primary key that the database counts up."""

    is_required: bool = False
    """``True`` if a new record needs a value."""

    is_nullable: bool = True
    """``True`` if the column may be null."""

    has_default: bool = False
    """``True`` if the column has a default for new records."""

    is_usual: bool = False
    """``True`` for a column that SQLAlchemy itself compares with values, without a
    comparator of the application.
    """

    @cached_property
    def is_bindable(self) -> bool:
        """``True`` if the SQL of a comparison is the same for all values but null."""
        return self.is_usual and not self.conversion.is_foreign

    def at(self, entity: t.Any) -> t.Any:
        """Return the expression that is filtered and sorted on an alias of the model.
        The name may be the end of a path.
        """
        return getattr(entity, self.name.rpartition(".")[2])

    def compared(self, value: t.Any) -> t.Any:
        """Cast a value of a query to the column's type.

        :raises BadRequest: It can't be cast. The message names the field and the value.
        """
        try:
            result = self._cast_in_query(value)
        except ValueError as error:
            raise BadRequest(
                f"'{self.name}' can't be {shown(value)}, which {error}.",
                errors={self.name: Problem.of(error)},
            ) from error

        if self.conversion.is_foreign and result is not None:
            return sa.cast(sa.literal(result, sa.Text), self.column.type)

        return result

    def _cast_in_query(self, value: t.Any) -> t.Any:
        conversion = self.conversion

        if isinstance(value, str) and conversion.reads_json:
            is_null = value in conversion.null_texts
            value = None if is_null else of_json_text(value)

        return cast(conversion, value)

    @cached_property
    def stored(self) -> Cast:
        """Casts a value of a body, or raises :class:`ValueError` with the reason."""
        return cast_and_check(self.conversion)


def shown(value: t.Any) -> str:
    """Return a value as it stands in an error message, shortened."""
    return f"'{shortened(value if isinstance(value, str) else repr(value))}'"


@dataclass(frozen=True, eq=False)
class CompositeField(Field):
    """An identifier that is made of several fields, compared as a tuple of these."""

    parts: tuple[Field, ...] = ()
    """The fields, in the order of the primary key."""

    @classmethod
    def of(cls, name: str, parts: Sequence[Field]) -> t.Self:
        """Return the identifier that is made of some fields.

        :param name: Its name on the wire.
        """
        conversion = Conversion(
            partial(_cast_parts, parts),
            null_texts=(),
            is_ordered=False,
            is_sorted=False,
            schema={"type": "string"},
        )
        column = sa.tuple_(*[part.column for part in parts])
        return cls(
            name, column, None, conversion, is_nullable=False, parts=tuple(parts)
        )

    def at(self, entity: t.Any) -> t.Any:
        """Return the fields on an alias of the model."""
        return sa.tuple_(*[part.at(entity) for part in self.parts])

    def text(self, record: dict[str, t.Any]) -> str | None:
        """Return the identifier of a record, by which its parts are found again, or
        ``None`` if one is null.
        """
        values = [record[part.name] for part in self.parts]

        if any(value is None for value in values):
            return None

        texts = [TEXTS.get(type(value), str)(value) for value in values]
        return SEPARATOR.join([quote(text, safe=UNQUOTED) for text in texts])


def _cast_parts(parts: Sequence[Field], value: t.Any) -> tuple[t.Any, ...]:
    """Return the values of an identifier: text, or a list of its parts."""
    is_text, values = isinstance(value, str), []
    items = map(unquote, value.split(SEPARATOR)) if is_text else value
    items = list(items) if is_text or isinstance(items, (list, tuple)) else []

    if len(items) == len(parts):
        pairs = zip(parts, items, strict=True)
        values = [cast(part.conversion, item) for part, item in pairs]

    if not values or any(each is None for each in values):
        names = ", ".join(part.name for part in parts)
        raise ValueError(
            Problem(f"is not made of {names}", "type", expected="identifier")
        )

    return tuple(values)
