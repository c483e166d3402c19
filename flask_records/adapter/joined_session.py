"""Sessions that commit with a transaction."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import Unavailable
from ..query.dialects import add_functions
from ..transaction import Transaction
from ..transaction import UNDONE
from .availability import AWAY
from .database_errors import FAILED
from .database_errors import translated
from .drivers import begin_writing
from .drivers import has_failed
from .drivers import IS_UNDONE
from .turns import take_turn

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

    from ..transaction import Savepoint

    Mapper: t.TypeAlias = orm.Mapper[t.Any]

ENDED: t.Final = """\
A hook or a method has ended the transaction of the session by 'commit', 'rollback', \
'close' or 'remove', which would keep a part of the call only. Leave that to the call.\
"""


class JoinedSession:
    """A database session that commits with a transaction.

    A transaction that the session was in before, begun by the application, is left to
    the application unless a service writes.
    """

    def __init__(
        self, key: t.Any, session: orm.Session, *, is_own: bool = False
    ) -> None:
        self.session = session
        """The session."""
        self._key = key
        self._is_own = is_own
        self._waits_for_use = False
        self._ends_transaction = not session.in_transaction()
        self._written: orm.SessionTransaction | None = None
        self._written_connections: set[sa.Connection] = set()
        self._give_back_turn: Callable[[], None] | None = None
        self._connections: dict[Mapper, tuple[t.Any, sa.Connection]] = {}

    def begin_writing(self, mapper: Mapper) -> None:
        """Make the session ready to write."""
        self._begin_writing(self.connection(mapper))
        Transaction.current().protect(self._key)

    def begin_writing_later(self) -> None:
        """Make the session ready to write when it is first used."""
        self._ends_transaction = True

        if not self._waits_for_use:
            self._waits_for_use = True
            sa.event.listen(self.session, "after_begin", self._after_begin)

    def connection(self, mapper: Mapper) -> sa.Connection:
        """Return the connection of the session. A savepoint of the session begins with
        this.

        :raises RuntimeError: The application has ended the transaction that the call
            writes in.
        :raises Unavailable: The database does not give one.
        """
        session = self.session
        transaction = session.get_transaction()
        self._check_written(transaction)
        entry = self._connections.get(mapper)

        if (
            entry is not None
            and entry[0] is transaction
            and session.get_nested_transaction() is None
        ):
            return entry[1]

        if transaction is None:
            self._take_turn(mapper)

        with translated():
            connection = session.connection(bind_arguments={"mapper": mapper})

        add_functions(connection)
        self._connections[mapper] = session.get_transaction(), connection
        return connection

    def last_connection(self, mapper: Mapper) -> sa.Connection | None:
        """Return the connection that the session has used last, if there is one, also
        where a flush has failed.
        """
        entry = self._connections.get(mapper)
        return None if entry is None else entry[1]

    def savepoint(self) -> orm.SessionTransaction:
        """Return a savepoint of the database."""
        return self.session.begin_nested()

    def prepare(self) -> None:
        """Write what is left, and check that it can be committed.

        :raises RuntimeError: The application has ended the transaction, or caught an
            error for which the database will undo it.
        :raises Unavailable: The database has undone it already.
        """
        session = self.session
        self._check_written(session.get_transaction())

        if self._ends_transaction and session.in_transaction():
            with translated():
                session.flush()

            connections = [connection for _, connection in self._connections.values()]
            _check_commit(session, connections)

            if any(IS_UNDONE in each.info for each in self._written_connections):
                raise Unavailable(UNDONE)

    def commit(self) -> None:
        """Commit, if the transaction is ours to end."""
        if self._ends_transaction and self.session.in_transaction():
            with translated():
                self.session.commit()

    def rollback(self) -> None:
        """Roll back, if the transaction is ours to end."""
        if self._ends_transaction and self.session.in_transaction():
            self.session.rollback()

    def close(self) -> None:
        """Close the session, if it was made for the transaction."""
        if self._waits_for_use:
            sa.event.remove(self.session, "after_begin", self._after_begin)

        try:
            if self._is_own:
                self.session.close()
        finally:
            if self._give_back_turn is not None:
                self._give_back_turn()

    def _after_begin(
        self,
        session: orm.Session,
        transaction: orm.SessionTransaction,
        connection: sa.Connection,
    ) -> None:
        self._begin_writing(connection)

    def _begin_writing(self, connection: sa.Connection) -> None:
        self._ends_transaction = True

        if connection not in self._written_connections:
            begin_writing(connection)
            self._written_connections.add(connection)
            self._written = self.session.get_transaction()

    def _check_written(self, transaction: orm.SessionTransaction | None) -> None:
        if self._written is not None and transaction is not self._written:
            raise RuntimeError(ENDED)

    def _take_turn(self, mapper: Mapper) -> None:
        bind = self.session.get_bind(mapper)

        if isinstance(bind, sa.Engine) and self._give_back_turn is None:
            self._give_back_turn = take_turn(bind)


class UnbegunSession:
    """The session of an application that had not begun when a call that reads did.
    It is ended with the call, if a hook has begun it.
    """

    def __init__(self, source: orm.scoped_session[t.Any], mapper: Mapper) -> None:
        self._source = source
        self._mapper = mapper

    def savepoint(self) -> Savepoint:
        """Return a savepoint of the database."""
        return t.cast("Savepoint", self._source().begin_nested())

    def prepare(self) -> None:
        """Check that what a hook has written can be committed."""
        if self._is_begun:
            session = self._source()
            connection = session.connection(bind_arguments={"mapper": self._mapper})
            _check_commit(session, [connection])

    def commit(self) -> None:
        """Commit, if a hook has begun the session."""
        if self._is_begun:
            with translated():
                self._source().commit()

    def rollback(self) -> None:
        """Roll back, if a hook has begun the session."""
        if self._is_begun:
            self._source().rollback()

    def close(self) -> None:
        """Leave the session to the application."""

    @property
    def _is_begun(self) -> bool:
        return self._source.registry.has() and self._source().in_transaction()


def _check_commit(session: orm.Session, connections: Collection[sa.Connection]) -> None:
    """Refuse to commit where the database would roll back, and report no error.

    :raises RuntimeError: The application has caught the error of a statement.
    :raises Unavailable: A connection is lost.
    """
    if any(connection.invalidated for connection in connections):
        raise Unavailable(AWAY)

    if not session.is_active or any(map(has_failed, connections)):
        raise RuntimeError(FAILED)
