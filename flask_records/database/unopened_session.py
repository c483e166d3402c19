"""A session of a call, as long as nobody has used it."""

from __future__ import annotations

import typing as t
from functools import lru_cache

from sqlalchemy import orm

if t.TYPE_CHECKING:
    from collections.abc import Callable

OPEN: t.Final = "records_open"
"""The attribute of an unopened session with the function that opens it."""

OPENING: t.Final[dict[str, t.Callable[..., t.Any]]] = {
    "__getattribute__": getattr,
    "__setattr__": setattr,
    "__delattr__": delattr,
}
"""The methods by which somebody first uses a session."""


def unopened_session(
    factory: orm.sessionmaker[orm.Session], follow: Callable[[orm.Session], None]
) -> orm.Session:
    """Return a session that is set up when somebody first uses it. Most hooks do not,
    and to make and to close one takes a twentieth of the time of a create.

    :param factory: A factory whose sessions need no state of a request.
    :param follow: Called with the session as soon as it is set up.
    """
    class_: t.Any = factory.class_

    def open(session: orm.Session) -> None:
        class_.__init__(session, **factory.kw)
        follow(session)

    session: orm.Session = object.__new__(_defer_opening(class_))
    object.__setattr__(session, OPEN, open)
    return session


@lru_cache(maxsize=16)
def _defer_opening(class_: type[orm.Session]) -> type[orm.Session]:
    """Return a class whose instances become sessions of a class at their first use."""

    def opening(use: Callable[..., t.Any]) -> Callable[..., t.Any]:
        def open_and_use(self: orm.Session, *args: t.Any) -> t.Any:
            open = object.__getattribute__(self, "__dict__").pop(OPEN)
            object.__setattr__(self, "__class__", class_)
            open(self)
            return use(self, *args)

        return open_and_use

    methods = {name: opening(use) for name, use in OPENING.items()}
    return type(class_.__name__, (class_,), methods)
