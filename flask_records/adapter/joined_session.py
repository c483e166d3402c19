"""Sessions that commit with a transaction."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import Unavailable
from ..query.dialects import add_functions
from ..transaction import Transaction, UNDONE
from .database_errors import AWAY, FAILED, translated
from .drivers import begin_writing, has_failed, IS_UNDONE
from .host_commits import HostCommits, KEY
from .work import connections_of, NO_WORK, open_transactions, work_of, written_by

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ..transaction import Conclusion, Savepoint
    from .work import Work

    Mapper: t.TypeAlias = orm.Mapper[t.Any]

    SharedSource: t.TypeAlias = (
        orm.Session | orm.scoped_session[t.Any] | Callable[[], orm.Session]
    )

ENDED: t.Final = """\
A hook or a method has ended the transaction of the session by 'commit', 'rollback', \
'close' or 'remove', which would keep a part of the call only. Leave that to the call.\
"""


def join(source: SharedSource) -> JoinedSession:
    """Return the participant of a session that belongs to the application. It joins the
    transaction in progress now, if it has not.

    :param source: The session, a ``scoped_session``, which makes it when somebody uses
        it, or a function that returns it.
    """
    transaction = Transaction.current()

    if isinstance(source, orm.scoped_session):
        return transaction.join(source, lambda: JoinedSession(source))

    session = source if isinstance(source, orm.Session) else source()

    # It may have joined as that of a scoped_session.
    for participant in transaction.participants:
        if isinstance(participant, JoinedSession) and participant.is_of(session):
            return participant

    # In a part, nobody can tell if the application wrote before the whole began.
    is_late = not transaction.is_outermost
    return transaction.join(session, lambda: JoinedSession(session, is_late=is_late))


class JoinedSession:
    """A database session that commits with a transaction.

    A transaction that the session was in before, begun by the application, is left to
    the application if it has written there, or if nobody writes.

    :param source: The session, or the ``scoped_session`` that makes it when somebody
        uses it.
    :param key: The key of the participant. The source by default.
    :param is_own: ``True`` for a session that was made for the transaction.
    :param is_late: ``True`` if all that it has in progress belongs to the transaction.
    """

    def __init__(
        self,
        source: orm.Session | orm.scoped_session[t.Any],
        *,
        key: t.Any = None,
        is_own: bool = False,
        is_late: bool = False,
    ) -> None:
        self._source = source
        self._key = source if key is None else key
        self._is_own = is_own
        self._session = source if isinstance(source, orm.Session) else None
        session = self.session_in_use()
        self._ends_transaction = session is None
        self._work_before = NO_WORK

        if session is not None and not is_late:
            self._work_before = _work_before(session)

        self.is_in_progress = bool(self._work_before)
        """``True`` if the application had begun to write in the session before."""
        self._written: orm.SessionTransaction | None = None
        self._written_connections: set[sa.Connection] = set()
        self._connections: dict[Mapper, tuple[t.Any, sa.Connection]] = {}

    @property
    def session(self) -> orm.Session:
        """The session. It is made now if there is none."""
        if self._session is None:
            self._session = t.cast("orm.scoped_session[t.Any]", self._source)()

        return self._session

    def session_in_use(self) -> orm.Session | None:
        """Return the session if it is in a transaction."""
        session = self._session

        if session is None:
            source = t.cast("orm.scoped_session[t.Any]", self._source)

            if not source.registry.has():
                return None

            session = source()

        return session if session.in_transaction() else None

    def is_of(self, session: orm.Session) -> bool:
        """Return ``True`` if a session is this one."""
        return session in (self._session, self.session_in_use())

    def begin_writing(self, mapper: Mapper) -> None:
        """Make the session ready to write."""
        connection = self.connection(mapper)
        self._ends_transaction = True

        if connection not in self._written_connections:
            begin_writing(connection)
            self._written_connections.add(connection)
            self._written = self.session.get_transaction()

        Transaction.current().protect(self._key)

    def connection(self, mapper: Mapper) -> sa.Connection:
        """Return the connection of the session. A savepoint of the session begins with
        this.

        :raises RuntimeError: The application has ended the transaction that the call
            writes in.
        :raises Unavailable: The database does not give one.
        """
        session = self.session
        transaction = session.get_transaction()
        self._check_written()
        entry = self._connections.get(mapper)

        if (
            entry is not None
            and entry[0] is transaction
            and session.get_nested_transaction() is None
        ):
            return entry[1]

        with translated():
            connection = session.connection(bind_arguments={"mapper": mapper})

        add_functions(connection)
        self._connections[mapper] = session.get_transaction(), connection
        return connection

    def savepoint(self) -> Savepoint:
        """Return a savepoint of the database."""
        session = self.session_in_use()
        self._check_written()

        if session is None:
            return Beginning(self)

        with translated():
            return SessionSavepoint(session)

    def await_commit(self, conclusion: Conclusion) -> None:
        """Let a conclusion follow the commit of the application."""
        HostCommits.of(self.session).add(self.session, conclusion)

    def prepare(self) -> None:
        """Write what is left, and check that it can be committed.

        :raises RuntimeError: The application has ended the transaction, or caught an
            error for which the database will undo it.
        :raises Unavailable: The database has undone it already.
        """
        session = self.session_in_use()

        self._check_written()

        if session is None or not self._has_worked(session):
            return

        with translated():
            session.flush()

        _check_commit(session)

        if any(IS_UNDONE in each.info for each in self._written_connections):
            raise Unavailable(UNDONE)

    def commit(self) -> None:
        """Commit, if the transaction is ours to end."""
        session = self.session_in_use()

        if session is not None and self._has_worked(session):
            with translated():
                session.commit()

    def rollback(self) -> None:
        """Roll back, if the transaction is ours to end."""
        session = self.session_in_use()

        if session is not None and self._has_worked(session):
            session.rollback()

    def begin_again(self) -> None:
        """Roll back all that was done in a session that had not begun."""
        self._written = None
        self._written_connections.clear()
        session = self.session_in_use()

        if session is not None:
            session.rollback()

    def close(self) -> None:
        """Close the session, if it was made for the transaction."""
        if self._is_own:
            self.session.close()

    def _has_worked(self, session: orm.Session) -> bool:
        """Return ``True`` if there is something to end with the transaction."""
        return self._ends_transaction or work_of(session) != self._work_before

    def _check_written(self) -> None:
        written = self._written

        if written is not None and self.session.get_transaction() is not written:
            raise RuntimeError(ENDED)


class Beginning:
    """The point before the beginning of a session's transaction."""

    def __init__(self, joined: JoinedSession) -> None:
        self._joined = joined

    def has_writes(self) -> bool:
        """Return ``False``: the application has nothing in progress."""
        return False

    def commit(self) -> None:
        """Go on with the transaction."""

    def rollback(self) -> None:
        """Roll back the transaction."""
        self._joined.begin_again()


class SessionSavepoint:
    """A savepoint of a session that the application may have ended."""

    def __init__(self, session: orm.Session) -> None:
        self._session = session
        self._transaction = session.begin_nested()

    def has_writes(self) -> bool:
        """Return ``True`` if a statement has written since."""
        return written_by(self._transaction) > 0

    def commit(self) -> None:
        """Keep the writes since."""
        if self._is_open:
            self._session.flush()

            if KEY in self._session.info:
                HostCommits.of(self._session).keep(self._transaction)

            with _silent(self._session):
                self._transaction.commit()

    def rollback(self) -> None:
        """Undo the writes since. If the database has undone more, the commit of the
        application fails.
        """
        if not self._is_open:
            return

        try:
            self._transaction.rollback()
        except BaseException:
            HostCommits.of(self._session).refuse(self._session)
            raise

    @property
    def _is_open(self) -> bool:
        return self._transaction in open_transactions(self._session)


class Silence:
    """The listeners of a session that nobody listens to."""

    def __getattr__(self, name: str) -> t.Any:
        """Return a function that does nothing, for an event."""
        return lambda *args: None


@contextmanager
def _silent(session: t.Any) -> Iterator[None]:
    """Call no listener of a session, as at the end of a savepoint that the application
    does not know of: it is no commit.
    """
    session.dispatch, dispatch = Silence(), session.dispatch

    try:
        yield
    finally:
        session.dispatch = dispatch


def _work_before(session: orm.Session) -> Work:
    """Return the work that a session has in progress when it joins."""
    work = work_of(session)

    # A read would do so, too. It is not to commit what it has not written itself.
    if work and session.autoflush and Transaction.current().is_final:
        with translated():
            session.flush()

        return work_of(session)

    return work


def _check_commit(session: orm.Session) -> None:
    """Refuse to commit where the database would roll back, and report no error.

    :raises RuntimeError: The application has caught the error of a statement.
    :raises Unavailable: A connection is lost.
    """
    connections: Collection[sa.Connection] = connections_of(session)

    if any(connection.invalidated for connection in connections):
        raise AWAY.error(AWAY.text)

    if not session.is_active or any(map(has_failed, connections)):
        raise FAILED.error(FAILED.text)
