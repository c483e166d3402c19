"""One field of a record."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import sqlalchemy as sa

from ..errors import BadRequest
from .values import cast
from .values import Conversion

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
    """Whether the field can be written at all."""

    is_readonly: bool = False
    """Whether a client can't write it."""

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
            read = cast(self.conversion, value, in_query=True)
        except ValueError as error:
            raise BadRequest(
                f"'{self.name}' can't be {shown(value)}, which {error}.",
                errors={self.name: str(error)},
            ) from error

        if self.conversion.is_foreign and read is not None:
            return sa.cast(sa.literal(read, sa.Text), self.column.type)

        return read

    def stored(self, value: t.Any) -> t.Any:
        """Return a value of a body as one of the column's type.

        :raises ValueError: It can't be cast or the column can't hold it, with a phrase
            that says why.
        """
        value = cast(self.conversion, value, in_query=False)

        if value is not None:
            self.conversion.check(value)

        return value


def shown(value: t.Any) -> str:
    """Return a value for an error message, shortened.

    :param value: The value that a client sent.
    """
    text = value if isinstance(value, str) else repr(value)

    if len(text) > SHOWN_LENGTH:
        text = f"{text[:SHOWN_LENGTH]}..."

    return f"'{text}'"
