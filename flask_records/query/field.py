"""One field of a record."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa

from ..errors import BadRequest
from .bounds import shortened
from .dialects import Returned
from .values import anything
from .values import cast
from .values import Conversion
from .values import is_float
from .values import is_json


# Two are the same only if they are one, which makes them quick keys of statements.
@dataclass(frozen=True, eq=False)
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

    is_usual: bool = False
    """Whether this is a column that SQLAlchemy itself compares with values."""

    has_comparator: bool = False
    """Whether this is a column that a comparator of the application compares."""

    @cached_property
    def is_bindable(self) -> bool:
        """Whether the SQL of a comparison is the same for all values but null."""
        type_ = self.column.type
        return self.is_usual and not self.conversion.is_foreign and not is_json(type_)

    def returned(self, column: sa.Column[t.Any]) -> t.Any:
        """Return what a statement that writes returns for this field, the same that
        :attr:`selected` gives.

        :param column: The column of the table that the field comes from.
        """
        if is_float(column.type):
            return Returned(column)

        return selected(self.name, column)

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
        conversion = self.conversion
        value = cast(conversion, value, in_query=False)

        if conversion.check is not anything and value is not None:
            conversion.check(value)

        return value


def selected(name: str, expression: t.Any) -> t.Any:
    """Return what is selected to show an expression.

    :param name: The name of the field.
    :param expression: The column, or the attribute of the model.
    """
    # An enum goes over the wire as the text that the database holds.
    if isinstance(expression.type, sa.Enum):
        return sa.type_coerce(expression, sa.String()).label(name)

    return expression


def shown(value: t.Any) -> str:
    """Return a value for an error message, shortened.

    :param value: The value that a client sent.
    """
    return f"'{shortened(value if isinstance(value, str) else repr(value))}'"
