"""Values of a body that a record has already."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..problems import Problem, READ_ONLY
from ..query.plans import Selection
from ..query.same_values import is_same
from ..query.values import cast
from ..service.computed import is_shown
from .reads import identifier, not_found

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..query import Field
    from ..typing import Id, Record
    from .calls import ResolvedCall
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
    names = sent.keys() - view.fields.computed.keys()
    fields = [view.fields[name] for name in sent if name in names]
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

    unchanged = {
        field.name
        for field in fields
        if is_unchanged(field, sent[field.name], stored[field])
    }

    if len(names) < len(sent):
        record = _computed(writing, call, id, sent.keys() - names)
        unchanged |= {name for name in record if is_shown(sent[name], record[name])}

    return {name: READ_ONLY for name in sent if name not in unchanged}


def _computed(
    writing: Writing, call: ResolvedCall, id: Id, names: Iterable[str]
) -> Record:
    """Return the computed fields of a record, which nobody else writes until the
    commit.

    :raises NotFound: There is no such record, or it does not meet the query.
    """
    view = call.view
    selected, computed, unshown = view.fields.shown(names)
    query = replace(
        call.query,
        selected=selected,
        computed=computed,
        unshown=unshown,
        populate=(),
        conditions=(),
    )
    call = call._replace(query=query, links=(), selection=Selection(selected))
    value = identifier(view.fields, id)
    plan = view.plans.one(query, call.selection, value, locking=True)

    with writing.reading() as reading:
        rows = reading.rows(plan)

    if not rows:
        raise not_found(id)

    [record] = call.records(rows)
    return {name: record[name] for name in names}


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

    return is_same(value, stored)
