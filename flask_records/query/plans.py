"""Statements that read, built once for all queries of the same shape."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from .expressions import conditions
from .expressions import order

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable
    from collections.abc import Sequence

    from .field import Field
    from .fields import Fields
    from .resolution import ResolvedQuery

    Select: t.TypeAlias = sa.Select[t.Any]

ID: t.Final = "records_id"
"""The parameter of the identifier."""

KEYS: t.Final = "records_keys"
"""The parameter of a list of primary keys."""

LIMIT: t.Final = "records_limit"
"""The parameter of the number of records."""

SKIP: t.Final = "records_skip"
"""The parameter of the number of records before them."""

MAX_STATEMENTS: t.Final = 256
"""The number of statements in a cache."""

MAX_WEIGHT: t.Final = 10_000
"""The number of terms and columns that these have together."""

NO_CACHE: t.Final[Mapping[str, t.Any]] = {"compiled_cache": None}
"""The execution options of a statement that SQLAlchemy does not cache."""


class Plan(t.NamedTuple):
    """A statement that is ready to run."""

    statement: t.Any
    """The statement."""

    parameters: t.Any
    """Its parameters, or a list of them for many rows."""

    options: Mapping[str, t.Any] | None = None
    """Its execution options."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns that a statement selects."""

    fields: tuple[Field, ...]
    """The fields of the records."""

    links: tuple[tuple[str, t.Any], ...] = ()
    """The names of relationships to load, and the columns that they are loaded by."""

    primary_key: tuple[t.Any, ...] = ()
    """The columns of the primary key, where they are selected too."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple([field.name for field in self.fields])

    @cached_property
    def key(self) -> Hashable:
        """The key of the columns in a cache."""
        names = tuple([name for name, _ in self.links])
        return self.fields, names, bool(self.primary_key)

    @property
    def columns(self) -> list[t.Any]:
        """The columns, in the order of the attributes above."""
        return [
            *(field.selected for field in self.fields),
            *(column for _, column in self.links),
            *self.primary_key,
        ]

    def keyed(self, primary_key: Sequence[t.Any]) -> Selection:
        """Return the columns, and those of the primary key."""
        return Selection(self.fields, self.links, tuple(primary_key))

    @property
    def size(self) -> int:
        """The number of columns."""
        return len(self.fields) + len(self.links) + len(self.primary_key)


class StatementCache:
    """Statements by shape, the oldest of which are dropped when there are too many or
    when they are too large.

    :param size: The largest number of statements.
    :param weight: The largest number of their terms and columns together.
    """

    def __init__(self, size: int = MAX_STATEMENTS, weight: int = MAX_WEIGHT) -> None:
        self._size = size
        self._weight = weight
        self._statements: dict[Hashable, tuple[t.Any, int]] = {}
        self._total = 0
        self._lock = threading.Lock()

    def get(
        self,
        key: tuple[Hashable, ...],
        build: Callable[[], t.Any],
        columns: int = 0,
        query: ResolvedQuery | None = None,
    ) -> t.Any:
        """Return a statement, built if there is none.

        :param query: The query with its conditions. Without a shape, its statement is
            built for each call.
        """
        if query is not None:
            if not query.has_shape:
                return build()

            key = (*key, query.terms)

        entry = self._statements.get(key)

        if entry is not None:
            return entry[0]

        weight = columns + (query.size if query else 0)
        statement = build()

        with self._lock:
            self._drop(key)

            while self._statements and not self._has_room(weight):
                self._drop(next(iter(self._statements)))

            self._statements[key] = statement, weight
            self._total += weight

        return statement

    def _has_room(self, weight: int) -> bool:
        is_light = self._total + weight <= self._weight
        return is_light and len(self._statements) < self._size

    def _drop(self, key: Hashable) -> None:
        _, weight = self._statements.pop(key, (None, 0))
        self._total -= weight


class Plans:
    """Plans of the reads of one kind of caller."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._cache = StatementCache()
        # SQLAlchemy compares the columns of a statement that it has compiled before
        # with those of an equal one, which a comparator may not be made for.
        self._options = NO_CACHE if fields.has_comparators else None
        self.has_composite_key = len(fields.primary_key) > 1
        """``True`` if the primary key has several columns."""

    def one(self, query: ResolvedQuery, selection: Selection, id: t.Any) -> Plan:
        """Return the plan that reads the record of an identifier, if the record meets
        the query.
        """
        statement = self._cache.get(
            ("one", selection.key),
            lambda: self._one(query, selection),
            selection.size,
            query,
        )
        return self._plan(query, statement, {ID: id})

    def page(
        self,
        query: ResolvedQuery,
        selection: Selection,
        limit: int | None,
        *,
        nulls: bool = False,
    ) -> Plan:
        """Return the plan that reads the records of a query.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of records, or ``None`` for all.
        :param nulls: As for :func:`.expressions.order`.
        """
        has_limit, has_skip = limit is not None, bool(query.skip)
        statement = self._cache.get(
            ("page", selection.key, query.sort, has_limit, has_skip, nulls),
            lambda: self._page(query, selection, has_limit, has_skip, nulls),
            selection.size,
            query,
        )
        return self._plan(query, statement, {LIMIT: limit, SKIP: query.skip})

    def neighbours(
        self, query: ResolvedQuery, selection: Selection, limit: int, skip: int
    ) -> Plan:
        """Return the plan that finds the primary keys of a page with ties broken in the
        direction of the last field, and reads the records of these keys in the usual
        order. The sort fields follow the columns of the selection.

        :param query: The query. Its limit and skip do not count.
        :param limit: The largest number of records.
        :param skip: The number of records before them.
        """
        statement = self._cache.get(
            ("neighbours", selection.key, query.sort),
            lambda: self._neighbours(query, selection),
            selection.size,
            query,
        )
        return self._plan(query, statement, {LIMIT: limit, SKIP: skip})

    def count(self, query: ResolvedQuery) -> Plan:
        """Return the plan that counts the records of a query."""
        statement = self._cache.get(("count",), lambda: self._count(query), query=query)
        return self._plan(query, statement, {})

    def keyed(self, selection: Selection, keys: Sequence[t.Any]) -> Plan:
        """Return the plan that reads records by their primary keys.

        :param keys: The keys: values, or tuples if the key has several columns.
        """
        key = ("keyed", selection.key)
        statement = self._cache.get(key, lambda: self._keyed(selection), selection.size)
        return Plan(statement, {KEYS: keys}, self._options)

    def instances(
        self,
        query: ResolvedQuery,
        limit: int | None,
        *,
        id: t.Any = None,
        nulls: bool = False,
    ) -> Plan:
        """Return the plan that loads the instances of a query, which nobody else writes
        until the commit.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of instances, or ``None`` for all.
        :param id: The identifier of the only one, cast. Any by default.
        :param nulls: As for :func:`.expressions.order`.
        """
        has_id, has_limit = id is not None, limit is not None
        has_skip = query.skip > 0 and not has_id
        options = (has_id, has_limit, has_skip, nulls)
        statement = self._cache.get(
            ("instances", query.sort, *options),
            lambda: self._instances(query, *options),
            query=query,
        )
        parameters = {ID: id, LIMIT: limit, SKIP: query.skip}
        return self._plan(query, statement, parameters)

    def _plan(
        self, query: ResolvedQuery, statement: Select, parameters: dict[str, t.Any]
    ) -> Plan:
        parameters.update(query.parameters)
        options = self._options if query.is_cacheable else NO_CACHE
        return Plan(statement, parameters, options)

    def _one(self, query: ResolvedQuery, selection: Selection) -> Select:
        return self._select(query, selection).where(self._is_id()).limit(1)

    def _page(
        self,
        query: ResolvedQuery,
        selection: Selection,
        has_limit: bool,
        has_skip: bool,
        nulls: bool,
    ) -> Select:
        statement = self._select(query, selection).order_by(*self._order(query, nulls))
        return _cut(statement, has_limit, has_skip)

    def _instances(
        self,
        query: ResolvedQuery,
        has_id: bool,
        has_limit: bool,
        has_skip: bool,
        nulls: bool,
    ) -> Select:
        model = self._fields.model
        statement = sa.select(model).where(*conditions(query))

        if has_id:
            statement = statement.where(self._is_id())

        statement = (
            statement.order_by(*self._order(query, nulls))
            .options(orm.lazyload("*"))
            .with_for_update(of=model)
            .execution_options(populate_existing=True)
        )
        return _cut(statement, has_limit, has_skip)

    def _neighbours(self, query: ResolvedQuery, selection: Selection) -> Select:
        primary_key = self._fields.primary_key
        keys = (
            sa.select(*primary_key)
            .where(*conditions(query))
            .order_by(*order(query.sort, primary_key, same_direction=True))
            .limit(_number(LIMIT))
            .offset(_number(SKIP))
        )
        columns = [*selection.columns, *(field.column for field, _ in query.sort)]
        return (
            sa.select(*columns)
            .where(primary_key[0].in_(keys))
            .order_by(*order(query.sort, primary_key))
        )

    def _count(self, query: ResolvedQuery) -> Select:
        counted = sa.select(sa.func.count()).select_from(self._fields.model)
        return counted.where(*conditions(query))

    def _keyed(self, selection: Selection) -> Select:
        first, *others = self._fields.primary_key
        key = sa.tuple_(first, *others) if others else first
        keys = sa.bindparam(KEYS, type_=key.type, expanding=True)
        return sa.select(*selection.columns).where(key.in_(keys))

    def _select(self, query: ResolvedQuery, selection: Selection) -> Select:
        return sa.select(*selection.columns).where(*conditions(query))

    def _is_id(self) -> t.Any:
        id = self._fields.id.column
        return id == sa.bindparam(ID, type_=id.type)

    def _order(self, query: ResolvedQuery, nulls: bool) -> list[t.Any]:
        return order(query.sort, self._fields.primary_key, nulls=nulls)


def _cut(statement: Select, has_limit: bool, has_skip: bool) -> Select:
    if has_limit:
        statement = statement.limit(_number(LIMIT))

    return statement.offset(_number(SKIP)) if has_skip else statement


def _number(name: str) -> t.Any:
    return sa.bindparam(name, type_=sa.BigInteger())
