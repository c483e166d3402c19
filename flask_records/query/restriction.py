"""Conditions of the application, added to the query of a call."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from .bounds import UNCOUNTED
from .fields import TrustedName
from .syntax import items_of

if t.TYPE_CHECKING:
    from ..context import Params
    from ..typing import Record


def restrict(params: Params, condition: Record) -> None:
    """Let a call reach only records that meet a condition, besides its query.

    :param condition: A query of fields, ``$or`` and ``$and``. The fields may be hidden.
    """
    params.query = _both(params.query, trusted(condition))


def names_in(condition: t.Any) -> frozenset[str]:
    """Return the names of the fields in a condition.

    :param condition: A query.
    """
    names: set[str] = set()
    parts = [condition]

    # The loop visits the parts that it appends, too.
    for part in parts:
        items = items_of(part)

        if items is not None:
            parts += items
        elif isinstance(part, Mapping):
            groups = {name for name in part if name.startswith("$")}
            names |= part.keys() - groups
            parts += [part[name] for name in groups - UNCOUNTED]

    return frozenset(names)


def _both(query: Record, condition: Record) -> Record:
    """Return the query of the records that meet two queries."""
    shared = query.keys() & condition.keys()

    if not shared:
        return {**query, **condition}

    # Names that are in both can't stand beside each other.
    moved = {name: query[name] for name in query if name in {*shared, "$and"}}
    rest = {name: query[name] for name in query if name not in moved}
    return {**rest, **condition, "$and": [moved, *condition.get("$and", ())]}


def trusted(condition: t.Any) -> t.Any:
    """Return a query of the application, the fields of which may be hidden."""
    if isinstance(condition, (list, tuple)):
        return [trusted(term) for term in condition]

    if not isinstance(condition, dict):
        return condition

    groups = {n: trusted(value) for n, value in condition.items() if n[:1] == "$"}
    fields = {TrustedName(n): condition[n] for n in condition if n not in groups}
    return {**groups, **fields}
