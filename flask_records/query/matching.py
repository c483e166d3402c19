"""Whether a record meets a query, without asking the database."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import operator
import typing as t
import uuid

import sqlalchemy as sa

from .syntax import Comparison
from .syntax import Group
from .syntax import items_of

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

    from ..typing import Record
    from .fields import Fields
    from .syntax import Condition

ORDERS: dict[str, Callable[[t.Any, t.Any], bool]] = {
    "$lt": operator.lt,
    "$lte": operator.le,
    "$gt": operator.gt,
    "$gte": operator.ge,
}


KNOWN = {"$eq", "$ne", "$in", "$nin", *ORDERS}

PLAIN = (
    *(bool, int, float, decimal.Decimal, dt.date, dt.time, dt.timedelta),
    *(enum.Enum, uuid.UUID),
)
"""The types whose values every database compares alike."""


class Unknown(Exception):
    """Only the database can tell."""


def matches(
    fields: Fields, conditions: Collection[Condition], record: Record
) -> bool | None:
    """Return whether a record meets conditions, or ``None`` if only the database can
    tell: a field is not in the record, or an operator is not one of the built-in ones.

    :param fields: The fields that the conditions may name.
    :param conditions: The conditions, all of which have to hold.
    :param record: The record, typed or as it is in JSON.
    :raises BadRequest: A condition names an unknown field, or a value that is none.
    """
    try:
        return all(_holds(fields, condition, record) for condition in conditions)
    except Unknown:
        return None


def _holds(fields: Fields, condition: Condition, record: Record) -> bool:
    if isinstance(condition, Group):
        return _GROUPS[condition.operator](
            _holds(fields, term, record) for term in condition.terms
        )

    return _compare(fields, condition, record)


_GROUPS: dict[str, Callable[[t.Iterable[bool]], bool]] = {
    "$and": all,
    "$or": any,
    "$nor": lambda terms: not any(terms),
    "$not": lambda terms: not all(terms),
}


def _compare(fields: Fields, condition: Comparison, record: Record) -> bool:
    field, name = fields[condition.field], condition.operator

    if condition.field not in record or name not in KNOWN:
        raise Unknown

    # What they hold has other forms in JSON.
    if isinstance(field.column.type, (sa.JSON, sa.LargeBinary)):
        raise Unknown

    value = field.compared(record[condition.field])

    if name in ("$in", "$nin"):
        items = items_of(condition.value)
        others = [condition.value] if items is None else items
        is_in = any([_is_same(value, field.compared(other)) for other in others])
        return is_in is (name == "$in")

    other = field.compared(condition.value)

    if name in ("$eq", "$ne"):
        return _is_same(value, other) is (name == "$eq")

    # What is text has another order in each database.
    if isinstance(value, str):
        raise Unknown

    return value is not None and other is not None and ORDERS[name](value, other)


def _is_same(value: t.Any, other: t.Any) -> bool:
    """Return whether two values are the same for every database."""
    if value is None or other is None:
        return value is other

    if isinstance(value, PLAIN):
        return bool(value == other)

    # Text that differs may be the same without regard to case, or to spaces.
    if isinstance(value, str) and value == other:
        return True

    raise Unknown
