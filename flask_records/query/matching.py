"""Decides which records meet a query, without asking the database."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import typing as t
import uuid
from collections.abc import Mapping
from functools import partial

import sqlalchemy as sa

from ..errors import BadRequest
from .operators import Listed, many, ORDERS
from .syntax import Group, items_of, NOT, Query
from .value_keys import exactly, key_of, may_equal, PLAIN, UNKNOWN
from .values import is_json

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from ..typing import Record
    from .field import Field
    from .fields import Fields
    from .syntax import Condition, Syntax
    from .values import Cast

    Test: t.TypeAlias = Callable[["CastRecord", Sequence[t.Any]], bool | None]
    """Returns ``True`` if a record meets a condition with some values, or ``None``."""

    IndexTest: t.TypeAlias = Callable[[int], bool | None]
    """Returns ``True`` if the record at an index meets a condition, or ``None``."""

    Make: t.TypeAlias = Callable[[Field, int], Test]

EXACT: t.Final = frozenset(
    (type(None), bool, int, float, str, decimal.Decimal, dt.date, uuid.UUID)
)
"""The types whose values are the same if their ``repr`` is."""


class Matching:
    """Decides which of some records meet queries, without asking the database.

    A query is parsed once for all queries of its shape: those that differ from it in
    their values only. A value of a record is cast once for all queries.

    :param fields: The fields that queries may name.
    :param syntax: The names that queries may use.
    :param records: The records, typed or as they are in JSON.
    """

    def __init__(
        self, fields: Fields, syntax: Syntax, records: Sequence[t.Any]
    ) -> None:
        self._fields = fields
        self._syntax = syntax
        self._records = [CastRecord(record) for record in records]
        self._shapes: dict[Hashable, _Shape] = {}

    def test(self, query: Record) -> IndexTest:
        """Return a function of the index of a record that returns ``True`` if the
        record meets a query, or ``None`` if only the database can tell: a field is not
        in the record or has a type of its own, or an operator is not a built-in one.

        :raises BadRequest: The query is not understood.
        """
        _, make = self.keyed(query)
        return make()

    def keyed(self, query: Record) -> tuple[Hashable, Callable[[], IndexTest]]:
        """Return a key that equal queries have in common, and no others, and a function
        that makes the test of the query.

        :raises BadRequest: The query is not understood.
        """
        split = _Split()
        key = split.of_query(query)
        shape = self._shapes.get(key)

        if shape is None:
            shape = self._shapes[key] = self._shape(query)

        return split.key(shape), partial(shape.bound, split.values, self._records)

    def field(self, name: str) -> Field | None:
        """Return a field, or ``None`` if only the database can compare its values.

        :raises BadRequest: There is no such field.
        """
        field = self._fields[name]
        return None if _is_compared_otherwise(field, "$eq") else field

    def key(self, field: Field, index: int) -> Hashable:
        """Return the key of the value of a record, or :data:`UNKNOWN`."""
        value = self._records[index][field]
        return UNKNOWN if value is UNKNOWN else key_of(value)

    def _shape(self, query: Record) -> _Shape:
        casts: list[Cast] = []
        conditions = Query.parse(query, self._syntax).where
        tests = [_test_of(each, self._fields, casts) for each in conditions]
        return _Shape(_all_of(tests), casts)


class _Shape:
    """A query without its values.

    :param test: Returns ``True`` if a record meets it with some values.
    """

    def __init__(self, test: Test, casts: Sequence[Cast]) -> None:
        self._test = test
        self._casts = casts

    def bound(
        self, values: Sequence[t.Any], records: Sequence[CastRecord]
    ) -> IndexTest:
        """Return a test of records with some values.

        :param values: The values, not yet cast.
        """
        test = self._test
        cast_values = [
            cast(value) for cast, value in zip(self._casts, values, strict=True)
        ]
        return lambda index: test(records[index], cast_values)


def key_of_query(query: Record) -> Hashable:
    """Return a key that equal queries have in common, and no others."""
    split = _Split()
    return split.key(split.of_query(query))


class _Split:
    """Takes the values out of a query, in the order of the comparisons that
    :meth:`.Query.parse` returns. The rest is the shape.
    """

    def __init__(self) -> None:
        self.values: list[t.Any] = []
        self.is_exact = True
        """``True`` if values with the same ``repr`` are the same values."""

    def key(self, shape: Hashable) -> Hashable:
        """Return a key of a query with the values.

        :param shape: Stands for the shape of the query.
        """
        return (shape, repr(self.values)) if self.is_exact else object()

    def of_query(self, query: Mapping[str, t.Any]) -> Hashable:
        """Return the shape of a query."""
        return tuple([(name, self._of(name, value)) for name, value in query.items()])

    def _of(self, name: str, value: t.Any) -> Hashable:
        if not name.startswith("$"):
            return self._of_field(value)

        if name == NOT and isinstance(value, Mapping):
            return self.of_query(value)

        items = items_of(value)

        if items is None or not all(isinstance(item, Mapping) for item in items):
            # It is a limit, or an error.
            return repr(value)

        return tuple([self.of_query(item) for item in items])

    def _of_field(self, value: t.Any) -> Hashable:
        if type(value) in EXACT:
            self.values.append(value)
            return "$eq"

        items = items_of(value)

        if items is not None:
            self._add(items)
            return "$in"

        if not isinstance(value, Mapping):
            self._add(value)
            return "$eq"

        return tuple(
            [(name, self._of_operator(name, item)) for name, item in value.items()]
        )

    def _of_operator(self, name: str, value: t.Any) -> Hashable:
        if name == NOT:
            return self._of_field(value)

        self._add(value)
        return None

    def _add(self, value: t.Any) -> None:
        self.values.append(value)
        items = value if type(value) is list else [value]
        self.is_exact &= all([type(item) in EXACT for item in items])


class CastRecord(dict["Field", t.Any]):
    """The values of a record by field, each of which is cast on its first use."""

    def __init__(self, record: t.Any) -> None:
        super().__init__()
        self._record = record if isinstance(record, dict) else {}

    def __missing__(self, field: Field) -> t.Any:
        value = self._record.get(field.name, UNKNOWN)

        try:
            cast = value if value is UNKNOWN else exactly(field.compared(value))
        except BadRequest:
            # The database has a value that no client can write.
            cast = UNKNOWN

        self[field] = cast
        return cast


def _test_of(condition: Condition, fields: Fields, casts: list[Cast]) -> Test:
    """Return the test of a condition, and add the casts of the values in it."""
    if isinstance(condition, Group):
        terms = [_test_of(term, fields, casts) for term in condition.terms]
        return GROUPS[condition.operator](terms)

    name = condition.operator
    field = (fields.ordered if name in ORDERS else fields.__getitem__)(condition.field)

    if name not in COMPARISONS or _is_compared_otherwise(field, name):
        # Only the database can tell.
        casts.append(lambda value: None)
        return lambda record, values: None

    casts.append(_many(field) if name in ("$in", "$nin") else _one(field))
    return COMPARISONS[name](field, len(casts) - 1)


def _is_compared_otherwise(field: Field, operator: str) -> bool:
    """Return ``True`` if only the database can compare the values of a field."""
    type_ = field.column.type
    # MariaDB has another order of UUIDs, but the same equality.
    is_exact = isinstance(type_, sa.Uuid) and operator not in ORDERS
    is_own = field.conversion.compared_by_database and not is_exact
    is_vague = isinstance(type_, sa.LargeBinary) or is_json(type_)
    return not field.is_usual or is_own or is_vague


def _one(field: Field) -> Cast:
    return lambda value: exactly(field.compared(value))


def _many(field: Field) -> Cast:
    def cast(value: t.Any) -> t.Any:
        values = list(map(exactly, many(field, value)))

        if UNKNOWN in values:
            return UNKNOWN

        others = [each for each in values if each is not None]
        is_plain = all([isinstance(each, PLAIN) for each in others])
        has_null = len(others) < len(values)
        return Listed(frozenset(others) if is_plain else others, has_null)

    return cast


def _equal(field: Field, place: int) -> Test:
    def test(record: CastRecord, values: Sequence[t.Any]) -> bool | None:
        value, other = record[field], values[place]

        if value is UNKNOWN or other is UNKNOWN:
            return None

        if value is None or other is None:
            return value is other

        if isinstance(value, PLAIN):
            return bool(value == other)

        if not isinstance(value, str):
            return None

        # Text that differs may be the same without regard to case, or to spaces.
        return value == other or (None if may_equal(value, other) else False)

    return test


def _in(field: Field, place: int) -> Test:
    def test(record: CastRecord, values: Sequence[t.Any]) -> bool | None:
        value, listed = record[field], values[place]

        if value is UNKNOWN or listed is UNKNOWN:
            return None

        if value is None:
            return bool(listed.has_null)

        if not listed.values:
            return False

        if isinstance(value, PLAIN):
            return value in listed.values

        if not isinstance(value, str):
            return None

        # As above.
        return value in listed.values or (
            None if any([may_equal(value, each) for each in listed.values]) else False
        )

    return test


def _ordered(compare: Callable[[t.Any, t.Any], bool]) -> Make:
    def make(field: Field, place: int) -> Test:
        def test(record: CastRecord, values: Sequence[t.Any]) -> bool | None:
            value, other = record[field], values[place]

            if value is UNKNOWN or other is UNKNOWN:
                return None

            if value is None or other is None:
                return False

            # Text has another order in each database, and an enum none in Python.
            is_plain = isinstance(value, PLAIN) and not isinstance(value, enum.Enum)
            return compare(value, other) if is_plain else None

        return test

    return make


def _all_of(tests: Sequence[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]

    def test(record: CastRecord, values: Sequence[t.Any]) -> bool | None:
        answer: bool | None = True

        for each in tests:
            result = each(record, values)

            if result is False:
                return False

            if result is None:
                answer = None

        return answer

    return test


def _not(test: Test) -> Test:
    def negated(record: CastRecord, values: Sequence[t.Any]) -> bool | None:
        result = test(record, values)
        return None if result is None else not result

    return negated


def _any_of(tests: Sequence[Test]) -> Test:
    return _not(_all_of([_not(test) for test in tests]))


GROUPS: dict[str, Callable[[Sequence[Test]], Test]] = {
    "$and": _all_of,
    "$or": _any_of,
    "$nor": lambda tests: _not(_any_of(tests)),
    NOT: lambda tests: _not(_all_of(tests)),
}

COMPARISONS: dict[str, Make] = {
    "$eq": _equal,
    "$ne": lambda field, place: _not(_equal(field, place)),
    "$in": _in,
    "$nin": lambda field, place: _not(_in(field, place)),
    **{name: _ordered(compare) for name, compare in ORDERS.items()},
}
"""The makers of tests of a field and the place of the value."""
