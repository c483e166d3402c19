"""Database sessions and connections: the one place that runs statements."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.dialects import add_functions
from ..query.dialects import HAS_FUNCTIONS
from ..query.plans import Plan
from ..transaction import Transaction
from .database_errors import raise_translated
from .database_errors import translated
from .drivers import begin_immediate
from .drivers import listens
from .drivers import without_transaction
from .sources import session_of_app
from .sources import source_of_app
from .sources import spare_session
from .turns import turns_of

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from ..query import Fields
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

    def begin_reading(self) -> None:
        """Join the transaction in progress, so that it ends what hooks begin in the
        session. No session is made for this.
        """
        source = self._shared_source()

        if isinstance(source, orm.scoped_session) and not source.registry.has():
            Transaction.current().join(source, lambda: UnbegunSession(source))
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
        return Writing(self._joined(), self._mapper, fields, client_fields)

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

    def __init__(self, source: orm.scoped_session[t.Any]) -> None:
        self._source = source

    def savepoint(self) -> Savepoint:
        """Return a savepoint of the database."""
        return t.cast("Savepoint", self._source().begin_nested())

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
        self._ends_transaction = not session.in_transaction()
        self._turns: list[Callable[[], None]] = []
        self._connections: dict[Mapper, tuple[t.Any, sa.Connection]] = {}

    def begin_writing(self, mapper: Mapper) -> None:
        """Make the session ready to write."""
        self._ends_transaction = True

        if not self.session.in_transaction():
            self._take_turn(mapper)

        connection = self.connection(mapper)

        if connection.dialect.name == "sqlite":
            begin_immediate(connection)

        Transaction.current().protect(self._key)

    def connection(self, mapper: Mapper) -> sa.Connection:
        """Return the connection of the session. A savepoint of the session begins with
        this.
        """
        session = self.session
        entry = self._connections.get(mapper)

        if (
            entry is not None
            and entry[0] is session.get_transaction()
            and session.get_nested_transaction() is None
        ):
            return entry[1]

        connection = session.connection(bind_arguments={"mapper": mapper})
        add_functions(connection)
        self._connections[mapper] = session.get_transaction(), connection
        return connection

    def savepoint(self) -> orm.SessionTransaction:
        """Return a savepoint of the database."""
        return self.session.begin_nested()

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
        try:
            if self._is_own:
                self.session.close()
        finally:
            for give_back in self._turns:
                give_back()

    def _take_turn(self, mapper: Mapper) -> None:
        bind = self.session.get_bind(mapper)

        if isinstance(bind, sa.Engine):
            self._turns.append(turns_of(bind).take())


class EngineReading:
    """A connection that reads outside of sessions, given back at the end."""

    def __init__(self, engine: sa.Engine) -> None:
        self.dialect = engine.dialect
        """The dialect of the database."""
        self._engine = engine

    def __enter__(self) -> t.Self:
        self._give_back_turn = turns_of(self._engine).take()

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
            if self._driver is not None and not self._driver.closed:
                self._driver.autocommit = False

            self._connection.close()
        finally:
            self._give_back_turn()

        if error is not None:
            raise_translated(error)

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        return _rows(self._connection, plan)


class SessionReading:
    """A session that reads in its transaction."""

    def __init__(self, joined: JoinedSession, mapper: Mapper) -> None:
        self.dialect = joined.session.get_bind(mapper).dialect
        """The dialect of the database."""
        self._joined = joined
        self._mapper = mapper

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, kind: t.Any, error: BaseException | None, trace: t.Any) -> None:
        if error is not None:
            raise_translated(error)

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        session = self._joined.session

        if session.autoflush:
            session.flush()

        connection = self._joined.connection(self._mapper)
        # The application may add conditions to the reads of the session.
        executor = session if session.dispatch.do_orm_execute else connection
        return _rows(executor, plan)


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

    @property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database."""
        return self._joined.connection(self._mapper).dialect

    def reading(self) -> SessionReading:
        """Return a context manager that reads in the same transaction."""
        return SessionReading(self._joined, self._mapper)

    def instances(self, plan: Plan) -> list[t.Any]:
        """Return the instances that a plan loads."""
        statement, parameters, options = plan

        with self._translated():
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
        with self._translated(bodies):
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
        self, bodies: Sequence[Record] = ()
    ) -> AbstractContextManager[None]:
        return translated(self._fields, bodies, self._client_fields)


def _rows(executor: sa.Connection | orm.Session, plan: Plan) -> Rows:
    statement, parameters, options = plan
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
