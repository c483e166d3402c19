"""Fields that a caller sees or writes in those records only that meet a query."""

from __future__ import annotations

import datetime as dt
import typing as t
from dataclasses import replace

from ..errors import BadRequest
from ..problems import NOT_IN_QUERIES
from .fields import TrustedName
from .matching import EXACT
from .resolution import ResolvedComparison
from .syntax import Comparison

if t.TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from .resolution import ResolvedQuery, Term
    from .syntax import Condition, Query


COMPARABLE: t.Final = EXACT | {dt.datetime}
"""The types whose values are the same if their ``repr`` is."""


class FieldCondition(t.NamedTuple):
    """Fields, and the query that a record has to meet."""

    names: tuple[str, ...]
    """The names of the fields."""

    query: ResolvedQuery
    """The query."""


def unmet(
    query: ResolvedQuery, conditions: Sequence[FieldCondition]
) -> list[FieldCondition]:
    """Return the conditions that records of a query may not meet. A condition is met by
    all of them if its terms are among those of the query.
    """
    return [each for each in conditions if not _implies(query, each.query)]


def show(
    query: ResolvedQuery, parsed: Query, conditions: Sequence[FieldCondition]
) -> ResolvedQuery:
    """Return a query whose records have some fields under conditions.

    :param parsed: The query with the names as they came.
    :param conditions: Those that not all of its records meet.
    :raises BadRequest: The caller filters or sorts by one of the fields.
    """
    names = frozenset([name for each in conditions for name in each.names])

    for name in (*_names_in(parsed.where), *[name for name, _ in parsed.sort]):
        if name in names and not isinstance(name, TrustedName):
            raise BadRequest(
                f"'{name}' is not visible in every record that this query could match,"
                " so that it can't be filtered or sorted by.",
                errors={name: NOT_IN_QUERIES},
            )

    selected = {field.name for field in query.selected}
    selected |= {field.name for field in query.computed}
    shown = [each for each in conditions if not selected.isdisjoint(each.names)]
    return replace(query, conditions=tuple(shown))


def _implies(query: ResolvedQuery, condition: ResolvedQuery) -> bool:
    terms = set(_top_terms(query))
    return all(term in terms for term in _top_terms(condition))


def _top_terms(query: ResolvedQuery) -> Iterator[Hashable]:
    """Yield the terms with their values that each record of a query meets."""
    values = iter(query.values)

    for term in query.terms:
        yield from _flattened(_bound(term, values))


def _bound(term: Term, values: Iterator[t.Any]) -> tuple[Hashable, ...]:
    if isinstance(term, ResolvedComparison):
        return term.field, term.operator, _comparable(next(values))

    return term.operator, tuple([_bound(each, values) for each in term.terms])


def _comparable(value: t.Any) -> Hashable:
    """Return an object that equals that of the same value."""
    if isinstance(value, list):
        return tuple([_comparable(item) for item in value])

    # Other values may have the same text without being the same.
    return (type(value), repr(value)) if type(value) in COMPARABLE else object()


def _flattened(term: tuple[t.Any, ...]) -> Iterator[Hashable]:
    if term[0] != "$and":
        yield term
        return

    for each in term[1]:
        yield from _flattened(each)


def _names_in(where: Collection[Condition]) -> Iterator[str]:
    for condition in where:
        if isinstance(condition, Comparison):
            yield condition.field
        else:
            yield from _names_in(condition.terms)
