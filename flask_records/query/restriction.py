"""Conditions of the application, added to what a client asks for."""

from __future__ import annotations

import typing as t

from .fields import TrustedName

if t.TYPE_CHECKING:
    from ..context import Params
    from ..typing import Record


def restrict(params: Params, condition: Record) -> None:
    """Let a call reach only records that meet a condition too.

    :param params: The params of the call. What its query says still has to hold.
    :param condition: A query of fields and ``$or``. The fields may be hidden.
    """
    params.query = _both(params.query, _trusted(condition))


def names_in(condition: t.Any) -> frozenset[str]:
    """Return the names of the fields in a condition.

    :param condition: A query of fields and ``$or``.
    """
    if isinstance(condition, (list, tuple)):
        return frozenset().union(*map(names_in, condition))

    if not isinstance(condition, dict):
        return frozenset()

    fields = {name for name in condition if not name.startswith("$")}
    groups = [condition[name] for name in condition if name.startswith("$")]
    return names_in(groups) | fields


def _both(query: Record, condition: Record) -> Record:
    """Return a query for what meets two."""
    clash = query.keys() & condition.keys()

    if not clash:
        return {**query, **condition}

    # What both speak of stays a condition of its own, with the choice beside it.
    moved = {name: query[name] for name in query if name in {*clash, "$or"}}
    rest = {name: query[name] for name in query if name not in moved}
    terms = condition.get("$or")

    if terms is None:
        return {**rest, **condition, "$or": [moved]}

    return {**rest, **condition, "$or": [_both(moved, term) for term in terms]}


def _trusted(condition: t.Any) -> t.Any:
    if isinstance(condition, (list, tuple)):
        return [_trusted(term) for term in condition]

    if not isinstance(condition, dict):
        return condition

    return {
        **{n: _trusted(value) for n, value in condition.items() if n.startswith("$")},
        **{
            TrustedName(n): value
            for n, value in condition.items()
            if not n.startswith("$")
        },
    }
