"""The database of a model: where a call reads, and where it writes."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.plans import Plan
from .connections import check_commits, listens, without_transaction
from .database_errors import READ_ONLY, translated
from .driver_cursor import connect, execute, rows_of, run, statement_of
from .joined_session import COMMIT_EVENTS, follow_sessions, has_usual_binds, join
from .transaction import Transaction

if t.TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from ..query import Scope
    from ..typing import Record
    from .driver_cursor import Rows
    from .joined_session import Bind, JoinedSession, SessionSource

    Mapper: t.TypeAlias = orm.Mapper[t.Any]

STATEMENT_EVENTS: t.Final = ("do_orm_execute", "after_begin")
"""The events by which an application adds conditions to statements, or prepares
transactions, besides ``after_transaction_create``, to which the package listens, too.
"""

REFUSED: t.Final = """\
Services can't use a ShardedSession, nor a session with 'autobegin=False'. Give them \
another 'session', such as one for each shard.\
"""

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
        follow_sessions()

    def begin(self, *, writes: bool) -> None:
        """Join the transaction in progress, so that it ends what hooks begin in the
        session.

        :param writes: Take SQLite's write lock now, before the call reads anything that
            others could change until it writes.
        """
        joined, sample = self._join()

        if writes:
            engine = self._engine_to_write(joined, sample)

            if engine is None:
                joined.begin_writing(self._to_write)
            else:
                with translated():
                    joined.begin_alone(engine)

    @property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database of the call in progress."""
        return self._join()[0].bind(self._to_read).dialect

    def reading(self, *, locking: bool = False) -> Reading:
        """Return a context manager that runs statements that read, on one connection.
        They see all that the session of the call has written. A read by itself needs
        no transaction.

        :param locking: Let nobody else write what they read until the commit.
        """
        joined, sample = self._join()

        if locking:
            joined.begin_writing(self._to_write)
            return SessionReading(joined, self._to_write)

        engine = self._free_engine(joined, sample, self._to_read)

        if engine is not None and joined.own is None:
            return EngineReading(engine)

        # A replica would not have what it has written.
        bind = self._to_write if joined.has_written else self._to_read
        return SessionReading(joined, bind)

    def writing(self) -> Writing:
        """Return an object that writes in the transaction in progress.

        :raises MethodNotAllowed: The model is a view that SQLite does not write.
        """
        joined, sample = self._join()
        engine = self._engine_to_write(joined, sample)
        writing = Writing(joined, self._to_write, engine)

        # With RETURNING, SQLite takes a write to a view, and may do nothing.
        if engine is None and self._is_read_only(writing.connection):
            raise READ_ONLY.error(READ_ONLY.text)

        return writing

    def _join(self) -> tuple[JoinedSession, orm.Session]:
        """Return the session of the call, and a sample of it."""
        joined = join(self._source)
        sample = joined.sample

        if hasattr(sample, "shard_chooser") or not sample.autobegin:
            raise RuntimeError(REFUSED)

        return joined, sample

    def _engine_to_write(
        self, joined: JoinedSession, sample: orm.Session
    ) -> sa.Engine | None:
        """Return the engine for a write that needs no session, or ``None`` if a session
        has to write, or look first if it can.
        """
        if joined.own is not None:
            is_its = joined.own.engine is joined.bind(self._to_write)
            return joined.own.engine if is_its else None

        engine = self._free_engine(joined, sample, self._to_write)

        # The application may follow the commits of its session, or commit itself. The
        # code around a part may end the transaction of its session.
        if (
            engine is None
            or not Transaction.current().is_outermost
            or joined.is_in_progress
            or not has_usual_binds(sample)
            or type(sample).commit is not orm.Session.commit
            or sample.twophase
            or listens(sample.dispatch, COMMIT_EVENTS)
        ):
            return None

        if engine not in self._read_only:
            with translated(), engine.connect() as connection:
                self._is_read_only(connection)

        return None if self._read_only[engine] else engine

    def _is_read_only(self, connection: sa.Connection) -> bool:
        engine, name = connection.engine, getattr(self._mapper.local_table, "name", "")

        if engine not in self._read_only:
            check_commits(connection)
            is_sqlite = engine.dialect.name == "sqlite"
            views = sa.inspect(connection).get_view_names() if is_sqlite else ()
            self._read_only[engine] = name in views

        return self._read_only[engine]

    def _free_engine(
        self, joined: JoinedSession, session: orm.Session, bind: Bind
    ) -> sa.Engine | None:
        """Return the engine of a statement, or ``None`` if the session has to execute
        it.
        """
        if (
            session.in_transaction()
            or listens(session.dispatch, STATEMENT_EVENTS)
            or len(session.dispatch.after_transaction_create) > 1
            # From SQLAlchemy 2.1 on, a session may have options, such as a schema.
            or getattr(session, "execution_options", None)
        ):
            return None

        engine = joined.bind(bind)
        return engine if isinstance(engine, sa.Engine) else None


@dataclass(eq=False)
class CheckedValue:
    """A value that a statement reads together with a record."""

    column: t.Any
    """An expression over another table of the same database. It is one object for all
    calls, so that their statement is built once.
    """

    parameters: Mapping[str, t.Any]
    """The values of its parameters."""

    database: Database
    """The database of its table."""

    check: Callable[[t.Any], None]
    """Called with the value. What it raises ends the call."""

    is_checked: bool = False
    """``True`` once it was read and checked."""


class EngineReading:
    """A connection that reads outside of sessions, given back at the end, which raises
    the errors of the database as errors that a client can see.
    """

    def __init__(self, engine: sa.Engine) -> None:
        # The first connection asks for the version of the server.
        if engine.dialect.server_version_info is None:
            with translated():
                engine.connect().close()

        self.dialect = engine.dialect
        """The dialect of the database."""
        self.place: Hashable = engine
        """Readings of the same place can be one statement."""
        self._engine = engine
        self._driver: t.Any = None
        self._connection: sa.Connection | None = None
        self._switched: t.Any = None

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *error: t.Any) -> None:
        if self._driver is not None:
            self._give_back()

        if error[1] is not None:
            translated().__exit__(*error)

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        statement = statement_of(self._engine, plan)

        if self._driver is None:
            self._driver = connect(self._engine)

            if self.dialect.name == "postgresql":
                self._switched = without_transaction(self._engine, self._driver)

        if statement is None:
            return execute(self._connect(), plan)

        return run(statement, self._driver, plan, self._connect)

    def _connect(self) -> sa.Connection:
        """Return SQLAlchemy's connection, which takes a tenth of the time of a get."""
        if self._connection is None:
            self._connection = sa.Connection(self._engine, self._driver)

        return self._connection

    def _give_back(self) -> None:
        try:
            if self._switched is not None and not self._switched.closed:
                self._switched.autocommit = False
        except BaseException:
            # Nobody else must get it like this.
            self._driver.invalidate()
            raise
        finally:
            (self._connection or self._driver).close()


class SessionReading:
    """A session that reads in its transaction. The errors of the database are raised at
    the end as errors that a client can see.
    """

    def __init__(self, joined: JoinedSession, bind: Bind) -> None:
        engine = joined.bind(bind)
        self.dialect = engine.dialect
        """The dialect of the database."""
        self.place: Hashable = (joined, engine)
        """Readings of the same place can be one statement."""
        self._joined = joined
        self._bind = bind

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *error: t.Any) -> None:
        # The transaction is left to the session.
        if error[1] is not None:
            translated().__exit__(*error)

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        connection = self._joined.connection(self._bind)

        if connection is self._joined.own:
            return rows_of(connection, plan)

        session = self._joined.session

        if session.autoflush:
            session.flush()

        # The application may add conditions to the reads of the session.
        if session.dispatch.do_orm_execute:
            return execute(session, plan, bind_arguments=dict(self._bind))

        return rows_of(connection, plan)


Reading: t.TypeAlias = EngineReading | SessionReading


class Writing:
    """Writes in the session of a call, or on the engine while no session is needed.
    Each method raises the errors of the database as errors that a client can see.
    """

    scope: Scope | None = None
    """The scope of the caller, whose fields an error may name."""

    def __init__(
        self, joined: JoinedSession, bind: Bind, engine: sa.Engine | None
    ) -> None:
        self._joined = joined
        self._bind = bind
        self._engine = engine
        self._connection: sa.Connection | None = None
        self.dialect = (engine or self.connection).dialect
        """The dialect of the database."""

    @property
    def connection(self) -> sa.Connection:
        """The connection of the session, which is ready to write from now on."""
        # A cached_property of Python 3.11 would let all threads wait for the one that
        # waits for the database.
        if self._connection is None:
            self._engine = None
            self._connection = self._joined.begin_writing(self._bind)

        return self._connection

    @property
    def session(self) -> orm.Session:
        """The session, which is ready to write from now on."""
        _ = self.connection
        return self._joined.session

    @property
    def sample(self) -> orm.Session:
        """The session, or one with its listeners and without instances."""
        return self._joined.sample

    def rows(self, plan: Plan, bodies: Sequence[Record] | None = None) -> Rows:
        """Return the rows of a plan, after all that the session has to write before.
        Reads find records that the application hides from them, such as deleted ones.

        :param bodies: The values of the fields that the plan writes, none for a
            removal. It reads by default.
        """
        errors = translated(self.scope) if bodies is None else self._translated(bodies)

        with errors:
            joined, engine, own = self._joined, self._engine, self._joined.own
            # A default may have written to another database.
            is_free = own is None or own.engine is engine

            # A rule may have begun to read in the session.
            if engine is not None and is_free and joined.in_use is None:
                connection = joined.begin_alone(engine)
            else:
                self.session.flush()
                connection = self.connection

            return rows_of(connection, plan)

    def values_of(self, expressions: Iterable[sa.ColumnElement[t.Any]]) -> t.Any:
        """Return the values of expressions of SQL."""
        with translated(self.scope):
            return self.connection.execute(sa.select(*expressions).limit(1)).one()

    def instances(self, plan: Plan) -> list[t.Any]:
        """Return the instances that a plan loads."""
        with translated(self.scope), _on_primary(self.session):
            return [instance for (instance,) in execute(self.session, plan)]

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

        :param bodies: The values of the fields, none for a removal.
        """
        with self._translated(bodies):
            self.session.flush()

    def _translated(self, bodies: Sequence[Record]) -> translated:
        """Return what raises the errors of a write, and of its commit: constraints may
        be deferred. The commit names no field if several services have written.
        """
        joined, errors = self._joined, translated(self.scope, bodies)
        before = joined.errors

        if before is None:
            joined.errors = errors
        elif before.scope is self.scope:
            joined.errors = translated(self.scope, [*(before.bodies or ()), *bodies])
        else:
            joined.errors = translated()

        return errors


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
        bind = {} if mapper is None else _bind_to_write(sa.inspect(mapper))
        return find_bind(**others | bind)

    # The clause of a query can't be given as an argument of it.
    session.get_bind = find_bind_to_write

    try:
        yield
    finally:
        del session.get_bind


def _bind_to_write(mapper: Mapper) -> Bind:
    """Return the arguments by which a session finds the engine of writes."""
    table = t.cast("t.Any", next(iter(mapper.tables), sa.table("none")))
    return {"mapper": mapper, "clause": sa.update(table)}
