"""The database of a model: where a call reads, and where it writes."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.plan_cache import Plan
from .connections import listens, without_transaction
from .database_errors import READ_ONLY, translated
from .joined_session import LIBRARIES
from .sessions import join

if t.TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence

    from ..query import Scope
    from ..typing import Record
    from .joined_session import Bind, JoinedSession
    from .sessions import SessionSource

    Mapper: t.TypeAlias = orm.Mapper[t.Any]
    Rows: t.TypeAlias = Sequence[sa.Row[t.Any]]

TRANSACTION_EVENTS: t.Final = ("after_begin", "after_transaction_create")
"""The events of a session by which an application prepares its transactions, for
example for a tenant.
"""

READ_ONLY_VIEW: t.Final = sa.text("""\
    SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = :name AND NOT EXISTS
    (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :name)
""")
"""The statement that finds a view of SQLite without triggers."""

WRITTEN: t.Final = "records_written"
"""The key in the ``info`` of a session with the instances that a service writes."""


class Database:
    """The database of a model. A session that routes statements, for example reads to a
    replica, is asked with a statement that reads or one that writes.
    """

    def __init__(self, source: SessionSource, mapper: Mapper) -> None:
        self._source = source
        self._mapper = mapper
        self._to_read: Bind = {"mapper": mapper, "clause": sa.select(sa.true())}
        self._to_write = _bind_to_write(mapper)
        self._read_only: WeakKeyDictionary[sa.Engine, bool] = WeakKeyDictionary()

    @property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database that the transaction in progress writes to."""
        return join(self._source).engine(self._to_write).dialect

    def begin_writing(self) -> None:
        """Make the session of the transaction in progress ready to write. SQLite's
        write lock is taken now, before the call reads anything that others could
        change until it writes.
        """
        join(self._source).begin_writing(self._to_write)

    def begin_reading(self) -> None:
        """Join the transaction in progress, so that it ends what hooks begin in the
        session.
        """
        join(self._source)

    def reading(self, *, locking: bool = False) -> Reading:
        """Return a context manager that runs statements that read, on one connection.
        They see all that the session of the call has written. A read by itself needs
        no transaction.

        :param locking: Let nobody else write what they read until the commit.
        """
        joined = join(self._source)

        if locking:
            joined.begin_writing(self._to_write)
            return SessionReading(joined, self._to_write)

        engine = self._free_engine(joined.sample)

        if engine is not None:
            return EngineReading(engine)

        # A replica would not have what it has written.
        bind = self._to_write if joined.has_written else self._to_read
        return SessionReading(joined, bind)

    def writing(self) -> Writing:
        """Return an object that writes in the transaction in progress.

        :raises MethodNotAllowed: The model is a view that SQLite does not write.
        """
        joined = join(self._source)
        connection = joined.connection(self._to_write)

        # With RETURNING, SQLite takes a write to a view, and does nothing.
        if connection.dialect.name == "sqlite" and self._is_read_only(connection):
            raise READ_ONLY.error(READ_ONLY.text)

        return Writing(joined.session, connection)

    def _is_read_only(self, connection: sa.Connection) -> bool:
        answer = self._read_only.get(connection.engine)

        if answer is None:
            name = {"name": getattr(self._mapper.local_table, "name", None)}
            answer = connection.execute(READ_ONLY_VIEW, name).first() is not None
            self._read_only[connection.engine] = answer

        return answer

    def _free_engine(self, session: orm.Session) -> sa.Engine | None:
        """Return the engine to read from, or ``None`` if the session has to read."""
        # The application may add conditions to what a session reads.
        if session.dispatch.do_orm_execute or session.in_transaction():
            return None

        if listens(session.dispatch, TRANSACTION_EVENTS):
            return None

        bind = session.get_bind(**self._to_read)
        return bind if isinstance(bind, sa.Engine) else None


class EngineReading:
    """A connection that reads outside of sessions, given back at the end."""

    def __init__(self, engine: sa.Engine) -> None:
        self.dialect = engine.dialect
        """The dialect of the database."""
        self.place: Hashable = engine
        """Readings of the same place can be one statement."""
        self._engine = engine
        self._driver: t.Any = None

    def __enter__(self) -> t.Self:
        with translated():
            self._connection = connection = self._engine.connect()

            if self.dialect.name == "postgresql":
                self._driver = without_transaction(connection)

        return self

    def __exit__(self, *error: t.Any) -> None:
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
        with translated(plan.query):
            return _rows(self._connection, plan)


class SessionReading:
    """A session that reads in its transaction.

    :param bind: The arguments by which the session finds the engine.
    """

    def __init__(self, joined: JoinedSession, bind: Bind) -> None:
        engine = joined.session.get_bind(**bind)
        self.dialect = engine.dialect
        """The dialect of the database."""
        self.place: Hashable = (joined, engine)
        """Readings of the same place can be one statement."""
        self._joined = joined
        self._bind = bind

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *error: t.Any) -> None:
        """Leave the transaction to the session."""

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        session = self._joined.session

        with translated(plan.query):
            if session.autoflush:
                session.flush()

            connection = self._joined.connection(self._bind)

            # The application may add conditions to the reads of the session.
            if session.dispatch.do_orm_execute:
                return _rows(session, plan, bind_arguments=dict(self._bind))

            return _rows(connection, plan)


Reading: t.TypeAlias = EngineReading | SessionReading


class Writing:
    """Writes in the session of a call. Each method raises the errors of the database as
    errors that a client can see.

    :param connection: The connection of the session.
    """

    scope: Scope | None = None
    """The scope of the caller, whose fields an error may name."""

    client_fields: Collection[str] = ()
    """The names of the fields that came from a client."""

    def __init__(self, session: orm.Session, connection: sa.Connection) -> None:
        self.session = session
        """The session."""
        self.dialect = connection.dialect
        """The dialect of the database."""
        self._connection = connection

    def rows(self, plan: Plan, bodies: Sequence[Record] | None = None) -> Rows:
        """Return the rows of a plan, after all that the session has to write before.
        Reads find records that the application hides from them, such as deleted ones.

        :param bodies: The values of the fields that the plan writes, none for a
            removal. It reads by default.
        """
        with translated(plan.query, self.scope, bodies, self.client_fields):
            self.session.flush()
            return _rows(self._connection, plan)

    def instances(self, plan: Plan) -> list[t.Any]:
        """Return the instances that a plan loads."""
        with translated(plan.query, self.scope), _on_primary(self.session):
            return [instance for (instance,) in _rows(self.session, plan)]

    @contextmanager
    def of(self, instances: Sequence[t.Any]) -> Iterator[None]:
        """Remember that a service writes instances, and sends their events."""
        info = self.session.info
        info[WRITTEN] = set(map(id, instances))

        try:
            with _on_primary(self.session):
                yield
        finally:
            del info[WRITTEN]

    def flush(self, bodies: Sequence[Record]) -> None:
        """Write the changes of the session's instances.

        :param bodies: The values of the fields. None for a removal.
        """
        with translated(None, self.scope, bodies, self.client_fields):
            self.session.flush()


def is_written_by_service(session: orm.Session, instance: t.Any) -> bool:
    """Return ``True`` for an instance that a service is writing now."""
    return id(instance) in session.info.get(WRITTEN, ())


@contextmanager
def _on_primary(session: t.Any) -> Iterator[None]:
    """Let a session that routes statements by itself read where it writes: a replica
    locks no records, and may not have what a cascade looks for.
    """
    find_bind = session.get_bind

    def find_bind_to_write(mapper: t.Any = None, **others: t.Any) -> t.Any:
        written = {} if mapper is None else _bind_to_write(sa.inspect(mapper))
        return find_bind(**others | written)

    if find_bind.__module__ in LIBRARIES:
        yield
        return

    # The clause of a query can't be given as an argument of it.
    session.get_bind = find_bind_to_write

    try:
        yield
    finally:
        del session.get_bind


def _rows(executor: sa.Connection | orm.Session, plan: Plan, **options: t.Any) -> Rows:
    options["execution_options"] = plan.options
    return executor.execute(plan.statement, plan.parameters, **options).all()


def _bind_to_write(mapper: Mapper) -> Bind:
    """Return the arguments by which a session finds the engine of writes."""
    table = t.cast("t.Any", next(iter(mapper.tables), sa.table("none")))
    return {"mapper": mapper, "clause": sa.update(table)}
