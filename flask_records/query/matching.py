"""Decides which records meet a query, without asking the database."""

from __future__ import annotations

import typing as t
from collections.abc import Hashable, Mapping

from ..errors import BadRequest
from .operators import every, GROUPS
from .syntax import resolve
from .where import ResolvedGroup

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..typing import Record
    from .operators import Syntax
    from .scope import Scope
    from .where import Term

    Test: t.TypeAlias = Callable[[t.Any], bool | None]
    """Returns ``True`` if a record meets a condition. ``None`` if it is unknown."""


class Matching:
    """Decides which of some records meet queries, without asking the database.

    :param scope: The scope of the application.
    :param syntax: The names that queries may use.
    :param records: The records, typed or as they are in JSON.
    """

    def __init__(
        self,
        scope: Scope,
        syntax: Syntax,
        records: Sequence[t.Any],
    ) -> None:
        self._scope = scope
        self._syntax = syntax
        self._records = records

    def test(self, query: Record) -> Callable[[int], bool | None]:
        """Return a function of the index of a record that returns ``True`` if the
        record meets a query, or ``None`` if only the database can tell: a field is not
        in the record or has a type of its own, or an operator is not a built-in one.

        :raises BadRequest: The query is not understood.
        """
        resolved = resolve(query, self._scope, self._syntax)
        values = iter(resolved.values)
        tests = [_test(term, values) for term in resolved.terms]
        return lambda index: every(test(self._records[index]) for test in tests)


def _test(term: Term, values: Iterator[t.Any]) -> Test:
    if isinstance(term, ResolvedGroup):
        tests = [_test(each, values) for each in term.terms]
        join = GROUPS[term.operator].in_python
        return lambda record: join(test(record) for test in tests)

    field, value, compare = term.field, next(values), term.operator.test

    if compare is None or not field.is_usual or field.conversion.compared_by_database:
        return lambda record: None

    def test(record: t.Any) -> bool | None:
        if not isinstance(record, dict) or field.name not in record:
            return None

        try:
            stored = field.compared(record[field.name])
        except BadRequest:
            # The database has a value that no client can write.
            return None

        return compare(stored, value)

    return test


def key_of_query(query: t.Any) -> Hashable:
    """Return a key that equal queries have in common, and no others."""
    if isinstance(query, Mapping):
        return tuple([(name, key_of_query(query[name])) for name in query])

    if isinstance(query, (list, tuple)):
        return tuple([key_of_query(item) for item in query])

    # An object of the application may be equal to any other.
    return (type(query), query) if isinstance(query, Hashable) else object()
