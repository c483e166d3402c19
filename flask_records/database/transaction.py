"""The unit of work of the outermost call."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager, ExitStack, suppress
from contextvars import ContextVar

from flask import current_app, has_app_context

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator
    from contextlib import AbstractContextManager
    from contextvars import Token

    from flask import Flask

    from .joined_session import JoinedSession, Savepoint

_current: ContextVar[Transaction | None] = ContextVar(
    "records_transaction", default=None
)

_joining: list[Callable[[Transaction], None]] = []

NO_TRANSACTION = """\
This needs a call of a service around it. Use the service that 'FlaskRecords.add' \
returned, or open a 'Transaction'.\
"""

T = t.TypeVar("T")


class Transaction:
    """Commits everything that is written inside of the ``with`` block at its end, or
    rolls it back if the block raises. Events are sent after the commit and only then.

    Each call of a service has one. A nested transaction is a part of the outer one: it
    can be rolled back alone, and is committed with the outermost one.

    .. code-block:: python

        with Transaction():
            room = rooms.create({"name": "Lobby"})
            messages.create({"text": "Welcome", "roomId": room["id"]})

    What is written with the application's session inside of it is a part of it. If the
    session has something in progress when it begins, such as an instance that is added
    and not committed, then it is a savepoint in that, and the application commits.

    :param writes: ``False`` for reads, which need no savepoint.
    :param is_final: Commit what the application has in progress, too, as a transport
        does, after which nobody would.
    """

    def __init__(self, *, writes: bool = True, is_final: bool = False) -> None:
        self.is_final = is_final
        """``True`` if it commits what the application has in progress, too."""
        self.is_outermost = True
        """``True`` if it is not a part of another one."""
        self._writes = writes
        self._parent: Transaction | None = None
        self._is_over = False
        self._app = app_in_use()
        self._token: Token[Transaction | None]
        self._sessions: dict[Hashable, t.Any] = {}
        self._savepoints: dict[Hashable, Savepoint] = {}
        self._after_commit: list[Callable[[], None]] = []
        self._collected: dict[Callable[[list[t.Any]], None], list[t.Any]] = {}
        self._locks: dict[str, AbstractContextManager[t.Any]] = {}

    def __enter__(self) -> t.Self:
        self._parent = parent = self.current_or_none()
        self.is_outermost = parent is None
        self._token = _current.set(self)

        try:
            if parent is None:
                for join in _joining:
                    join(self)
            else:
                self._sessions, self._locks = parent._sessions, parent._locks

            if self._writes:
                for key in list(self._sessions):
                    self._protect(key)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

        return self

    def __exit__(self, *error: t.Any) -> None:
        _current.reset(self._token)
        self._is_over = True
        committing = error[0] is None

        if self._parent is not None:
            self._end_part(self._parent, committing)
        elif self.is_used:
            self._end_outermost(committing)

    @classmethod
    def current(cls) -> Transaction:
        """Return the innermost transaction, which has to be open."""
        transaction = cls.current_or_none()

        if transaction is None:
            raise RuntimeError(NO_TRANSACTION)

        return transaction

    @classmethod
    def current_or_none(cls) -> Transaction | None:
        """Return the innermost transaction of the application in use, if any."""
        transaction = _current.get()
        app = None if transaction is None else app_in_use()

        # A task or a thread with a copy of the context may go on after its end. The
        # sessions of another application have other databases.
        while transaction is not None and (
            transaction._is_over or transaction._app not in (app, None)
        ):
            transaction = transaction._parent

        return transaction

    @staticmethod
    def after_commit(function: Callable[[], None]) -> None:
        """Call a function after the commit of the outermost transaction in progress, or
        at once if there is none. It is not called if the innermost one is rolled back.

        :param function: It must not raise.
        """
        with Transaction(writes=False) as transaction:
            transaction._after_commit.append(function)

    @staticmethod
    def collect(function: Callable[[list[T]], None], item: T) -> None:
        """Call a function with an item and all others that are collected for it, once
        the functions of :meth:`after_commit` have run, or at once if no transaction is
        in progress.

        :param function: It is called with a list of items. It must not raise.
        """
        transaction = Transaction.current_or_none()

        if transaction is None:
            function([item])
        else:
            transaction._collected.setdefault(function, []).append(item)

    def hold(self, key: str, lock: AbstractContextManager[t.Any]) -> None:
        """Hold a lock from before the outermost commit until the functions after it
        have run, unless the application commits. The lock of a key is held once.
        """
        self._locks.setdefault(key, lock)

    @classmethod
    def join(cls, key: Hashable, make: Callable[[], T]) -> T:
        """Return the session of a key in the transaction in progress, which is made at
        its first use.
        """
        sessions = cls.current()._sessions

        if key not in sessions:
            sessions[key] = make()

        joined: T = sessions[key]
        return joined

    @property
    def sessions(self) -> Collection[JoinedSession]:
        """All sessions that have joined."""
        return self._sessions.values()

    @classmethod
    def protect(cls, key: Hashable) -> None:
        """Let later writes of a session be rolled back with the innermost part."""
        cls.current()._protect(key)

    def _protect(self, key: Hashable) -> None:
        if self._parent is not None:
            self._parent._protect(key)
        elif not self._sessions[key].is_in_progress:
            return

        if key not in self._savepoints:
            self._savepoints[key] = self._sessions[key].savepoint()

    @property
    def is_used(self) -> bool:
        """``True`` if there is something to commit, to follow or to roll back."""
        functions = self._after_commit or self._collected
        return bool(functions) or any([each.is_used for each in self.sessions])

    def _end_part(self, parent: Transaction, committing: bool) -> None:
        if not committing:
            self._undo_part()
            return

        try:
            for key in self._savepoints:
                self._sessions[key].prepare()

            self._release()
        except BaseException:
            self._undo_part()
            raise

        parent._after_commit += self._after_commit

        for function, items in self._collected.items():
            parent._collected.setdefault(function, []).extend(items)

    def _release(self) -> None:
        for key, savepoint in reversed(self._savepoints.items()):
            self._sessions[key].release(savepoint)

    def _undo_part(self) -> None:
        for key, savepoint in reversed(self._savepoints.items()):
            # The database has undone the whole, as after a deadlock. The session can't
            # be committed any more.
            with suppress(Exception):
                self._sessions[key].undo(savepoint)

    def _end_outermost(self, committing: bool) -> None:
        if not committing:
            self._rollback()
            return

        with ExitStack() as locks:
            try:
                awaited = self._commit(locks)
            except BaseException:
                self._rollback()
                raise

            if awaited:
                awaited[-1].await_commit(self._conclude)
            else:
                self._conclude()

    def _commit(self, locks: ExitStack) -> list[JoinedSession]:
        """Commit, and return the sessions whose commit is left to the application."""
        sessions, savepoints = self._sessions, self._savepoints
        ours = [
            each
            for each in sessions.values()
            if self.is_final or not each.is_in_progress
        ]

        for key, session in sessions.items():
            if session in ours or key in savepoints:
                session.prepare()

        awaited = [] if self.is_final else [sessions[key] for key in savepoints]

        if not awaited:
            for lock in self._locks.values():
                locks.enter_context(lock)

        self._release()

        for session in ours:
            session.commit()

        return awaited

    def _conclude(self) -> None:
        for function in self._after_commit:
            function()

        for collector, items in self._collected.items():
            collector(items)

    def _rollback(self) -> None:
        self._undo_part()

        # All of them are, even if one raises.
        with ExitStack() as stack:
            for session in self._sessions.values():
                if not session.is_in_progress:
                    stack.callback(session.rollback)


def app_in_use() -> Flask | None:
    """Return the application in use, if any."""
    # An attribute of the proxy takes ten times as long.
    return current_app._get_current_object() if has_app_context() else None  # type: ignore[attr-defined]  # a proxy has it


class _Undone(Exception):
    """Ends a transaction whose block has succeeded."""


@contextmanager
def undone() -> Iterator[None]:
    """A transaction that is rolled back at its end, without events."""
    with suppress(_Undone), Transaction():
        yield
        raise _Undone


def on_begin(function: Callable[[Transaction], None]) -> None:
    """Call a function with each outermost transaction as it begins."""
    _joining.append(function)
