"""Cached plans, run on the cursor of the driver.

``Connection.execute`` makes a context, a result and its metadata for each statement: a
fifth of the time of a get. The text of a cached plan, the order of its parameters and
the functions that convert values are the same each time, and are kept here as
SQLAlchemy has compiled them. SQLAlchemy executes a plan itself where somebody could
notice the difference:

- somebody listens to the engine (record queries, OpenTelemetry), or it logs statements;
- the connection has execution options, such as a map of schemas;
- a parameter expands or has the default of a column;
- there are several rows of parameters, on another database than SQLite;
- the driver is not one of :data:`DRIVERS`, which are tested.
"""

from __future__ import annotations

import logging
import re
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import RecordsError
from .connections import count_write

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ..query.plans import Plan
    from ..typing import Record

    Convert: t.TypeAlias = Callable[[t.Any], t.Any]
    Rows: t.TypeAlias = Sequence[Sequence[t.Any]]

DRIVERS: tuple[str, ...] = ("pysqlite", "psycopg", "pymysql")
"""The drivers whose cursors take the text that SQLAlchemy compiles."""

PART: t.Final = 32
"""The number of rows that are checked at once."""

KEYWORDS: t.Final = " VALUES | RETURNING "
"""Stand around the parameters of an INSERT."""

MAX_ROWS: t.Final = 1000
"""The number of rows that one INSERT writes."""

MAX_STATEMENTS: t.Final = 64
"""The number of statements of a plan: one for each engine and set of parameters."""


class CursorStatement:
    """A compiled statement as a driver takes it, with the columns of its rows."""

    def __init__(self, compiled: t.Any, columns: Sequence[t.Any]) -> None:
        dialect = compiled.dialect
        self.writes: bool = compiled.isinsert or compiled.isupdate or compiled.isdelete
        """``True`` if it writes."""
        self.text: str = compiled.string
        """Its text."""
        self._dialect = dialect
        self._max_parameters: int = dialect.insertmanyvalues_max_parameters
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        self._constants = {
            name: bind.effective_value
            for name, bind in binds.items()
            if not bind.required
        }
        self._is_positional: bool = compiled.positional
        self._names = [*(compiled.positiontup if self._is_positional else binds)]
        self._binds: list[tuple[str, Convert | None]] = [
            (name, binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in self._names
        ]
        self._types = [column.type.dialect_impl(dialect) for column in columns]
        self._converts: list[tuple[int, Convert]] | None = None

    def fetch(self, cursor: t.Any, plan: Plan) -> Rows:
        """Return the rows that a cursor gives for the plan of the statement."""
        parameters, check = plan.parameters, plan.check

        if isinstance(parameters, list):
            return self._fetch_many(cursor, parameters)

        values: t.Any = self._bind(parameters)

        if not self._is_positional:
            values = dict(zip(self._names, values, strict=True))

        cursor.execute(self.text, values)

        # The driver of MariaDB does not describe the rows of a DELETE that finds none.
        if cursor.description is None:
            return ()

        rows: Rows = cursor.fetchall() if check is None else read_checked(cursor, check)
        self._describe(cursor)
        return rows

    def _fetch_many(self, cursor: t.Any, parameters: Sequence[Record]) -> Rows:
        """Return the rows of an INSERT, in one text for all that SQLite takes at once.
        SQLAlchemy takes twice the time to make it.
        """
        number = min(self._max_parameters // len(self._binds), MAX_ROWS)
        head, values, tail = re.split(KEYWORDS, self.text)
        rows: list[Sequence[t.Any]] = []

        for start in range(0, len(parameters), number):
            part = parameters[start : start + number]
            several = ", ".join([values] * len(part))
            text = f"{head} VALUES {several} RETURNING {tail}"
            cursor.execute(text, [each for row in part for each in self._bind(row)])
            rows += cursor.fetchall()

        self._describe(cursor)
        return rows

    def _bind(self, parameters: Record) -> list[t.Any]:
        """Return the values of parameters as the driver takes them, in their order."""
        values = {**self._constants, **parameters} if self._constants else parameters
        return [
            values[name] if convert is None else convert(values[name])
            for name, convert in self._binds
        ]

    def _describe(self, cursor: t.Any) -> None:
        if self._converts is None:
            pairs = zip(self._types, cursor.description, strict=True)
            self._converts = [
                (index, convert)
                for index, (each, column) in enumerate(pairs)
                if (convert := each.result_processor(self._dialect, column[1]))
            ]

    def convert(self, rows: Rows) -> Rows:
        """Return rows with the values of the driver as values of Python."""
        if not self._converts:
            return rows

        copies = [*map(list, rows)]

        for index, convert in self._converts:
            for row in copies:
                row[index] = convert(row[index])

        return copies


def connect(engine: sa.Engine) -> sa.PoolProxiedConnection:
    """Return a connection of the driver, from the pool of an engine."""
    base = t.cast("t.Any", engine.dialect.loaded_dbapi).Error

    try:
        return engine.raw_connection()
    except base as error:
        raise sa.exc.DBAPIError.instance(
            None, None, error, base, dialect=engine.dialect
        ) from error


def statement_of(engine: t.Any, plan: Plan) -> CursorStatement | None:
    """Return the statement of a plan as the driver takes it, or ``None`` if SQLAlchemy
    has to execute the plan.
    """
    if (
        plan.on_cursor is None
        # SQLAlchemy's own condition for its events. A public one takes ten look-ups.
        or engine._has_events
        or len(engine.dialect.dispatch.do_execute) > 1
        or engine.get_execution_options()
        or engine.logger.isEnabledFor(logging.INFO)
    ):
        return None

    is_many = isinstance(plan.parameters, list)
    names = plan.parameters[0] if is_many else plan.parameters
    key = engine.dialect, is_many, *names

    try:
        return t.cast("CursorStatement | None", plan.on_cursor[key])
    except KeyError:
        pass

    if len(plan.on_cursor) >= MAX_STATEMENTS:
        plan.on_cursor.clear()

    statement = _compile(engine.dialect, plan.statement, names, is_many=is_many)
    plan.on_cursor[key] = statement
    return statement


def rows_of(connection: t.Any, plan: Plan) -> Rows:
    """Return the rows of a plan, in the transaction of a connection."""
    transaction = connection.get_nested_transaction() or connection.get_transaction()

    if (
        transaction is None
        or not transaction.is_active
        or connection._has_events
        or connection.get_execution_options()
        or (statement := statement_of(connection.engine, plan)) is None
    ):
        return execute(connection, plan)

    rows = run(statement, connection.connection, plan, lambda: connection)

    if statement.writes:
        count_write(connection)

    return rows


def run(
    statement: CursorStatement,
    driver: sa.PoolProxiedConnection,
    plan: Plan,
    connect: Callable[[], sa.Connection],
) -> Rows:
    """Return the rows of a statement, with the parameters of its plan.

    :param connect: Returns SQLAlchemy's connection, which makes errors.
    """
    cursor = None

    try:
        cursor = driver.cursor()
        rows = statement.fetch(cursor, plan)
        cursor.close()
    except RecordsError:
        t.cast("t.Any", cursor).close()
        raise
    except BaseException as error:
        # This raises SQLAlchemy's error, and ends a connection that is lost. The one of
        # a row that the driver can't read has no statement, as SQLAlchemy's own.
        has_run = cursor is not None and cursor.description is not None
        text = None if has_run else statement.text
        connection = t.cast("t.Any", connect())
        connection._handle_dbapi_exception(error, text, plan.parameters, cursor, None)

    return statement.convert(rows)


def execute(
    executor: sa.Connection | orm.Session, plan: Plan, **options: t.Any
) -> Rows:
    """Return the rows of a plan that SQLAlchemy executes."""
    options["execution_options"] = plan.options
    result = executor.execute(plan.statement, plan.parameters, **options)

    if plan.check is None:
        return result.all()

    with result.yield_per(PART) as parts:
        return read_checked(parts, plan.check)


def read_checked(cursor: t.Any, check: Callable[[Rows], None]) -> Rows:
    """Return the rows of a cursor, each checked before the next are read."""
    rows: list[Sequence[t.Any]] = []

    while part := cursor.fetchmany(PART):
        check(part)
        rows += part

    return rows


def _compile(
    dialect: t.Any, statement: t.Any, names: Collection[str], *, is_many: bool
) -> CursorStatement | None:
    module = type(dialect).__module__

    if dialect.driver not in DRIVERS or not module.startswith("sqlalchemy."):
        return None

    compiled = statement.compile(dialect=dialect, column_keys=sorted(names))

    if (
        compiled.post_compile_params
        or compiled.literal_execute_params
        or compiled.escaped_bind_names
        or compiled.insert_prefetch
        or compiled.update_prefetch
    ):
        return None

    # A column may have the name of a keyword.
    is_split = len(re.split(KEYWORDS, compiled.string)) == 3

    # Only drivers of SQLite count their parameters by question marks.
    if is_many and not (dialect.paramstyle == "qmark" and is_split):
        return None

    return CursorStatement(compiled, [*statement.exported_columns])
