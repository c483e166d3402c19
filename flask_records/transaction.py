"""The unit of work of the outermost call."""

from __future__ import annotations

import typing as t
from contextlib import ExitStack
from contextvars import ContextVar

from .errors import Unavailable

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from contextvars import Token

_current: ContextVar[Transaction | None] = ContextVar(
    "records_transaction", default=None
)

_joining: list[Callable[[Transaction], None]] = []

NO_TRANSACTION = """\
This needs a call of a service around it. Use the service that 'FlaskRecords.add' \
returned, or open a 'Transaction'.\
"""

UNDONE: t.Final = "The database has undone the call. Try again."


class Savepoint(t.Protocol):
    """A point that a part of a transaction can be rolled back to."""

    def has_writes(self) -> bool:
        """Return ``True`` if something was written since."""

    def commit(self) -> None:
        """Keep the writes since."""

    def rollback(self) -> None:
        """Undo the writes since."""


class Participant(t.Protocol):
    """Something that commits with the transaction, such as a database session."""

    is_in_progress: bool
    """``True`` if the application had begun to write before, and commits that itself.
    The transaction is a savepoint then.
    """

    def savepoint(self) -> Savepoint:
        """Return a point to roll back to."""

    def await_commit(self, conclusion: Conclusion) -> None:
        """Let a conclusion follow the commit of what is in progress."""

    def prepare(self) -> None:
        """Raise if the writes can't be committed. Called before any commit."""

    def commit(self) -> None:
        """Make all writes durable."""

    def rollback(self) -> None:
        """Undo all writes."""

    def close(self) -> None:
        """Release all resources. Always called last."""


Collected: t.TypeAlias = "dict[Callable[[list[t.Any]], None], list[t.Any]]"
"""Functions, and the items to call them with."""

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
        self._writes = writes
        self._parent: Transaction | None = None
        self._token: Token[Transaction | None]
        self._participants: dict[Hashable, Participant] = {}
        self._savepoints: dict[Hashable, Savepoint] = {}
        self._before_commit: list[Callable[[], t.Any]] = []
        self._after_commit: list[Callable[[], None]] = []
        self._collected: Collected = {}
        self._held: dict[str, AbstractContextManager[t.Any]] = {}
        self._is_broken = False

    def __enter__(self) -> t.Self:
        self._parent = _current.get()
        self._token = _current.set(self)

        try:
            self._begin()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

        return self

    def __exit__(self, *error: t.Any) -> None:
        _current.reset(self._token)
        committing = error[0] is None

        if self._parent is None:
            self._end_outermost(committing)
        else:
            self._end_part(self._parent, committing)

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

    def collect(self, function: Callable[[list[T]], None], item: T) -> None:
        """Call a function with an item and all others that are collected for it, once
        the functions of :meth:`after_commit` have run.

        :param function: It is called with a list of items. It must not raise.
        """
        self._collected.setdefault(function, []).append(item)

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

    @property
    def participants(self) -> Collection[Participant]:
        """All participants."""
        return self._outermost._participants.values()

    def protect(self, key: Hashable) -> None:
        """Let later writes of a participant be rolled back alone, with this part.

        :param key: The key of the participant.
        """
        participant = self._outermost._participants[key]

        if self._parent is not None:
            self._parent.protect(key)
        elif not participant.is_in_progress:
            return

        if key not in self._savepoints:
            self._savepoints[key] = participant.savepoint()

    @property
    def is_outermost(self) -> bool:
        """``True`` if it is not a part of another one."""
        return self._parent is None

    @property
    def _outermost(self) -> Transaction:
        return self if self._parent is None else self._parent._outermost

    def _begin(self) -> None:
        if self._parent is None:
            for join in _joining:
                join(self)

        if self._writes:
            for key in list(self._outermost._participants):
                self.protect(key)

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

        for function, items in self._collected.items():
            parent._collected.setdefault(function, []).extend(items)

    def _keep_part(self) -> None:
        participants = self._outermost._participants

        for key in self._savepoints:
            participants[key].prepare()

        self._release()

    def _release(self) -> None:
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
        conclusion = Conclusion(self._held, self._after_commit, self._collected)
        awaited: list[Participant] = []

        try:
            try:
                if committing:
                    awaited = self._commit(conclusion)
                else:
                    self._rollback()
            finally:
                _close(list(self._participants.values()))
        except BaseException:
            conclusion.drop()
            raise

        if committing:
            conclusion.run_after(awaited)

    def _prepare(self) -> None:
        # Writes of these functions belong to the transaction, too.
        token = _current.set(self)

        try:
            for function in self._before_commit:
                function()
        finally:
            _current.reset(token)

    def _commit(self, conclusion: Conclusion) -> list[Participant]:
        """Commit, and return the participants whose commit is left to others."""
        participants, savepoints = self._participants, self._savepoints

        try:
            self._prepare()

            if self._is_broken:
                raise Unavailable(UNDONE)

            ours = [
                each
                for each in participants.values()
                if self.is_final or not each.is_in_progress
            ]

            for key, participant in participants.items():
                if participant in ours or key in savepoints:
                    participant.prepare()

            awaited = [
                participants[key]
                for key, savepoint in savepoints.items()
                if not self.is_final and savepoint.has_writes()
            ]

            if not awaited:
                conclusion.prepare()

            self._release()

            for participant in ours:
                participant.commit()
        except BaseException:
            self._rollback()
            raise

        return awaited

    def _rollback(self) -> None:
        self._undo_part()

        for participant in self._participants.values():
            if not participant.is_in_progress:
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


class Conclusion:
    """The end of a transaction: takes locks before the commit, and runs functions after
    it, also where the application commits.

    :param held: The locks by their keys.
    :param functions: The functions, which must not raise.
    :param collected: Functions that are called after these, and their items.
    """

    def __init__(
        self,
        held: Mapping[str, AbstractContextManager[t.Any]],
        functions: Sequence[Callable[[], None]],
        collected: Collected,
    ) -> None:
        self._held = held
        self._functions = functions
        self._collected = collected
        self._locks = ExitStack()
        self._number_awaited = 0

    def prepare(self) -> None:
        """Take the locks."""
        held, self._held = self._held, {}

        for key in sorted(held):
            self._locks.enter_context(held[key])

    def run_after(self, participants: Collection[Participant]) -> None:
        """Run the functions after the commits of participants, or now without any."""
        self._number_awaited = len(participants)

        for participant in participants:
            participant.await_commit(self)

        if not participants:
            self.run()

    def run(self) -> None:
        """Run the functions, once the last of the participants has committed."""
        self._number_awaited -= 1

        if self._number_awaited > 0:
            return

        try:
            for function in self._functions:
                function()

            for hand_on, items in self._collected.items():
                hand_on(items)
        finally:
            self.drop()

    def drop(self) -> None:
        """Forget the functions, as the transaction is rolled back."""
        self._functions, self._collected = (), {}
        self._locks.close()


def on_begin(function: Callable[[Transaction], None]) -> None:
    """Call a function with each outermost transaction as it begins, so that it can let
    participants join.
    """
    _joining.append(function)


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

    if transaction is None:
        function()
    else:
        transaction.after_commit(function)


def collect(function: Callable[[list[T]], None], item: T) -> None:
    """Call a function, which must not raise, with an item and all others that are
    collected for it in the transaction in progress, after its commit; or with this item
    at once if there is none.
    """
    transaction = _current.get()

    if transaction is None:
        function([item])
    else:
        transaction.collect(function, item)
