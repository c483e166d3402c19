"""Types of numbers whose answers read back as the numbers that are stored."""

from __future__ import annotations

import typing as t
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

MAX_EXACT: t.Final = 2**53
"""The number up to which all whole numbers are floats."""


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
