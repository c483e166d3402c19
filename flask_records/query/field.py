"""One field of a record."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa

from ..errors import BadRequest
from ..problems import Problem
from .bounds import shortened
from .casts import of_json_text
from .values import (
    Cast,
    cast,
    cast_and_check,
    Conversion,
)


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
