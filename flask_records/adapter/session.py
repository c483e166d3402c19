"""The database session of a transaction."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager

import sqlalchemy as sa
from flask import current_app
from sqlalchemy import orm

from ..transaction import Transaction
from .database_errors import translated
from .turns import turns_of

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator

    SessionSource: t.TypeAlias = (
        "Callable[[], orm.Session] | orm.sessionmaker[orm.Session]"
    )

BUSY_TIMEOUT: t.Final = 20_000
"""How many milliseconds a write waits on SQLite until others have written."""

SESSION_EVENTS: t.Final = ("after_begin", "after_transaction_create")
ENGINE_EVENTS: t.Final = ("begin", "before_execute", "before_cursor_execute")
"""Where an application may set what holds for a transaction, such as a tenant."""

IDLE: t.Final = 0
"""What the drivers of PostgreSQL tell of a connection without a transaction."""

NO_EXTENSION = """\
This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the service a \
'session': a sessionmaker, a scoped_session, or a function that returns a session.\
"""


def session_of_app() -> orm.Session:
    """Return the session that Flask-SQLAlchemy or Flask-SQLAlchemy-Lite has for the
    current application.

    :raises RuntimeError: The application has neither.
    """
    extension = current_app.extensions.get("sqlalchemy")

    if extension is None:
        raise RuntimeError(NO_EXTENSION)

    session = extension.session
    return t.cast(
        orm.Session, session if isinstance(session, orm.Session) else session()
    )


def joined_session(source: SessionSource) -> SessionScope:
    """Return the session of a source in the transaction in progress.

    A session that a ``sessionmaker`` makes is closed at the end of the transaction. Any
    other session belongs to the application, as one of a web request does.

    :param source: Where sessions come from.
    """
    transaction = Transaction.current()

    if isinstance(source, orm.sessionmaker):
        return transaction.join(
            source, lambda: SessionScope(source, source(), is_own=True)
        )

    session = source()
    return transaction.join(session, lambda: SessionScope(session, session))


def first_value(
    source: SessionSource,
    model: type[t.Any],
    statement: sa.Select[t.Any],
    parameters: dict[str, t.Any],
) -> t.Any:
    """Return what a statement reads first, in the transaction in progress if there is
    one.

    :param source: Where sessions come from.
    :param model: The mapped class that it reads, which tells the database.
    :param statement: The statement.
    :param parameters: Its parameters.
    """
    with Transaction():
        scope = joined_session(source)

        with translated(), scope.reading(sa.inspect(model)) as connection:
            return connection.execute(statement, parameters).scalar()


class SessionScope:
    """A database session that commits with a transaction.

    A transaction that the session was in before, begun by the application, is left to
    the application unless a service writes.

    :param key: What the transaction knows the session by.
    :param session: The session.
    :param is_own: Close the session at the end.
    """

    def __init__(
        self, key: t.Any, session: orm.Session, *, is_own: bool = False
    ) -> None:
        self.session = session
        self._key = key
        self._is_own = is_own
        self._ends_transaction = not session.in_transaction()
        self._reading: dict[orm.Mapper[t.Any], sa.Connection | orm.Session] = {}
        self._turns: list[Callable[[], None]] = []
        self._dialects: dict[orm.Mapper[t.Any], sa.Dialect] = {}

    @contextmanager
    def reading(
        self, mapper: orm.Mapper[t.Any]
    ) -> Iterator[sa.Connection | orm.Session]:
        """Yield what runs statements that read, and see all that the session has
        written. A session that has not begun a transaction is left as it is, since a
        single read needs none. Inside of each other, both yield the same.

        :param mapper: What is read, which tells the database.
        """
        known = self._reading.get(mapper)
        bind = None if known is not None else self._free_engine(mapper)

        if bind is None:
            yield self._in_session(mapper) if known is None else known
            return

        give_back_turn = turns_of(bind).take()

        try:
            with bind.connect() as connection:
                driver = _left_without_transaction(connection)
                self._reading[mapper] = connection

                try:
                    yield connection
                finally:
                    del self._reading[mapper]

                    if driver is not None and not driver.closed:
                        driver.autocommit = False
        finally:
            give_back_turn()

    def _free_engine(self, mapper: orm.Mapper[t.Any]) -> sa.Engine | None:
        """Return the engine to read from, or ``None`` if the session has to read."""
        session = self.session

        # The application may add conditions to what is read.
        if session.dispatch.do_orm_execute or session.in_transaction():
            return None

        if listens(session.dispatch, SESSION_EVENTS):
            return None

        bind = session.get_bind(mapper)
        return bind if isinstance(bind, sa.Engine) else None

    def _in_session(self, mapper: orm.Mapper[t.Any]) -> sa.Connection | orm.Session:
        """Return what reads in the transaction of the session."""
        session = self.session

        if session.dispatch.do_orm_execute:
            return session

        if session.autoflush:
            session.flush()

        return session.connection(bind_arguments={"mapper": mapper})

    def begin_writing(self, mapper: orm.Mapper[t.Any]) -> None:
        """Make the session ready to write: SQLite's write lock is taken now, before the
        call sees anything that somebody else could change until it writes.

        :param mapper: What is written, which tells the database.
        """
        self._ends_transaction = True

        if not self.session.in_transaction():
            self._take_turn(mapper)

        connection = self.session.connection(bind_arguments={"mapper": mapper})

        if connection.dialect.name == "sqlite":
            _begin_immediate(connection)

        Transaction.current().protect(self._key)

    def writing(self, mapper: orm.Mapper[t.Any]) -> sa.Connection:
        """Return the connection of the session, which has written all that it holds.

        :param mapper: What is written, which tells the database.
        """
        self.session.flush()
        # A savepoint of the session begins with this.
        return self.session.connection(bind_arguments={"mapper": mapper})

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

    def dialect(self, mapper: orm.Mapper[t.Any]) -> sa.Dialect:
        """Return the dialect of a database.

        :param mapper: What is read or written, which tells the database.
        """
        known = self._dialects.get(mapper)
        return known or self.session.get_bind(mapper).dialect

    def _take_turn(self, mapper: orm.Mapper[t.Any]) -> None:
        bind = self.session.get_bind(mapper)
        self._dialects[mapper] = bind.dialect

        if isinstance(bind, sa.Engine):
            self._turns.append(turns_of(bind).take())


def listens(dispatch: t.Any, names: Collection[str]) -> bool:
    """Return whether the application listens to one of some events.

    :param dispatch: The ``dispatch`` of what SQLAlchemy tells of.
    :param names: The names of the events.
    """
    return any([getattr(dispatch, name) for name in names])


def _left_without_transaction(connection: sa.Connection) -> t.Any:
    """Let a connection begin no transaction, where that takes a round trip to the
    server of its own. Return its driver's connection, whose ``autocommit`` is then to
    be switched off, or ``None``.
    """
    if connection.dialect.name != "postgresql":
        return None

    driver = t.cast("t.Any", connection.connection.dbapi_connection)
    info = getattr(driver, "info", None)

    if (
        getattr(info, "transaction_status", None) != IDLE
        or listens(connection.engine.dispatch, ENGINE_EVENTS)
        or driver.autocommit
    ):
        return None

    # SQLAlchemy's own way sets the isolation level, too, and takes five times as long.
    driver.autocommit = True
    return driver


def _begin_immediate(connection: sa.Connection) -> None:
    driver = t.cast("t.Any", connection.connection.dbapi_connection)

    if getattr(driver, "in_transaction", True):
        return

    if not connection.info.get("records_prepared"):
        _prepare(connection)

    with translated():
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _prepare(connection: sa.Connection) -> None:
    """Let the connection wait for others, and readers not wait for writers."""
    waits = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(waits, BUSY_TIMEOUT)}")

    try:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except sa.exc.OperationalError:
        # Somebody else uses the file. Writing works as it is, and the next call tries
        # again.
        return

    connection.info["records_prepared"] = True
