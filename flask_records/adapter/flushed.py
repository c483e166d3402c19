"""Instances that a session has written before its commit, for those that listen.

Search indexes and audit logs listen to ``before_commit``, and read ``session.new``,
``dirty`` and ``deleted``, which are empty once a call has flushed them.
"""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from .drivers import application_listens

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.util import IdentitySet

KEY: t.Final = "records_flushed"
"""The key in the ``info`` of a session that shows what it has flushed."""


_classes: WeakValueDictionary[type[orm.Session], type[orm.Session]] = (
    WeakValueDictionary()
)
"""The classes of sessions that show what they have flushed, by those that don't."""


class Flushed:
    """The instances that one session has flushed since its transaction began.

    :param session: The session.
    """

    def __init__(self, session: orm.Session) -> None:
        self.is_shown = False
        """``True`` while listeners to ``before_commit`` run."""
        self._new: dict[int, t.Any] = {}
        self._dirty: dict[int, t.Any] = {}
        self._deleted: dict[int, t.Any] = {}
        # They stay, since a listener can't be removed while listeners run.
        sa.event.listen(session, "after_flush", self._after_flush)
        sa.event.listen(session, "before_commit", self._hide)
        sa.event.listen(session, "after_commit", self._after_commit)
        sa.event.listen(session, "after_transaction_end", self._after_end)

    @property
    def new(self) -> list[t.Any]:
        """The instances that were inserted, and are there."""
        return [each for each in self._new.values() if sa.inspect(each).persistent]

    @property
    def dirty(self) -> list[t.Any]:
        """The instances that were updated, and are there."""
        changed = [each for key, each in self._dirty.items() if key not in self._new]
        return [each for each in changed if sa.inspect(each).persistent]

    @property
    def deleted(self) -> list[t.Any]:
        """The instances that were there, and are deleted."""
        others = [each for key, each in self._deleted.items() if key not in self._new]
        return [each for each in others if sa.inspect(each).deleted]

    def show(self, session: orm.Session) -> None:
        """Show them until the listeners to ``before_commit`` have run."""
        self.is_shown = True
        # Flask-SQLAlchemy has noted them as they were before, under another key.
        changes = getattr(session, "_model_changes", {})

        for each in self._new:
            changes.pop(each, None)

    def hide(self) -> None:
        """Show them no longer."""
        self.is_shown = False

    def _after_flush(self, session: orm.Session, context: t.Any) -> None:
        if isinstance(session, ShowingSession):
            self._new.update((id(each), each) for each in session.new)
            self._deleted.update((id(each), each) for each in session.deleted)
            changed = [each for each in session.dirty if session.is_modified(each)]
            self._dirty.update((id(each), each) for each in changed)

    def _hide(self, session: orm.Session) -> None:
        # It runs after the listeners of the session's class.
        self.hide()

    def _after_commit(self, session: orm.Session) -> None:
        if not session.in_nested_transaction():
            self._forget()

    def _after_end(
        self, session: orm.Session, transaction: orm.SessionTransaction
    ) -> None:
        if transaction.parent is None:
            self._forget()

            if isinstance(session, ShowingSession):
                t.cast("t.Any", session).__class__ = type(session).__mro__[2]

    def _forget(self) -> None:
        for instances in (self._new, self._dirty, self._deleted):
            instances.clear()


class ShowingSession(orm.Session):
    """A session whose listeners to ``before_commit`` find what it has flushed, too."""

    def commit(self) -> None:
        """Commit."""
        flushed = self._flushed
        flushed.show(self)

        try:
            super().commit()
        finally:
            flushed.hide()

    @property
    def new(self) -> IdentitySet:
        """The instances to insert."""
        new, flushed = super().new, self._flushed
        return new.union(flushed.new) if flushed.is_shown else new

    @property
    def dirty(self) -> IdentitySet:
        """The instances that may have changed."""
        dirty, flushed = super().dirty, self._flushed
        return dirty.union(flushed.dirty) if flushed.is_shown else dirty

    @property
    def deleted(self) -> IdentitySet:
        """The instances to delete."""
        deleted, flushed = super().deleted, self._flushed
        return deleted.union(flushed.deleted) if flushed.is_shown else deleted

    @property
    def _flushed(self) -> Flushed:
        return t.cast("Flushed", self.info[KEY])


def show_flushed(session: orm.Session) -> None:
    """Let those that listen to the commit of a session find what it flushes from now
    on, up to the end of its transaction.
    """
    if isinstance(session, ShowingSession) or not application_listens(
        session.dispatch, ("before_commit",)
    ):
        return

    if KEY not in session.info:
        session.info[KEY] = Flushed(session)

    t.cast("t.Any", session).__class__ = _showing(type(session))


def _showing(session: type[orm.Session]) -> type[orm.Session]:
    """Return a class of sessions that shows what they have flushed."""
    showing = _classes.get(session)

    if showing is None:
        showing = type(session.__name__, (ShowingSession, session), {})
        _classes[session] = showing

    return showing


class Silence:
    """The listeners of a session that nobody listens to."""

    def __getattr__(self, name: str) -> t.Any:
        """Return a function that does nothing, for an event."""
        return lambda *args: None


@contextmanager
def silent(session: t.Any) -> Iterator[None]:
    """Call no listener of a session, as at the end of a savepoint that the application
    does not know of: it is no commit.
    """
    session.dispatch, dispatch = Silence(), session.dispatch

    try:
        yield
    finally:
        session.dispatch = dispatch
