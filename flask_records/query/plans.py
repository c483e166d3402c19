"""Statements that are built once for all queries of the same shape."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import MappingProxyType

import sqlalchemy as sa
from sqlalchemy import orm

from .bounds import json_size, SCALAR_SIZE
from .fields import inner_tables
from .operators import AND
from .where import conditions, ResolvedGroup, ResolvedQuery

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from .conversions import Cast
    from .field import Field
    from .fields import Fields
    from .groups import Groups

    Select: t.TypeAlias = sa.Select[t.Any]

# The names of the parameters of statements.
ID: t.Final = "records_id"
KEYS: t.Final = "records_keys"
LIMIT: t.Final = "records_limit"
SKIP: t.Final = "records_skip"
SHOWN_IF: t.Final = "records_shown_"

PARAMETERS: t.Final[Mapping[str, t.Any]] = {
    name: sa.bindparam(name, type_=sa.BigInteger()) for name in (LIMIT, SKIP)
}
"""The parameters of numbers of records."""


SHORT: t.Final = (
    *(sa.Integer, sa.Numeric, sa.Boolean, sa.Uuid, sa.Enum),
    *(sa.Date, sa.DateTime, sa.Time, sa.Interval),
)
"""Types whose values are short."""


MAX_STATEMENTS: t.Final = 256
"""The number of statements in a cache."""

MAX_ENGINES: t.Final = 8
"""The number of engines that a statement is compiled for, until it is done anew."""

COMPILED: t.Final = "compiled_cache"
"""The execution option with the cache of what SQLAlchemy compiles, by engine."""

NO_CACHE: t.Final[Mapping[str, t.Any]] = {COMPILED: None}
"""The execution options of a statement that is built for each call."""


class Plan(t.NamedTuple):
    """A statement that is ready to run."""

    statement: t.Any
    """The statement."""

    parameters: t.Any
    """Its parameters, or a list of them for many rows."""

    options: Mapping[str, t.Any] = MappingProxyType({})
    """Its execution options."""

    on_cursor: dict[t.Any, t.Any] | None = None
    """The statement as drivers take it."""

    check: Callable[[t.Any], None] | None = None
    """Called with the next rows before further ones are read. What it raises ends the
    read.
    """


class PlanCache:
    """Plans whose statements are cached by shape. A full cache starts anew."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, Plan] = {}

    def plan(
        self,
        key: Hashable,
        build: Callable[[], t.Any],
        parameters: t.Any,
        query: ResolvedQuery | None = None,
        selection: Selection | None = None,
    ) -> Plan:
        """Return a plan. Its statement is built once.

        :param key: The key of the statement without the conditions of the query and
            the columns.
        :param build: Returns the statement.
        :param query: The query with its conditions. Without a shape, its statement is
            built for each call.
        :param selection: The columns that are selected, if a query may choose them.
        """
        is_cached = True

        if query is not None:
            parameters.update(query.parameters)
            key, is_cached = (key, query.terms), query.has_shape

        if selection is not None:
            parameters.update(selection.shown_if.parameters)
            key = key, selection.key
            is_cached = is_cached and selection.shown_if.has_shape

        if not is_cached:
            return Plan(build(), parameters, NO_CACHE)

        plan = self._plans.get(key)

        if plan is None:
            if len(self._plans) >= MAX_STATEMENTS:
                self._plans.clear()

            # In the cache of an engine, SQLAlchemy compares a statement with equal
            # ones, which takes longer than to run it.
            plan = self._plans[key] = Plan(build(), {}, {COMPILED: {}}, {})

        compiled = plan.options[COMPILED]

        if len(compiled) > MAX_ENGINES:
            compiled.clear()

        return Plan(plan.statement, parameters, plan.options, plan.on_cursor)


PING: t.Final = Plan(sa.select(sa.true()), {})
"""Reads from a database whether it answers."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns that a statement selects."""

    fields: tuple[Field, ...]
    """The fields of the records."""

    links: tuple[tuple[str, t.Any], ...] = ()
    """The names of relationships to load, and the columns that they are loaded by."""

    conditions: Mapping[str, ResolvedQuery] = field(default_factory=dict)
    """The queries that a record has to meet to have fields, by the names of the fields.
    Each is selected as ``True`` if it is met.
    """

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
    def min_size(self) -> int:
        """The bytes of a record as JSON, without what is in its long values."""
        return 2 + sum([len(name) + 4 + SCALAR_SIZE for name in self.names])

    @cached_property
    def _long(self) -> list[int]:
        """The places of the values that may be long."""
        types = [field.selected.type for field in self.fields]
        return [i for i, each in enumerate(types) if not isinstance(each, SHORT)]

    def size_of(self, rows: Sequence[Sequence[t.Any]]) -> int:
        """Return about the number of bytes of rows as JSON."""
        sizes = [json_size(row[i]) for i in self._long for row in rows]
        return self.min_size * len(rows) + sum(sizes)

    @cached_property
    def key(self) -> Hashable:
        """The key of the columns in a cache."""
        names = tuple([name for name, _ in self.links])
        return self.fields, names, self.shown_if.terms

    @cached_property
    def shown_if(self) -> ResolvedQuery:
        """A query with a term for each of the conditions."""
        queries = self.conditions.values()
        terms = tuple([ResolvedGroup(AND, query.terms) for query in queries])
        values = [value for query in queries for value in query.values]
        return ResolvedQuery((), terms, values, prefix=SHOWN_IF)

    def of(self, model: t.Any) -> Select:
        """Return the statement of the columns of the fields, the links and the
        conditions.
        """
        columns = [field.selected for field in self.fields]
        columns += [column for _, column in self.links]
        terms = conditions(self.shown_if, model, is_one=True)
        columns += [each.label(f"{SHOWN_IF}{i}") for i, each in enumerate(terms)]
        return sa.select(*columns)


class Plans:
    """Builds the statements that read a model on one kind of database, once for each
    shape. It knows neither callers nor connections.
    """

    def __init__(self, fields: Fields) -> None:
        self._dialect = "" if fields.dialect is None else fields.dialect.name
        self._fields = fields
        self._model = fields.model
        self._cache = PlanCache()
        self._has_great_nulls = self._dialect == "postgresql"
        # A transaction locks records as they are now, and reads them as they were when
        # it first read anything.
        self._reads_the_past = self._dialect in ("mysql", "mariadb")

    def records(
        self,
        query: ResolvedQuery,
        selection: Selection,
        limit: int | None = None,
        id: Sequence[t.Any] = (),
        column: t.Any = None,
        parameters: Mapping[str, t.Any] = MappingProxyType({}),
        *,
        locking: bool = False,
    ) -> Plan:
        """Return the plan that reads the records of a query, or its groups.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of records, or ``None`` for all.
        :param id: The values of the identifier of the only one, cast. Any by default.
        :param column: Another column, the last one of the row. It is one object for
            all calls, so that their statement is built once.
        :param parameters: The values of the parameters of this column.
        :param locking: Let nobody else write the records until the commit.
        """
        has_id, groups = bool(id), query.groups
        cut = (False, False) if has_id else (limit is not None, bool(query.skip))

        def build() -> Select:
            if groups is not None:
                return self._cut(query, self._group(groups, query), *cut)

            select = selection.of(self._model).where(*self._where(query, has_id))
            select = select.limit(1) if has_id else self._cut(query, select, *cut)
            select = select if column is None else select.add_columns(column)
            return self._lock(select) if locking else select

        order = () if has_id else groups or query.sort
        key = ("records", has_id, order, column, locking, *cut)
        numbers = id_parameters(id) if has_id else {LIMIT: limit, SKIP: query.skip}
        return self._cache.plan(key, build, {**numbers, **parameters}, query, selection)

    def count(self, query: ResolvedQuery) -> Plan:
        """Return the plan that counts the records of a query, or its groups."""
        groups = query.groups

        def build() -> Select:
            select = sa.select(sa.func.count())

            if groups is not None:
                return select.select_from(self._group(groups, query).subquery())

            where = conditions(query, self._model)
            return select.select_from(self._model).where(*where)

        return self._cache.plan(("count", groups), build, {}, query)

    def _group(self, groups: Groups, query: ResolvedQuery) -> Select:
        columns = [
            each.select_on(self._dialect).label(groups.label(each))
            for each in groups.columns
        ]
        statement = sa.select(*columns).select_from(self._model)
        keys = [groups.expression(key) for key in groups.keys]
        return statement.where(*conditions(query, self._model)).group_by(*keys)

    def statement(self, query: ResolvedQuery, selection: Selection) -> Select:
        """Return the statement of the records of a query with its values, for the
        application.
        """
        model = self._model
        terms = conditions(selection.shown_if, model, is_one=True, is_literal=True)
        columns = {each.name: each.selected for each in query.selected}

        # A field is null where a record does not show it.
        for name, term in zip(selection.conditions, terms, strict=True):
            columns[name] = sa.case((term, columns[name]))

        statement = sa.select(*[each.label(name) for name, each in columns.items()])
        statement = statement.where(*conditions(query, model, is_literal=True))

        if query.sort:
            statement = statement.order_by(*self._order(query))

        return statement.limit(query.limit).offset(query.skip or None)

    def records_by_key(self, selection: Selection, keys: Sequence[t.Any]) -> Plan:
        """Return the plan that reads records that a call has locked, as they are now.
        The last columns are the primary key.

        :param keys: The primary keys: values, or tuples if they have several columns.
        """

        def build() -> Select:
            columns = self._fields.primary_key
            key = sa.tuple_(*columns) if len(columns) > 1 else columns[0]
            parameter = sa.bindparam(KEYS, type_=key.type, expanding=True)
            statement = selection.of(self._model).add_columns(*columns)
            statement = statement.where(key.in_(parameter))
            return statement.with_for_update() if self._reads_the_past else statement

        return self._cache.plan("records_by_key", build, {KEYS: keys}, None, selection)

    def instances(
        self,
        query: ResolvedQuery,
        limit: int | None,
        id: Sequence[t.Any] = (),
        *,
        deferred: tuple[Field, ...] = (),
    ) -> Plan:
        """Return the plan that loads the instances of a query, which nobody else writes
        until the commit.

        :param query: The query. Its limit does not count.
        :param limit: The largest number of instances, or ``None`` for all.
        :param id: The values of the identifier of the only one, cast. Any by default.
        :param deferred: The fields whose values are loaded if they are looked at.
        """
        has_id = bool(id)
        cut = limit is not None, query.skip > 0 and not has_id

        def build() -> Select:
            select = sa.select(self._model).where(*self._where(query, has_id))
            statement = self._cut(query, select, *cut)
            options = orm.lazyload("*"), *[orm.defer(e.column) for e in deferred]
            return (
                self._lock(statement)
                .options(*options)
                .execution_options(populate_existing=True)
            )

        key = ("instances", query.sort, has_id, deferred, *cut)
        parameters = {**id_parameters(id), LIMIT: limit, SKIP: query.skip}
        return self._cache.plan(key, build, parameters, query)

    def _lock(self, statement: Select) -> Select:
        """Return a statement that lets nobody else write its records until the commit.
        A union locks nothing.
        """
        tables = inner_tables(self._fields.mapper.selectable)
        return statement.with_for_update(of=tables) if tables else statement

    def _where(self, query: ResolvedQuery, has_id: bool) -> list[t.Any]:
        where = conditions(query, self._model, is_one=has_id)
        columns = [field.column for field in self._fields.identifying]
        return where + have_id(columns) if has_id else where

    def _order(self, query: ResolvedQuery) -> list[t.Any]:
        """Return the order of records, or of groups. The primary key breaks ties, so
        that pages never overlap, in the direction of the last field, so that an index
        on it serves the whole sort.
        """
        if query.groups is not None:
            return [
                self._sort_by(query.groups.expression(column), is_descending)
                for column, is_descending in query.groups.sort
            ]

        ordered = [
            self._sort_by(field.column, is_descending, is_nullable=field.is_nullable)
            for field, is_descending in query.sort
        ]
        is_descending = bool(query.sort) and query.sort[-1][1]
        return ordered + [
            column.desc() if is_descending else column
            for column in self._fields.primary_key
        ]

    def _sort_by(
        self, column: t.Any, is_descending: bool, *, is_nullable: bool = True
    ) -> t.Any:
        directed = column.desc() if is_descending else column.asc()

        if not self._has_great_nulls or not is_nullable:
            return directed

        return directed.nulls_last() if is_descending else directed.nulls_first()

    def _cut(
        self, query: ResolvedQuery, statement: Select, has_limit: bool, has_skip: bool
    ) -> Select:
        """Return a part of the rows, in order."""
        statement = statement.order_by(*self._order(query))
        statement = statement.limit(PARAMETERS[LIMIT]) if has_limit else statement
        return statement.offset(PARAMETERS[SKIP]) if has_skip else statement


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
