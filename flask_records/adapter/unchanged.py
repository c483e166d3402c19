"""Values of a body that a record has already."""

from __future__ import annotations

import datetime as dt
import math
import typing as t
from decimal import Decimal

from ..problems import Problem
from ..problems import READ_ONLY
from ..query.plans import Selection
from ..query.values import cast
from .reads import identifier
from .reads import not_found

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..query import Field
    from ..typing import Id
    from ..typing import Record
    from .view import ResolvedCall
    from .writing import Writing


def changed(
    writing: Writing, call: ResolvedCall, id: Id, sent: Record
) -> dict[str, Problem]:
    """Return the problems of values that the caller may not write: those that differ
    from what the record shows, as a client may send it back. Nobody else writes the
    record until the commit.

    :param sent: The values of the body, which are not cast.
    :raises NotFound: There is no such record, or it does not meet the query.
    """
    view = call.view
    fields = [view.fields[name] for name in sent]
    values = identifier(view.fields, id)
    stored = dict(zip(view.fields.identifying, values, strict=True))

    if view.fields.composite is not None:
        stored[view.fields.composite] = values

    others = tuple([field for field in fields if field not in stored])

    # The address tells the identifier.
    if others:
        plan = view.plans.one(call.query, Selection(others), values, locking=True)

        with writing.reading() as reading:
            rows = reading.rows(plan)

        if not rows:
            raise not_found(id)

        stored.update(zip(others, rows[0], strict=True))

    return {
        field.name: READ_ONLY
        for field in fields
        if not is_unchanged(field, sent[field.name], stored[field])
    }


def is_unchanged(field: Field, sent: t.Any, stored: t.Any) -> bool:
    """Return ``True`` if a value of a body is what a record shows. JavaScript cuts
    times to milliseconds, and numbers to 53 bits.
    """
    show = field.conversion.show

    if show is not None:
        return bool(sent == (None if stored is None else show(stored)))

    try:
        value = cast(field.conversion, sent, in_query=False)
    except ValueError:
        return False

    try:
        stored = cast(field.conversion, stored, in_query=False)
    except ValueError:
        # The database has a value that no client can write. It is shown as it is.
        pass

    return _is_same(value, stored)


def _is_same(sent: t.Any, stored: t.Any) -> bool:
    # A number that is not finite is shown as null.
    if isinstance(stored, float) and not math.isfinite(stored):
        stored = None

    # Python takes True for 1.
    if sent == stored and isinstance(sent, bool) == isinstance(stored, bool):
        return True

    for types, is_same in COMPARISONS.items():
        if isinstance(sent, types) and isinstance(stored, types):
            return is_same(sent, stored)

    return False


def _is_same_moment(sent: dt.datetime, stored: dt.datetime) -> bool:
    microseconds = stored.microsecond // 1000 * 1000
    return sent == stored.replace(microsecond=microseconds)


def _is_same_number(sent: t.Any, stored: t.Any) -> bool:
    if isinstance(sent, bool) or isinstance(stored, bool):
        return False

    try:
        return float(sent) == float(stored)
    except OverflowError:
        return False


def _is_same_list(sent: t.Any, stored: t.Any) -> bool:
    pairs = zip(sent, stored, strict=False)
    return len(sent) == len(stored) and all(_is_same(*pair) for pair in pairs)


def _is_same_object(sent: t.Any, stored: t.Any) -> bool:
    return sent.keys() == stored.keys() and all(
        _is_same(value, stored[name]) for name, value in sent.items()
    )


COMPARISONS: dict[t.Any, Callable[[t.Any, t.Any], bool]] = {
    dt.datetime: _is_same_moment,
    dt.timedelta: lambda sent, stored: sent.total_seconds() == stored.total_seconds(),
    (int, float, Decimal): _is_same_number,
    (list, tuple): _is_same_list,
    dict: _is_same_object,
}
"""The comparisons of values that are not equal, by type."""
