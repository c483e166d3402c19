"""Decides which records meet a query, without asking the database."""

from __future__ import annotations

import datetime as dt
import decimal
import typing as t
import uuid
from collections.abc import Mapping

from ..errors import BadRequest
from .operators import every, GROUPS
from .syntax import resolve
from .where import ResolvedGroup

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from ..typing import Record
    from .field import Field
    from .operators import Syntax
    from .scope import Scope
    from .where import Term

    Test: t.TypeAlias = Callable[["CastRecord"], bool | None]
    """Returns ``True`` if a record meets a condition. ``None`` if it is unknown."""

UNKNOWN: t.Final = object()
"""A value that is not in the record, or that no client can write."""

EXACT: t.Final = frozenset(
    (type(None), bool, int, float, str, decimal.Decimal, dt.date, uuid.UUID)
)
"""The types whose values are the same if their ``repr`` is."""


class Matching:
    """Decides which of some records meet queries, without asking the database. A value
    of a record is cast once for all queries.

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
        self._records = [CastRecord(record) for record in records]

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


class CastRecord(dict["Field", t.Any]):
    """The values of a record by field, each of which is cast on its first use."""

    def __init__(self, record: t.Any) -> None:
        super().__init__()
        self._record = record if isinstance(record, dict) else {}

    def __missing__(self, field: Field) -> t.Any:
        value = self._record.get(field.name, UNKNOWN)

        try:
            cast = value if value is UNKNOWN else field.compared(value)
        except BadRequest:
            # The database has a value that no client can write.
            cast = UNKNOWN

        self[field] = cast
        return cast


def _test(term: Term, values: Iterator[t.Any]) -> Test:
    if isinstance(term, ResolvedGroup):
        tests = [_test(each, values) for each in term.terms]
        join = GROUPS[term.operator].in_python
        return lambda record: join(test(record) for test in tests)

    field, value, compare = term.field, next(values), term.operator.test

    if compare is None or not field.is_usual or field.conversion.compared_by_database:
        return lambda record: None

    def test(record: CastRecord) -> bool | None:
        stored = record[field]
        return None if stored is UNKNOWN else compare(stored, value)

    return test


def key_of_query(query: t.Any) -> Hashable:
    """Return a key that equal queries have in common, and no others."""
    if isinstance(query, Mapping):
        return tuple([(name, key_of_query(query[name])) for name in query])

    if isinstance(query, (list, tuple)):
        return tuple([key_of_query(item) for item in query])

    return repr(query) if type(query) in EXACT else object()
