"""Types of decimal numbers that read back as they are stored."""

from __future__ import annotations

import typing as t
from decimal import Context, Decimal

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

MAX_PRECISION: t.Final = 18
"""The number of digits that an integer of SQLite holds."""

MAX_INTEGER: t.Final = 2**63
"""The lowest integer that is too great for SQLite."""

MAX_EXACT: t.Final = 2**53
"""The number up to which all whole numbers are floats."""

EXACT: t.Final = Context(prec=3000)
"""The context of calculations that keep all digits."""


class ExactNumeric(TypeDecorator[Decimal]):
    """A ``NUMERIC`` column that also keeps all digits on SQLite, which stores the other
    ones as floats. There, it holds integers of the last decimal place: ``9.90`` with a
    scale of 2 is stored as 990, so that the database compares, sorts and sums exactly.

    Multiply and divide its values in Python: SQLite would multiply the integers.

    :param precision: The number of digits.
    :param scale: The number of those after the decimal point.
    :raises ValueError: The precision is not between 1 and 18, or the scale not between
        0 and the precision.
    """

    # Migrations that Alembic writes name the type by its module.
    __module__ = "flask_records"

    impl = sa.Numeric
    cache_ok = True

    def __init__(self, precision: int, scale: int) -> None:
        if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise ValueError(
                f"ExactNumeric({precision}, {scale}) needs a precision from 1 to"
                f" {MAX_PRECISION}, and a scale from 0 to the precision."
            )

        super().__init__(precision, scale)
        self.precision, self.scale, self.asdecimal = precision, scale, True

    def load_dialect_impl(self, dialect: sa.Dialect) -> t.Any:
        """Return the type on a database."""
        plain = sa.BigInteger() if dialect.name == "sqlite" else self.impl_instance
        return dialect.type_descriptor(plain)

    def process_bind_param(self, value: t.Any, dialect: sa.Dialect) -> t.Any:
        """Return a number as it is stored."""
        if value is None or dialect.name != "sqlite":
            return value

        number = Decimal(repr(value) if isinstance(value, float) else value)
        scaled = number.scaleb(self.scale, EXACT)
        # A query may compare with more decimal places, or with more than fits.
        is_stored = scaled == int(scaled) and abs(scaled) < MAX_INTEGER
        return int(scaled) if is_stored else float(scaled)

    def process_result_value(self, value: t.Any, dialect: sa.Dialect) -> t.Any:
        """Return a stored number as a decimal."""
        if value is None or dialect.name != "sqlite":
            return value

        return Decimal(value).scaleb(-self.scale, EXACT)


class ShortestDecimal(TypeDecorator[Decimal]):
    """Floats, read as the shortest decimals that stand for them."""

    impl = sa.Float
    cache_ok = True

    def process_result_value(self, value: t.Any, dialect: sa.Dialect) -> t.Any:
        """Return a decimal."""
        return None if value is None else shortest_decimal(value)


def shortest_decimal(value: t.Any) -> Decimal:
    """Return the shortest decimal that stands for a float."""
    number = float(value)
    # The decimal of a whole number would end in a zero.
    is_short = number.is_integer() and abs(number) < MAX_EXACT
    return Decimal(int(number) if is_short else repr(number))
