"""The unit of work of the outermost call."""

from __future__ import annotations

import typing as t
from contextlib import ExitStack
from contextvars import ContextVar

from .errors import Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from contextvars import Token

_current: ContextVar[Transaction | None] = ContextVar(
    "records_transaction", default=None
)

_current_ending: ContextVar[Ending | None] = ContextVar("records_ending", default=None)

NO_TRANSACTION = """\
This needs a call of a service around it. Use the service that 'FlaskRecords.add' \
returned, or open a 'Transaction'.\
"""

UNDONE: t.Final = "The database has undone the call. Try again."


class Savepoint(t.Protocol):
    """A point that a part of a transaction can be rolled back to."""

    def commit(self) -> None:
        """Keep the writes since."""

    def rollback(self) -> None:
        """Undo the writes since."""


class Participant(t.Protocol):
    """Something that commits with the transaction, such as a database session."""

    def savepoint(self) -> Savepoint:
        """Return a point to roll back to."""

    def prepare(self) -> None:
        """Raise if the writes can't be committed. Called before any commit."""

    def commit(self) -> None:
        """Make all writes durable."""

    def rollback(self) -> None:
        """Undo all writes."""

    def close(self) -> None:
        """Release all resources. Always called last."""


P = t.TypeVar("P", bound=Participant)

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
    """

    def __init__(self) -> None:
        self._parent: Transaction | None = None
        self._token: Token[Transaction | None]
        self._participants: dict[Hashable, Participant] = {}
        self._savepoints: dict[Hashable, Savepoint] = {}
        self._before_commit: list[Callable[[], t.Any]] = []
        self._after_commit: list[Callable[[], None]] = []
        self._held: dict[str, AbstractContextManager[t.Any]] = {}
        self._is_broken = False

    def __enter__(self) -> t.Self:
        self._parent = _current.get()
        self._token = _current.set(self)
        return self

    def __exit__(self, *error: t.Any) -> None:
        _current.reset(self._token)
        committing = error[0] is None
        work = self._participants or self._before_commit or self._after_commit

        if self._parent is not None:
            self._end_part(self._parent, committing)
        elif work or self._held:
            self._end_outermost(committing)

    @classmethod
    def current(cls) -> Transaction:
        """Return the innermost transaction.

        :raises RuntimeError: There is none.
        """
        transaction = _current.get()

        if transaction is None:
            raise RuntimeError(NO_TRANSACTION)

        return transaction

    @classmethod
    def current_or_none(cls) -> Transaction | None:
        """Return the innermost transaction, if there is one."""
        return _current.get()

    def before_commit(self, function: Callable[[], t.Any]) -> None:
        """Call a function at the end of the outermost transaction, as a part of it. It
        is not called if this part is rolled back.

        :param function: An exception that it raises rolls the transaction back.
        """
        self._before_commit.append(function)

    def after_commit(self, function: Callable[[], None]) -> None:
        """Call a function after the commit of the outermost transaction.

        :param function: It must not raise.
        """
        self._after_commit.append(function)

    def hold(self, key: str, lock: AbstractContextManager[t.Any]) -> None:
        """Hold a lock from before the outermost commit until the functions after it
        have run. Locks are taken in the order of their keys.

        :param lock: A context manager.
        """
        self._outermost._held.setdefault(key, lock)

    def join(self, key: Hashable, make: Callable[[], P]) -> P:
        """Return the participant of a key.

        :param make: Makes it at the first use in the outermost transaction.
        """
        participants = self._outermost._participants

        if key not in participants:
            participants[key] = make()

        return t.cast(P, participants[key])

    def participant(self, key: Hashable) -> Participant | None:
        """Return the participant of a key, or ``None`` if none has joined."""
        return self._outermost._participants.get(key)

    def protect(self, key: Hashable) -> None:
        """Let later writes of a participant be rolled back alone, with this part.

        :param key: The key of the participant.
        """
        if self._parent is None:
            return

        self._parent.protect(key)

        if key not in self._savepoints:
            participant = self._outermost._participants[key]
            self._savepoints[key] = participant.savepoint()

    @property
    def is_outermost(self) -> bool:
        """``True`` if it is not a part of another one."""
        return self._parent is None

    @property
    def _outermost(self) -> Transaction:
        return self if self._parent is None else self._parent._outermost

    def _end_part(self, parent: Transaction, committing: bool) -> None:
        if not committing:
            self._undo_part()
            return

        try:
            self._keep_part()
        except BaseException:
            self._undo_part()
            raise

        parent._before_commit += self._before_commit
        parent._after_commit += self._after_commit

    def _keep_part(self) -> None:
        participants = self._outermost._participants

        for key in self._savepoints:
            participants[key].prepare()

        while self._savepoints:
            key, savepoint = self._savepoints.popitem()

            try:
                savepoint.commit()
            except Exception as error:
                self._outermost._is_broken = True
                raise Unavailable(UNDONE) from error

    def _undo_part(self) -> None:
        while self._savepoints:
            _, savepoint = self._savepoints.popitem()

            try:
                savepoint.rollback()
            except Exception:
                # The database has rolled back the whole transaction by itself, as after
                # a deadlock. Its other parts are gone, too.
                self._outermost._is_broken = True

    def _end_outermost(self, committing: bool) -> None:
        with ExitStack() as locks:
            try:
                if committing:
                    self._commit(locks)
                else:
                    self._rollback()
            finally:
                _close(list(self._participants.values()))

            if committing and self._after_commit:
                Ending().run(self._after_commit)

    def _prepare(self) -> None:
        # Writes of these functions belong to the transaction, too.
        token = _current.set(self)

        try:
            for function in self._before_commit:
                function()
        finally:
            _current.reset(token)

    def _commit(self, locks: ExitStack) -> None:
        try:
            self._prepare()

            for key in sorted(self._held):
                locks.enter_context(self._held[key])

            if self._is_broken:
                raise Unavailable(UNDONE)

            for participant in self._participants.values():
                participant.prepare()

            for participant in self._participants.values():
                participant.commit()
        except BaseException:
            self._rollback()
            raise

    def _rollback(self) -> None:
        for participant in self._participants.values():
            participant.rollback()


def _close(participants: list[Participant]) -> None:
    """Close participants, last to first: all of them, even if one raises."""
    while participants:
        participant = participants.pop()

        try:
            participant.close()
        except BaseException:
            _close(participants)
            raise


class Ending:
    """Runs functions after a commit, and hands on the items that they gather, together.

    A function may commit a transaction of its own. The items gathered until then are
    handed on first, so that all items are in the order of the commits.
    """

    def __init__(self) -> None:
        self._outer = Ending.current_or_none()
        self._gathered: dict[Callable[[list[t.Any]], None], list[t.Any]] = {}
        self._is_over = False

    @classmethod
    def current_or_none(cls) -> Ending | None:
        """Return the ending whose functions are running, if there is one."""
        ending = _current_ending.get()
        # A thread that a function has started may have a copy of the context.
        return None if ending is None or ending._is_over else ending

    def run(self, functions: Iterable[Callable[[], None]]) -> None:
        """Run functions, which must not raise, then hand on the items gathered."""
        token = _current_ending.set(self)

        try:
            for function in functions:
                function()
        finally:
            _current_ending.reset(token)
            self._is_over = True
            self._hand_on()

    def _hand_on(self) -> None:
        if not self._gathered:
            return

        if self._outer is not None:
            self._outer._hand_on()

        gathered, self._gathered = self._gathered, {}

        for function, items in gathered.items():
            function(items)


def before_commit(function: Callable[[], t.Any]) -> None:
    """Call a function at the end of the transaction in progress, or at once if there is
    none. An exception that it raises rolls the transaction back.
    """
    transaction = _current.get()

    if transaction is None:
        function()
    else:
        transaction.before_commit(function)


def after_commit(function: Callable[[], None]) -> None:
    """Call a function, which must not raise, after the commit of the transaction in
    progress, or at once if there is none.
    """
    transaction = _current.get()

    if transaction is not None:
        transaction.after_commit(function)
    elif Ending.current_or_none() is not None:
        function()
    else:
        Ending().run([function])


def gather(function: Callable[[list[T]], None], item: T) -> None:
    """Call a function with an item and all others that are gathered for it after the
    same commit, or at once outside of functions that run after a commit.

    :param function: It is called with a list of items. It must not raise.
    """
    ending = Ending.current_or_none()

    if ending is None:
        function([item])
    else:
        ending._gathered.setdefault(function, []).append(item)
