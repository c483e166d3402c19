"""Statements that are built once for all queries of the same shape."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from .plans import Selection
    from .where import ResolvedQuery

MAX_STATEMENTS: t.Final = 256
"""The number of statements in a cache."""

MAX_ENGINES: t.Final = 8
"""The number of engines that a statement is compiled for, until it is done anew."""

COMPILED: t.Final = "compiled_cache"
"""The execution option with the cache of what SQLAlchemy compiles, by engine."""

NO_CACHE: t.Final[Mapping[str, t.Any]] = {COMPILED: None}
"""The execution options of a statement that is built for each call."""

NO_OPTIONS: t.Final[Mapping[str, t.Any]] = {}


class Plan(t.NamedTuple):
    """A statement that is ready to run."""

    statement: t.Any
    """The statement."""

    parameters: t.Any
    """Its parameters, or a list of them for many rows."""

    options: Mapping[str, t.Any] = NO_OPTIONS
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
