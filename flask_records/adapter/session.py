"""Database sessions and connections: the one place that runs statements."""

from __future__ import annotations

import typing as t
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import Unavailable
from ..query.dialects import add_functions
from ..query.dialects import HAS_FUNCTIONS
from ..query.plans import Plan
from ..transaction import Transaction
from ..transaction import UNDONE
from .availability import AWAY
from .database_errors import FAILED
from .database_errors import raise_translated
from .database_errors import translated
from .drivers import begin_writing
from .drivers import fails_as_a_whole
from .drivers import has_failed
from .drivers import IS_UNDONE
from .drivers import listens
from .drivers import without_transaction
from .sources import session_of_app
from .sources import source_of_app
from .sources import spare_session
from .turns import take_turn
from .unreadable import is_unreadable
from .unreadable import tolerant
from .unreadable import unreadable_as_null

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from ..query import Fields
    from ..query.resolution import ResolvedQuery
    from ..transaction import Savepoint
    from ..typing import Record
    from .sources import SessionSource

    Mapper: t.TypeAlias = orm.Mapper[t.Any]
    Rows: t.TypeAlias = Sequence[sa.Row[t.Any]]

TRANSACTION_EVENTS: t.Final = ("after_begin", "after_transaction_create")
"""The events of a session by which an application prepares its transactions, for
example for a tenant.
"""

NO_OPTIONS: t.Final[dict[str, t.Any]] = {}

ENDED: t.Final = """\
A hook or a method has ended the transaction of the session by 'commit', 'rollback', \
'close' or 'remove', which would keep a part of the call only. Leave that to the call.\
"""


class Database:
    """The database of a model."""

    def __init__(self, source: SessionSource, mapper: Mapper) -> None:
        self._source = source
        self._mapper = mapper

    def begin_writing(self) -> None:
        """Make the session of the transaction in progress ready to write. SQLite's
        write lock is taken now, before the call reads anything that others could
        change until it writes.
        """
        self._joined().begin_writing(self._mapper)

    def begin_writing_later(self) -> None:
        """Do this when the session is first used, unless it is in use already."""
        joined = self._joined()

        if joined.session.in_transaction() or not Transaction.current().is_outermost:
            joined.begin_writing(self._mapper)
        else:
            joined.begin_writing_later()

    def begin_reading(self) -> None:
        """Join the transaction in progress, so that it ends what hooks begin in the
        session. No session is made for this.
        """
        source = self._shared_source()

        if isinstance(source, orm.scoped_session) and not source.registry.has():
            Transaction.current().join(
                source, lambda: UnbegunSession(source, self._mapper)
            )
        elif not isinstance(source, orm.sessionmaker):
            self._joined()

    def reading(self) -> Reading:
        """Return a context manager that runs statements that read, on one connection.
        They see all that the session of the call has written. A read by itself needs
        neither a session nor a transaction.
        """
        engine = _free_engine(self._session(), self._mapper)

        if engine is not None:
            return EngineReading(engine)

        return SessionReading(self._joined(), self._mapper)

    def writing(self, fields: Fields, client_fields: Collection[str]) -> Writing:
        """Return an object that writes in the transaction in progress.

        :param fields: The fields that an error may name.
        """
        joined = self._joined()
        joined.connection(self._mapper)
        return Writing(joined, self._mapper, fields, client_fields)

    def _joined(self) -> JoinedSession:
        """Return the session of the transaction in progress.

        A session that a ``sessionmaker`` makes is closed at the end of the transaction.
        Any other session belongs to the application, as one of a web request does.
        """
        transaction, source = Transaction.current(), self._source

        if isinstance(source, orm.sessionmaker):
            return transaction.join(
                source, lambda: JoinedSession(source, source(), is_own=True)
            )

        session = source()
        return transaction.join(session, lambda: JoinedSession(session, session))

    def _session(self) -> orm.Session:
        """Return the session to read with, or the spare one of its factory if nobody
        has begun one.
        """
        source = self._shared_source()

        if isinstance(source, orm.sessionmaker):
            joined = Transaction.current().participant(source)

            if joined is not None:
                return t.cast(JoinedSession, joined).session

            return spare_session(source) or source()

        if isinstance(source, orm.scoped_session) and not source.registry.has():
            return spare_session(source.session_factory) or source()

        return source if isinstance(source, orm.Session) else source()

    def _shared_source(self) -> t.Any:
        """Return the source, or the object of the current application that it uses."""
        source = self._source
        return source_of_app() if source is session_of_app else source


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


class EngineReading:
    """A connection that reads outside of sessions, given back at the end."""

    def __init__(self, engine: sa.Engine) -> None:
        self.dialect = engine.dialect
        """The dialect of the database."""
        self._engine = engine
        self._query: ResolvedQuery | None = None

    def __enter__(self) -> t.Self:
        self._give_back_turn = take_turn(self._engine)

        try:
            self._connection = connection = self._engine.connect()
            self._driver = None

            if self.dialect.name == "postgresql":
                self._driver = without_transaction(connection)
            elif HAS_FUNCTIONS not in connection.info:
                add_functions(connection)
        except BaseException as error:
            self._give_back_turn()
            raise_translated(error)
            raise

        return self

    def __exit__(self, kind: t.Any, error: BaseException | None, trace: t.Any) -> None:
        try:
            with translated():
                self._give_back_connection()
        finally:
            self._give_back_turn()

        if error is not None:
            raise_translated(error, query=self._query, dialect=self.dialect)

    def _give_back_connection(self) -> None:
        try:
            if self._driver is not None and not self._driver.closed:
                self._driver.autocommit = False
        except BaseException:
            # Nobody else must get it like this.
            self._connection.invalidate()
            raise
        finally:
            self._connection.close()

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        self._query = plan.query
        return _read_rows(self._connection, self._connection, plan)


class SessionReading:
    """A session that reads in its transaction."""

    def __init__(self, joined: JoinedSession, mapper: Mapper) -> None:
        self.dialect = joined.session.get_bind(mapper).dialect
        """The dialect of the database."""
        self._joined = joined
        self._mapper = mapper
        self._query: ResolvedQuery | None = None

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, kind: t.Any, error: BaseException | None, trace: t.Any) -> None:
        if error is not None:
            raise_translated(error, query=self._query, dialect=self.dialect)

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        self._query = plan.query
        session = self._joined.session

        if session.autoflush:
            session.flush()

        connection = self._joined.connection(self._mapper)
        # The application may add conditions to the reads of the session.
        executor = session if session.dispatch.do_orm_execute else connection

        if not (plan.may_fail and fails_as_a_whole(connection)):
            return _read_rows(executor, connection, plan)

        # A hook that catches the error goes on.
        with connection.begin_nested():
            return _read_rows(executor, connection, plan)


Reading: t.TypeAlias = EngineReading | SessionReading


class Writing:
    """Writes in the session of a call. Each method raises the errors of the database as
    errors that a client can see.

    :param fields: The fields that an error may name.
    """

    def __init__(
        self,
        joined: JoinedSession,
        mapper: Mapper,
        fields: Fields,
        client_fields: Collection[str],
    ) -> None:
        self.session = joined.session
        """The session."""
        self._joined = joined
        self._mapper = mapper
        self._fields = fields
        self._client_fields = client_fields

    @cached_property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database."""
        return self._joined.connection(self._mapper).dialect

    def reading(self) -> SessionReading:
        """Return a context manager that reads in the same transaction."""
        return SessionReading(self._joined, self._mapper)

    def instances(self, plan: Plan) -> list[t.Any]:
        """Return the instances that a plan loads."""
        statement, parameters, options, query, _ = plan

        with self._translated(query=plan.query):
            return list(
                self.session.scalars(
                    statement, parameters, execution_options=options or NO_OPTIONS
                )
            )

    def flush(self, bodies: Sequence[Record] = ()) -> None:
        """Write the changes of the session's instances."""
        with self._translated(bodies):
            self.session.flush()

    def rows(self, plan: Plan, bodies: Sequence[Record] = ()) -> Rows:
        """Return the rows of a plan that writes, after all that the session has to
        write before.
        """
        with self._translated(bodies, plan.query):
            return _rows(self._connection(), plan)

    def rows_if(
        self, plan: Plan, is_right: Callable[[Rows], bool], bodies: Sequence[Record]
    ) -> Rows | None:
        """Return the rows of a plan that writes, or undo it alone and return ``None``
        if they are not right.

        :param is_right: Returns ``True`` for rows that may stay.
        """
        with self._translated(bodies), self._connection().begin_nested() as savepoint:
            rows = _rows(savepoint.connection, plan)

            if not is_right(rows):
                savepoint.rollback()
                return None

        return rows

    def _connection(self) -> sa.Connection:
        self.session.flush()
        return self._joined.connection(self._mapper)

    def _translated(
        self, bodies: Sequence[Record] = (), query: ResolvedQuery | None = None
    ) -> AbstractContextManager[None]:
        return translated(
            self._fields, bodies, self._client_fields, query, self.dialect
        )


def _check_commit(session: orm.Session, connections: Collection[sa.Connection]) -> None:
    """Refuse to commit where the database would roll back, and report no error.

    :raises RuntimeError: The application has caught the error of a statement.
    :raises Unavailable: A connection is lost.
    """
    if any(connection.invalidated for connection in connections):
        raise Unavailable(AWAY)

    if not session.is_active or any(map(has_failed, connections)):
        raise RuntimeError(FAILED)


def _read_rows(
    executor: sa.Connection | orm.Session, connection: sa.Connection, plan: Plan
) -> Rows:
    """Return the rows of a plan that reads, with null for values that can't be read."""
    try:
        return _rows(executor, plan)
    except Exception as error:
        if not is_unreadable(error):
            raise

    with unreadable_as_null(connection):
        return _rows(executor, tolerant(plan))


def _rows(executor: sa.Connection | orm.Session, plan: Plan) -> Rows:
    statement, parameters, options, *_ = plan
    return executor.execute(
        statement, parameters, execution_options=options or NO_OPTIONS
    ).all()


def _free_engine(session: orm.Session, mapper: Mapper) -> sa.Engine | None:
    """Return the engine to read from, or ``None`` if the session has to read."""
    # The application may add conditions to what a session reads.
    if session.dispatch.do_orm_execute or session.in_transaction():
        return None

    if listens(session.dispatch, TRANSACTION_EVENTS):
        return None

    bind = session.get_bind(mapper)
    return bind if isinstance(bind, sa.Engine) else None
