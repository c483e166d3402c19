"""Hooks that an application places among its own."""

from __future__ import annotations

import datetime as dt
import typing as t

from ..context import Params

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..context import HookContext
    from ..typing import Hook

NO_TIME: t.Final = """\
'set_now' names '{name}', whose column holds neither times nor dates, but '{type}'.\
"""

STAMPS: t.Final[dict[t.Any, Callable[[dt.datetime], t.Any]]] = {
    dt.datetime: lambda now: now,
    dt.date: dt.datetime.date,
    dt.time: dt.datetime.time,
}
"""The values of a time, by the Python types of columns."""


def set_now(*fields: str) -> Hook:
    """Return a before hook for create, update and patch that sets fields to the time of
    the call, in UTC. Columns of dates and of times of day get that part of it. A client
    can't choose another value; a call in Python can.

    :param fields: The fields with times, such as ``"createdAt"``.
    :raises TypeError: A name is not text, or there is none.
    """
    if not fields or not all(isinstance(name, str) for name in fields):
        raise TypeError(
            "'set_now' returns a hook. Connect what it returns: set_now('createdAt')."
        )

    def set_fields(method: str, context: HookContext) -> None:
        now, is_client = dt.datetime.now(dt.UTC), context.params.provider is not None

        for name in fields:
            stamp = _stamp(context, name, now)

            for body in context.bodies:
                if is_client or name not in body:
                    body[name] = stamp

        # These values are those of the application.
        state = context.params._state
        state.client_fields = frozenset(state.client_fields).difference(fields)

    return set_fields


def _stamp(context: HookContext, name: str, now: dt.datetime) -> t.Any:
    """Return a time as the column of a field holds it.

    :raises TypeError: The column holds something else.
    """
    scope = context.service.capabilities.scope_for(Params())

    if scope is None:
        return now

    type_ = scope[name].column.type

    try:
        make = STAMPS[type_.python_type]
    except (KeyError, NotImplementedError):
        raise TypeError(NO_TIME.format(name=name, type=type_)) from None

    return make(now)
