"""Statements that are built once for all queries of the same shape."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from .fields import Fields
    from .where import ResolvedQuery

MAX_STATEMENTS: t.Final = 256
"""The number of statements in a cache."""

MAX_ENGINES: t.Final = 8
"""The number of engines that a statement is compiled for, until it is done anew."""

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


class CachedStatement(t.NamedTuple):
    """A statement in a cache."""

    statement: t.Any
    """The statement."""

    compiled: dict[t.Any, t.Any]
    """Its own cache of what SQLAlchemy compiles, by engine: in the cache of an engine,
    SQLAlchemy compares it with equal ones, which takes longer than to run it.
    """


class PlanCache:
    """Plans whose statements are cached by shape, until newer ones take their room."""

    def __init__(self, fields: Fields) -> None:
        # In the cache of its engine, SQLAlchemy compares columns with each other, which
        # a comparator of the application may not be made for.
        self._has_comparators = fields.has_comparators
        self._statements: dict[Hashable, CachedStatement] = {}
        self._lock = threading.Lock()

    def plan(
        self,
        key: Hashable | None,
        build: Callable[[], t.Any],
        parameters: t.Any,
        query: ResolvedQuery | None = None,
    ) -> Plan:
        """Return a plan, the statement of which is built if there is none.

        :param key: The key of the statement without the conditions of the query.
            ``None`` for a statement that is built for each call.
        :param build: Returns the statement.
        :param query: The query with its conditions. Without a shape, its statement is
            built for each call.
        """
        if query is not None:
            parameters.update(query.parameters())
            key = None if key is None or not query.has_shape else (key, query.terms)

        if key is None:
            is_small = query is None or query.is_small
            is_cached = is_small and not self._has_comparators
            return Plan(build(), parameters, None if is_cached else NO_CACHE, query)

        cached = self._statements.get(key) or self._keep(key, build())

        if len(cached.compiled) > MAX_ENGINES:
            cached.compiled.clear()

        options = {"compiled_cache": cached.compiled}
        return Plan(cached.statement, parameters, options, query)

    def _keep(self, key: Hashable, statement: t.Any) -> CachedStatement:
        cached = CachedStatement(statement, {})

        with self._lock:
            while len(self._statements) >= MAX_STATEMENTS:
                del self._statements[next(iter(self._statements))]

            self._statements[key] = cached

        return cached
