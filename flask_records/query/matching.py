"""Decides which records meet a query, without asking the database."""

from __future__ import annotations

import typing as t
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial

from .operators import every, GROUPS
from .syntax import resolve
from .where import (
    comparisons_of,
    ResolvedComparison,
    ResolvedGroup,
    ResolvedPath,
    ResolvedQuery,
)

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..typing import Record
    from .operators import Syntax
    from .paths import Relationship
    from .syntax import Paths
    from .where import Term

    Test: t.TypeAlias = Callable[[t.Any], bool | None]
    """Returns ``True`` if a record meets a condition. ``None`` if it is unknown."""

    FindRelated: t.TypeAlias = Callable[
        [Relationship, ResolvedQuery, t.Any], bool | None
    ]


@dataclass(frozen=True, eq=False)
class Matching:
    """Decides which records, typed or in JSON, meet queries, without asking the
    database.
    """

    syntax: Syntax
    """The names that queries may use."""

    paths: Paths
    """The model as the application sees it."""

    find_related: FindRelated
    """Returns ``True`` if the one record at the end of a relationship meets a query,
    for a record that may have been removed, and ``None`` if that is unknown.
    """

    def test(self, query: Record) -> Test:
        """Return a function that returns ``True`` if a record meets a query, or
        ``None`` if only the database knows: a field is not in the record or has a
        type of its own, or an operator is not a built-in one.

        :raises BadRequest: The query is not understood.
        """
        resolved = resolve(query, self.syntax, self.paths)
        values = iter(resolved.values)
        tests = [self._test(term, values) for term in resolved.terms]
        return lambda record: every(test(record) for test in tests)

    def _test(self, term: Term, values: Iterator[t.Any]) -> Test:
        if isinstance(term, ResolvedPath):
            number = len(list(comparisons_of(term.terms)))
            own = [next(values) for _ in range(number)]
            query = ResolvedQuery((), term.terms, own)
            return partial(self.find_related, term.relationship, query)

        if isinstance(term, ResolvedGroup):
            tests = [self._test(each, values) for each in term.terms]
            join = GROUPS[term.operator].in_python
            return lambda record: join(test(record) for test in tests)

        return _build_test(term, next(values))


def _build_test(term: ResolvedComparison, value: t.Any) -> Test:
    compare, fields = term.operator.test, [term.field, *(term.origin or ())[:1]]

    if compare is None or any(
        not each.is_usual or each.conversion.compared_by_database for each in fields
    ):
        return lambda record: None

    def test(record: t.Any) -> bool | None:
        if not isinstance(record, dict) or any(e.name not in record for e in fields):
            return None

        # The text of a document is not JSON text, as the text of a query is.
        try:
            first, *others = [
                each.conversion.read(record[each.name], is_checked=False)
                for each in fields
            ]
        except ValueError:
            # The database has a value that no client can write.
            return None

        # Null equals no other field.
        return None not in others and compare(first, *(others or [value]))

    return test


def key_of_query(query: t.Any) -> Hashable:
    """Return a key that equal queries have in common, and no others."""
    if isinstance(query, Mapping):
        return tuple([(name, key_of_query(query[name])) for name in query])

    if isinstance(query, (list, tuple)):
        return tuple([key_of_query(item) for item in query])

    # An object of the application may be equal to any other.
    return (type(query), query) if isinstance(query, Hashable) else object()
