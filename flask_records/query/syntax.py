"""The query of a call, parsed."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .. import problems
from ..errors import BadRequest
from ..problems import Problem
from .bounds import INDEX, shortened

MAX_DEPTH: t.Final = 20
"""The number of levels of a query."""

MAX_INTEGER: t.Final = 2**63 - 1
"""The largest number that every database takes as a limit."""

COUNT = re.compile(r"\+?[0-9]{1,100}")
DIRECTIONS = {"1": False, "-1": True, 1: False, -1: True}
NOT: t.Final = "$not"
"""Negates a condition. It stands below a field or before a query."""

POPULATE: t.Final = "$populate"
"""Names relationships to load."""

PAGING = ("$limit", "$skip", "$sort", "$select")

_Raw: t.TypeAlias = Mapping[str, t.Any]


@dataclass(frozen=True)
class Comparison:
    """A field and a value that it is compared with, which is not yet cast."""

    field: str
    operator: str
    value: t.Any


@dataclass(frozen=True)
class Group:
    """Conditions joined by ``$and``, ``$or``, ``$nor`` or ``$not``."""

    operator: str
    terms: tuple[Condition, ...]


Condition: t.TypeAlias = Comparison | Group


@dataclass(frozen=True)
class Syntax:
    """The names that queries of a service may use."""

    operators: Collection[str]
    """The operators below a field, such as ``$gt``."""

    groups: Collection[str]
    """The groups of conditions, such as ``$or``."""

    populates: bool = False
    """``True`` if ``$populate`` is among the names."""


@dataclass(frozen=True)
class Query:
    """A query, parsed. Operators are among those of the service and numbers are
    integers. The names of fields are not yet looked up, and values are not yet cast.
    """

    where: tuple[Condition, ...] = ()
    """The conditions, all of which have to hold."""

    sort: tuple[tuple[str, bool], ...] = ()
    """Fields, and ``True`` for those sorted in descending order."""

    limit: int | None = None
    """The largest number of records, or ``None`` if the query has none."""

    skip: int = 0
    """The number of records to leave out first."""

    select: tuple[str, ...] | None = None
    """The fields to return, or ``None`` for all."""

    populate: tuple[str, ...] = ()
    """The relationships to load."""

    @classmethod
    def parse(cls, query: _Raw, syntax: Syntax) -> Query:
        """Parse a query.

        :param query: The nested mapping of ``params.query``.
        :raises BadRequest: Any part of the query is not understood.
        """
        if not query:
            return EVERYTHING

        paging = (*PAGING, POPULATE) if syntax.populates else PAGING
        return cls(
            where=_Conditions(syntax).all_of(query, paging, 0),
            sort=_sort(query.get("$sort")),
            limit=_count("$limit", query.get("$limit")),
            skip=_count("$skip", query.get("$skip")) or 0,
            select=selected_names(query.get("$select")),
            populate=_names(POPULATE, query.get(POPULATE, ())),
        )


EVERYTHING: t.Final = Query()
"""The empty query."""


def items_of(value: t.Any) -> list[t.Any] | None:
    """Return the items of a list, or of a mapping whose keys are indices, which is
    what a query string parser makes of a long list. ``None`` for anything else.
    """
    if isinstance(value, (list, tuple)):
        return list(value)

    if isinstance(value, Mapping) and value and all(map(_is_index, value)):
        return [value[key] for key in sorted(value, key=int)]

    return None


class _Conditions:
    """Parses conditions at any depth."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax

    def all_of(
        self, query: _Raw, paging: Collection[str], depth: int
    ) -> tuple[Condition, ...]:
        conditions: list[Condition] = []

        for name, value in query.items():
            if not name.startswith("$"):
                conditions += self._of_field(name, value, depth)
            elif name in self._syntax.groups:
                conditions.append(self._group(name, value, depth + 1))
            elif name not in paging:
                # The query around it may hold conditions that hooks have added.
                raise _unknown(name, {name: value} if depth == 0 else query)

        return tuple(conditions)

    def _group(self, name: str, value: t.Any, depth: int) -> Group:
        _check_depth(name, depth)
        items = [value] if name == NOT else items_of(value)

        if items is None or not all(isinstance(item, Mapping) for item in items):
            raise _malformed(name, problems.no_queries(name))

        terms = [self.all_of(item, (), depth) for item in items]
        return Group(name, tuple(Group("$and", term) for term in terms))

    def _of_field(self, name: str, value: t.Any, depth: int) -> list[Condition]:
        _check_depth(name, depth)
        items = items_of(value)

        if items is not None:
            return [Comparison(name, "$in", items)]

        if not isinstance(value, Mapping):
            return [Comparison(name, "$eq", value)]

        if not value:
            raise _misused(name, "an empty object", problems.EMPTY_OPERATOR)

        return [self._compare(name, item, value, depth) for item in value]

    def _compare(self, name: str, operator: str, place: _Raw, depth: int) -> Condition:
        value = place[operator]

        if not operator.startswith("$"):
            text = f"an object: '{shortened(operator)}' is not an operator"
            raise _misused(name, text, problems.OBJECT_OPERATOR)

        if operator not in self._syntax.operators:
            raise _unknown(operator, place)

        if operator == NOT:
            terms = self._of_field(name, value, depth + 1)
            return Group(NOT, (Group("$and", tuple(terms)),))

        return Comparison(name, operator, value)


def _check_depth(name: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadRequest(
            f"The query nests deeper than {MAX_DEPTH} levels.",
            errors={shortened(name): problems.too_deep(MAX_DEPTH)},
        )


def _unknown(name: str, place: t.Any) -> BadRequest:
    """Return the error for a name with a dollar sign that is not understood."""
    return BadRequest(f"Invalid query parameter {shortened(name)}", data=place)


def _malformed(name: str, problem: Problem, data: t.Any = None) -> BadRequest:
    """Return the error for the value of a name with a dollar sign."""
    return BadRequest(f"{name} {problem}.", data=data, errors={name: problem})


def _misused(name: str, text: str, problem: Problem) -> BadRequest:
    """Return the error for what stands below the name of a field."""
    name = shortened(name)
    return BadRequest(f"'{name}' is compared with {text}.", errors={name: problem})


def _is_index(key: t.Any) -> bool:
    return isinstance(key, str) and INDEX.fullmatch(key) is not None


def _count(name: str, value: t.Any) -> int | None:
    if value is None or value == "":
        return None

    if isinstance(value, str) and COUNT.fullmatch(value):
        return min(int(value), MAX_INTEGER)

    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return min(value, MAX_INTEGER)

    raise _malformed(name, problems.NO_COUNT, {name: value})


def _sort(value: t.Any) -> tuple[tuple[str, bool], ...]:
    if value is None:
        return ()

    if not isinstance(value, Mapping):
        raise _malformed("$sort", problems.NO_ORDER)

    return tuple((name, _is_descending(name, way)) for name, way in value.items())


def _is_descending(name: str, way: t.Any) -> bool:
    if isinstance(way, bool) or not isinstance(way, (str, int)):
        way = None

    if way not in DIRECTIONS:
        name = shortened(name)
        raise BadRequest(
            f"$sort[{name}] takes 1 for ascending or -1 for descending.",
            errors={name: problems.BAD_ORDER},
        )

    return DIRECTIONS[way]


def selected_names(value: t.Any) -> tuple[str, ...] | None:
    """Return the names that the value of ``$select`` lists, or ``None`` without one.

    :raises BadRequest: It is no list of names.
    """
    return None if value is None else _names("$select", value)


def _names(name: str, value: t.Any) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else items_of(value)

    if items is None or not all(isinstance(item, str) for item in items):
        raise _malformed(name, problems.no_names(name))

    return tuple(items)
