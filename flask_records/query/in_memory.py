"""Queries of records that are in memory."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial

from ..errors import BadRequest
from .bounds import shortened
from .syntax import Comparison
from .syntax import items_of
from .syntax import Query
from .syntax import Syntax

if t.TYPE_CHECKING:
    from ..typing import Record
    from .syntax import Condition

    Test: t.TypeAlias = Callable[[Record], bool]


def _texts(value: t.Any) -> list[str | None]:
    items = items_of(value)
    return [_text(item) for item in ([value] if items is None else items)]


def _text(value: t.Any) -> str | None:
    # A query string has text in place of numbers.
    return None if value is None else str(value)


def _rank(name: str, record: Record) -> tuple[int, t.Any]:
    """Return what a record is sorted by: null, then numbers, then texts."""
    value = record.get(name)
    return (0, 0) if value is None else (1 + isinstance(value, str), value)


COMPARISONS: t.Final[Mapping[str, Callable[[str | None, t.Any], bool]]] = {
    "$eq": lambda text, value: text == _text(value),
    "$ne": lambda text, value: text != _text(value),
    "$in": lambda text, value: text in _texts(value),
    "$nin": lambda text, value: text not in _texts(value),
}
"""The operators below a field. Values are equal if their texts are."""

GROUPS: t.Final = {"$and": all, "$or": any}
"""The groups of conditions."""

SYNTAX: t.Final = Syntax(tuple(COMPARISONS), tuple(GROUPS))
"""The names that queries may use."""


class InMemory:
    """Finds records that are in memory, by equality.

    :param path: The path of the service, for messages.
    :param fields: The names that queries may use.
    """

    def __init__(self, path: str, fields: Collection[str]) -> None:
        self._path = path
        self._fields = fields

    def parse(self, query: Record) -> Query:
        """Return a query, parsed.

        :raises BadRequest: It is not understood.
        """
        parsed = Query.parse(query, SYNTAX)
        names = [name for name, _ in parsed.sort] + list(parsed.select or ())

        for name in names:
            self._check(name)

        return parsed

    def test(self, query: Query) -> Test:
        """Return a function that tells whether a record meets a query.

        :raises BadRequest: It names a field that is not there.
        """
        return self._all(query.where)

    def sorted(self, records: Sequence[Record], query: Query) -> Sequence[Record]:
        """Return records in the order of a query."""
        for name, is_descending in reversed(query.sort):
            ranks = partial(_rank, name)
            records = sorted(records, key=ranks, reverse=is_descending)

        return records

    def _all(self, conditions: Sequence[Condition]) -> Test:
        tests = [self._test_of(condition) for condition in conditions]
        return lambda record: all(test(record) for test in tests)

    def _test_of(self, condition: Condition) -> Test:
        if not isinstance(condition, Comparison):
            combine = GROUPS[condition.operator]
            tests = [self._test_of(term) for term in condition.terms]
            return lambda record: combine(test(record) for test in tests)

        self._check(condition.field)
        name, value = condition.field, condition.value
        compare = COMPARISONS[condition.operator]
        return lambda record: compare(_text(record.get(name)), value)

    def _check(self, name: str) -> None:
        if name not in self._fields:
            raise BadRequest(f"'{shortened(name)}' is not a field of '{self._path}'.")
