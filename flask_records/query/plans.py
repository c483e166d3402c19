"""Statements that read, built once for all queries of the same shape."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from .expressions import conditions, order
from .operators import all_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from .field import Field
    from .field_conditions import FieldCondition
    from .fields import Fields
    from .resolution import ResolvedQuery
    from .values import Cast

    Select: t.TypeAlias = sa.Select[t.Any]

# The names of the parameters of statements.
ID: t.Final = "records_id"
KEYS: t.Final = "records_keys"
LIMIT: t.Final = "records_limit"
SKIP: t.Final = "records_skip"

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

    query: ResolvedQuery | None = None
    """The query whose values the parameters have."""

    may_fail: bool = False
    """``True`` if the database may refuse its values, for example a pattern."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns that a statement selects."""

    fields: tuple[Field, ...]
    """The fields of the records."""

    links: tuple[tuple[str, t.Any], ...] = ()
    """The names of relationships to load, and the columns that they are loaded by."""

    primary_key: tuple[t.Any, ...] = ()
    """The columns of the primary key, where they are selected too."""

    conditions: tuple[FieldCondition, ...] = ()
    """The conditions of fields, each of which is selected as ``True`` if it is met."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple([field.name for field in self.fields])

    @cached_property
    def shown(self) -> tuple[tuple[str, Cast], ...]:
        """The names of fields whose values the application converts, and the functions
        that do.
        """
        shows = [(field.name, field.conversion.show) for field in self.fields]
        return tuple([(name, show) for name, show in shows if show is not None])

    @cached_property
    def key(self) -> Hashable:
        """The key of the columns in a cache."""
        names = tuple([name for name, _ in self.links])
        terms = tuple([each.query.terms for each in self.conditions])
        return self.fields, names, bool(self.primary_key), terms

    @property
    def columns(self) -> list[t.Any]:
        """The columns of the fields, the links, the conditions and the primary key."""
        return [
            *(field.selected for field in self.fields),
            *(column for _, column in self.links),
            *(_condition(*each) for each in enumerate(self.conditions)),
            *self.primary_key,
        ]

    @cached_property
    def parameters(self) -> Mapping[str, t.Any]:
        """The values in the conditions, by the names of their parameters."""
        parameters: dict[str, t.Any] = {}

        for index, each in enumerate(self.conditions):
            parameters |= each.query.parameters_with(_prefix(index))

        return parameters

    @cached_property
    def has_shape(self) -> bool:
        """``True`` if the columns are the same for all values in the conditions."""
        return all([each.query.has_shape for each in self.conditions])

    def keyed(self, primary_key: Sequence[t.Any]) -> Selection:
        """Return the columns, and those of the primary key."""
        return replace(self, primary_key=tuple(primary_key))

    @cached_property
    def size(self) -> int:
        """The number of columns, and of terms in them."""
        columns = len(self.fields) + len(self.links) + len(self.primary_key)
        return columns + sum([each.query.size for each in self.conditions])


NOTHING: t.Final = Selection(())
"""The columns of a statement that selects no fields."""


class PlanCache:
    """Plans whose statements are cached by shape, until newer ones take their room."""

    def __init__(self, fields: Fields) -> None:
        # SQLAlchemy compares the columns of a statement that it has compiled before
        # with those of an equal one, which a comparator may not be made for.
        self._options = NO_CACHE if fields.has_comparators else None
        self._has_expressions = fields.has_expressions
        self._statements: dict[Hashable, tuple[t.Any, int]] = {}
        self._weight = 0
        self._lock = threading.Lock()

    def plan(
        self,
        key: tuple[Hashable, ...],
        build: Callable[[], t.Any],
        parameters: t.Any,
        columns: int = 0,
        query: ResolvedQuery | None = None,
        selection: Selection = NOTHING,
    ) -> Plan:
        """Return a plan, the statement of which is built if there is none.

        :param columns: The number of columns of the statement, if it does not have
            those of a selection.
        :param query: The query with its conditions. Without a shape, its statement is
            built for each call.
        :param selection: The columns that it selects.
        """
        if selection.conditions:
            parameters.update(selection.parameters)

            if not selection.has_shape:
                parameters.update({} if query is None else query.parameters)
                return Plan(build(), parameters, NO_CACHE, query, may_fail=True)

        columns = columns or selection.size

        if query is None:
            return Plan(self._statement(key, build, columns), parameters, self._options)

        parameters.update(query.parameters)
        options = self._options if query.is_cacheable else NO_CACHE

        if not query.has_shape:
            return Plan(build(), parameters, options, query, may_fail=True)

        statement = self._statement((*key, query.terms), build, columns + query.size)
        return Plan(statement, parameters, options, query, self._has_expressions)

    def _statement(
        self, key: Hashable, build: Callable[[], t.Any], weight: int
    ) -> t.Any:
        entry = self._statements.get(key)

        if entry is not None:
            return entry[0]

        statement = build()

        with self._lock:
            self._drop(key)

            while self._statements and (
                len(self._statements) >= MAX_STATEMENTS
                or self._weight + weight > MAX_WEIGHT
            ):
                self._drop(next(iter(self._statements)))

            self._statements[key] = statement, weight
            self._weight += weight

        return statement

    def _drop(self, key: Hashable) -> None:
        _, weight = self._statements.pop(key, (None, 0))
        self._weight -= weight


class Plans:
    """Plans of the reads of one kind of caller."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._cache = PlanCache(fields)

    def one(
        self,
        query: ResolvedQuery,
        selection: Selection,
        id: Sequence[t.Any],
        *,
        locking: bool = False,
    ) -> Plan:
        """Return the plan that reads the record of an identifier within a query.

        :param id: The values of the identifier, cast.
        :param locking: Let nobody else write the record until the commit.
        """

        def build() -> Select:
            statement = _select(query, selection).where(*self._is_id()).limit(1)
            model = self._fields.model
            return statement.with_for_update(of=model) if locking else statement

        key = ("one", selection.key, locking)
        return self._cache.plan(key, build, id_parameters(id), 0, query, selection)

    def page(
        self,
        query: ResolvedQuery,
        selection: Selection,
        limit: int | None,
        *,
        nulls: bool = False,
        by_keys: bool = False,
    ) -> Plan:
        """Return the plan that reads the records of a query.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of records, or ``None`` for all.
        :param nulls: As for :func:`.expressions.order`.
        :param by_keys: Skip the keys alone, for SQLite, which reads a skipped record
            as a whole.
        """
        cut = (limit is not None, bool(query.skip), nulls)
        by_keys = by_keys and cut[:2] == (True, True)

        def build() -> Select:
            if not by_keys:
                return self._cut(query, _select(query, selection), *cut)

            key = self._fields.primary_key
            keys = sa.select(*key).where(*conditions(query)).correlate(None)
            statement = sa.select(*selection.columns)
            statement = statement.where(_as_one(key).in_(self._cut(query, keys, *cut)))
            return statement.order_by(*order(query.sort, key, nulls=nulls))

        key = ("page", selection.key, query.sort, by_keys, *cut)
        parameters = {LIMIT: limit, SKIP: query.skip}
        return self._cache.plan(key, build, parameters, 0, query, selection)

    def count(self, query: ResolvedQuery) -> Plan:
        """Return the plan that counts the records of a query."""

        def build() -> Select:
            counted = sa.select(sa.func.count()).select_from(self._fields.model)
            return counted.where(*conditions(query))

        return self._cache.plan(("count",), build, {}, query=query)

    def keyed(
        self, selection: Selection, keys: Sequence[t.Any], *, locking: bool = False
    ) -> Plan:
        """Return the plan that reads records by their primary keys.

        :param keys: The keys: values, or tuples if the key has several columns.
        :param locking: Lock the records, so that they are read as they are now, for a
            database where a transaction reads what was there when it began.
        """

        def build() -> Select:
            key = _as_one(self._fields.primary_key)
            parameter = sa.bindparam(KEYS, type_=key.type, expanding=True)
            statement = sa.select(*selection.columns).where(key.in_(parameter))
            return statement.with_for_update() if locking else statement

        key = ("keyed", selection.key, locking)
        return self._cache.plan(key, build, {KEYS: keys}, selection=selection)

    def instances(
        self,
        query: ResolvedQuery,
        limit: int | None,
        *,
        id: Sequence[t.Any] = (),
        nulls: bool = False,
    ) -> Plan:
        """Return the plan that loads the instances of a query, which nobody else writes
        until the commit.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of instances, or ``None`` for all.
        :param id: The values of the identifier of the only one, cast. Any by default.
        :param nulls: As for :func:`.expressions.order`.
        """
        has_id = bool(id)
        cut = (limit is not None, query.skip > 0 and not has_id, nulls)

        def build() -> Select:
            model = self._fields.model
            statement = sa.select(model).where(*conditions(query))

            if has_id:
                statement = statement.where(*self._is_id())

            return (
                self._cut(query, statement, *cut)
                .options(orm.lazyload("*"))
                .with_for_update(of=model)
                .execution_options(populate_existing=True)
            )

        key = ("instances", query.sort, has_id, *cut)
        parameters = {**id_parameters(id), LIMIT: limit, SKIP: query.skip}
        return self._cache.plan(key, build, parameters, query=query)

    def _is_id(self) -> list[t.Any]:
        return have_id([field.column for field in self._fields.identifying])

    def _cut(
        self,
        query: ResolvedQuery,
        statement: Select,
        has_limit: bool,
        has_skip: bool,
        nulls: bool,
    ) -> Select:
        """Return a part of the rows, in order."""
        primary_key = self._fields.primary_key
        statement = statement.order_by(*order(query.sort, primary_key, nulls=nulls))

        if has_limit:
            statement = statement.limit(_number(LIMIT))

        return statement.offset(_number(SKIP)) if has_skip else statement


def have_id(columns: Sequence[t.Any]) -> list[t.Any]:
    """Return the conditions that columns have the values of an identifier."""
    return [
        column == sa.bindparam(name, type_=column.type)
        for name, column in zip(_id_names(len(columns)), columns, strict=True)
    ]


def id_parameters(id: Sequence[t.Any]) -> dict[str, t.Any]:
    """Return the parameters of these conditions."""
    return dict(zip(_id_names(len(id)), id, strict=True))


@cache
def _id_names(number: int) -> tuple[str, ...]:
    return tuple([f"{ID}_{index}" for index in range(number)])


def _select(query: ResolvedQuery, selection: Selection) -> Select:
    return sa.select(*selection.columns).where(*conditions(query))


def _as_one(columns: Sequence[t.Any]) -> t.Any:
    """Return the columns of a key as one expression."""
    return sa.tuple_(*columns) if len(columns) > 1 else columns[0]


def _condition(index: int, condition: FieldCondition) -> t.Any:
    """Return the column that is true if a record meets a condition."""
    expression = all_of(conditions(condition.query, prefix=_prefix(index)))
    return expression.label(f"records_shown_{index}")


def _prefix(index: int) -> str:
    """Return the beginning of the names of the parameters of a condition."""
    return f"records_shown_{index}_"


def _number(name: str) -> t.Any:
    return sa.bindparam(name, type_=sa.BigInteger())
