"""Connections of known drivers, prepared to read or to write, in each process."""

from __future__ import annotations

import os
import re
import sys
import typing as t
from weakref import WeakKeyDictionary, WeakSet

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from ..settings import names_of
from .database_errors import AWAY, BIND_ERRORS, FAILED, translated
from .transaction import Transaction

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from flask import Flask

SETTING: t.Final = "RECORDS_DRIVERS"

DRIVERS: t.Final = (
    "sqlite+pysqlite",
    *("postgresql+psycopg", "postgresql+psycopg2"),
    *("mysql+pymysql", "mysql+mysqldb"),
    *("mariadb+pymysql", "mariadb+mysqldb"),
)
"""The drivers with their dialects."""

UNKNOWN_DRIVER: t.Final = """\
Flask-Records does not know the driver '{name}': a write may fail, or be answered with \
the status of another error. Use {names}. If you have tried what you need, say so: \
{setting} = ['{name}'].\
"""

ASYNC: t.Final = """\
The engine of '{name}' is for asyncio, which services do not use. Give them an engine \
of 'create_engine', with {names}.\
"""

AUTOCOMMIT: t.Final = """\
The connections of '{name}' begin or end transactions themselves: a call could not be \
undone, or would fail beside others. Leave 'autocommit' and \
isolation_level='AUTOCOMMIT' out of the options of the engine.\
"""

UWSGI: t.Final = """\
uWSGI forks its workers from this process without a word to Python: they would share \
its connections to databases, and get each other's rows. Let each worker load the \
application: lazy-apps = true.\
"""

BUSY_TIMEOUT: t.Final = 20_000
"""The milliseconds that a write waits on SQLite until others have written."""

ENGINE_EVENTS: t.Final = ("begin", "before_execute", "before_cursor_execute")
"""The events of an engine by which an application prepares its transactions."""

BEGIN: t.Final = "BEGIN IMMEDIATE"
"""Begins a transaction of SQLite with its write lock."""

IDLE: t.Final = 0
IN_ERROR: t.Final = 3
"""The states of a transaction, as PostgreSQL's drivers number them: there is none, and
one in which a statement has failed.
"""

PREPARED: t.Final = "records_prepared"
"""The key in the ``info`` of a connection that is prepared to write."""

DEADLOCK: t.Final = 1213
"""The code of the error with which MySQL and MariaDB end a transaction."""

WRITES: t.Final = re.compile(
    r"\W*(insert|update|delete|replace|merge|call|copy|create|alter|drop|truncate"
    r"|with\b.*\b(insert|update|delete|merge))\b",
    re.IGNORECASE | re.DOTALL,
)
"""The beginnings of statements in text that write."""

_begun: WeakSet[sa.RootTransaction] = WeakSet()
"""The transactions in which services write."""

_writes: WeakKeyDictionary[sa.engine.Transaction, int] = WeakKeyDictionary()
"""The number of statements that have written in a transaction of a connection."""

_engines: WeakSet[sa.Engine] = WeakSet()
"""The engines of all applications."""

_pools: list[sa.Pool] = []
"""The pools of parents. Some drivers would end a connection that nobody refers to."""


def check_driver(dialect: sa.Dialect, config: Mapping[str, t.Any]) -> None:
    """Refuse a driver that is not known, unless the configuration of the application
    names it, and one for asyncio.
    """
    name = f"{dialect.name}+{dialect.driver}"
    is_known = name in (*DRIVERS, *names_of(SETTING, config.get(SETTING, ())))

    if is_known and not dialect.is_async:
        return

    own = [each for each in DRIVERS if each.startswith(f"{dialect.name}+")] or DRIVERS
    text = ASYNC if dialect.is_async else UNKNOWN_DRIVER
    raise RuntimeError(text.format(name=name, names=" or ".join(own), setting=SETTING))


def check_commits(connection: sa.Connection) -> None:
    """Refuse a connection that commits each statement, and one of Python's SQLite that
    begins transactions without the write lock.
    """
    driver, dialect = _driver(connection), connection.dialect
    # An option of SQLAlchemy from 2.0.43 on, with which it does not undo on SQLite.
    skips = getattr(dialect, "skip_autocommit_rollback", False)
    # The drivers of MySQL set it by a function of this name.
    is_set = hasattr(driver, "get_autocommit")
    mode = driver.get_autocommit() if is_set else getattr(driver, "autocommit", None)

    if skips and dialect.detect_autocommit_setting(driver):
        mode = True

    # Python has other ones than truth values for SQLite, by default.
    if mode is True or (mode is False and dialect.name == "sqlite"):
        raise RuntimeError(AUTOCOMMIT.format(name=dialect.name))


def count_writes() -> None:
    """Count from now on the statements that write, on all engines, and end connections
    whose state an error has made uncertain.
    """
    # Events of dialects: events of engines would slow all statements down.
    for name, listener in (
        ("do_execute", _count),
        ("do_executemany", _count),
        ("handle_error", _end),
    ):
        if not sa.event.contains(sa.Engine, name, listener):
            sa.event.listen(sa.Engine, name, listener)


def writes_in(transaction: sa.engine.Transaction) -> int:
    """Return the number of statements that have written since a transaction began."""
    return _writes.get(transaction, 0)


def listens(dispatch: t.Any, names: Collection[str]) -> bool:
    """Return ``True`` if somebody listens to one of some events."""
    return any([getattr(dispatch, name) for name in names])


def without_transaction(engine: sa.Engine, connection: t.Any) -> t.Any:
    """Let a connection of a pool to PostgreSQL begin no transaction, which would take a
    round trip to the server. Return the connection of its driver, whose ``autocommit``
    has to be switched off later, or ``None``.
    """
    driver = connection.dbapi_connection

    if (
        _state(driver) != IDLE
        or listens(engine.dispatch, ENGINE_EVENTS)
        or driver.autocommit
    ):
        return None

    # SQLAlchemy's own way sets the isolation level, too, and takes five times as long.
    driver.autocommit = True
    return driver


def begin_writing(connection: sa.Connection) -> None:
    """Take SQLite's write lock, unless the connection has begun a transaction. From now
    on, an error by which the database ends the transaction ends the connection, too.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    transaction: t.Any = connection.get_transaction()

    if connection.dialect.name == "postgresql" or transaction in _begun:
        return

    if not connection.info.get(PREPARED):
        connection.info[PREPARED] = not is_sqlite or _prepare_sqlite(connection)

    if is_sqlite and not _is_in_transaction(connection):
        _take_lock(connection)

    _begun.add(transaction)


def connect_to_write(engine: sa.Engine) -> sa.Connection:
    """Return a connection in a transaction that is ready to write."""
    connection = engine.connect()

    try:
        connection.begin()
        begin_writing(connection)
    except BaseException:
        connection.close()
        raise

    return connection


def check_transaction(connection: sa.Connection) -> None:
    """Check that the transaction of a connection can be committed.

    :raises Unavailable: The database does not answer, or has undone it.
    :raises RuntimeError: The application has caught an error for which PostgreSQL will
        undo it. Its commit would report no error.
    """
    if connection.invalidated:
        raise AWAY.error(AWAY.text)

    if _state(_driver(connection)) == IN_ERROR:
        raise FAILED.error(FAILED.text)


def _take_lock(connection: sa.Connection) -> None:
    """Begin SQLite's transaction with its write lock."""
    driver: t.Any = connection.dialect.dbapi
    base = driver.Error

    # SQLAlchemy would take four times as long.
    try:
        _driver(connection).execute(BEGIN)
    except base as error:
        raise sa.exc.DBAPIError.instance(BEGIN, None, error, base) from error


def _prepare_sqlite(connection: sa.Connection) -> bool:
    """Set the busy timeout, and WAL, so that readers never wait."""
    timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {max(timeout, BUSY_TIMEOUT)}")

    try:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    except sa.exc.OperationalError:
        # Another connection uses the file. Writing works as it is, and the next call
        # tries again.
        return False

    return True


def _end(context: sa.ExceptionContext) -> None:
    """End a connection whose transaction the database has ended, so that nothing is
    written after it that would be committed alone, and one that another
    exception than the driver's has interrupted: the next statement might get the answer
    to this one.
    """
    connection = context.connection

    if connection is not None and _is_over(connection, context.original_exception):
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False


def _is_over(connection: sa.Connection, error: BaseException) -> bool:
    is_writing = connection.get_transaction() in _begun

    if connection.dialect.name == "sqlite":
        return is_writing and not _is_in_transaction(connection)

    driver = t.cast("t.Any", connection.dialect.loaded_dbapi)
    is_usual = isinstance(error, (driver.Error, *BIND_ERRORS))
    return (is_writing and error.args[:1] == (DEADLOCK,)) if is_usual else True


def _count(cursor: t.Any, statement: str, *args: t.Any) -> None:
    """Count a statement that writes. On SQLite, let a savepoint inside of a call be a
    part of a transaction: outside, it would be committed when it is released.
    """
    context = args[-1]
    connection = context.root_connection

    if statement.startswith("SAVEPOINT") and Transaction.current_or_none():
        with translated():
            begin_writing(connection)

    if (
        context.isinsert
        or context.isupdate
        or context.isdelete
        or (context.is_text and WRITES.match(statement))
    ):
        count_write(connection)


def count_write(connection: sa.Connection) -> None:
    """Count a statement that has written in the transaction of a connection."""
    root = connection.get_transaction()

    if root is not None:
        _writes[root] = _writes.get(root, 0) + 1


def _is_in_transaction(connection: sa.Connection) -> bool:
    return bool(getattr(_driver(connection), "in_transaction", True))


def _state(driver: t.Any) -> int | None:
    """Return the state of PostgreSQL's transaction, if the driver knows it."""
    return getattr(getattr(driver, "info", None), "transaction_status", None)


def _driver(connection: sa.Connection) -> t.Any:
    return connection.connection.dbapi_connection


def follow_forks(app: Flask) -> None:
    """Let a process that is forked from this one open connections of its own: two on
    one connection get each other's rows.

    :raises RuntimeError: uWSGI is to fork this process, which nobody would notice.
    """
    uwsgi: t.Any = sys.modules.get("uwsgi")

    # Mules and spoolers have been forked already.
    if (
        uwsgi is not None
        and uwsgi.numproc > 1
        and uwsgi.worker_id() == 0
        and uwsgi.masterpid() in (0, os.getpid())
    ):
        raise RuntimeError(UWSGI)

    with app.app_context():
        engines = getattr(app.extensions.get("sqlalchemy"), "engines", {})
        _engines.update(engines.values())


def _open_anew() -> None:
    for engine in _engines:
        # A database in memory is in its connection.
        if isinstance(engine.pool, QueuePool):
            _pools.append(engine.pool)
            engine.dispose(close=False)


os.register_at_fork(after_in_child=_open_anew)
