"""Stored values that Python can't read, answered as null."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from ..errors import Conflict
from ..query.moments_of_mariadb import UNREADABLE
from ..query.plans import NO_CACHE
from ..query.plans import Plan

logger = logging.getLogger(__package__)

READ_ERRORS: t.Final = (ValueError, LookupError, ArithmeticError)
"""The errors of a type that can't read a value."""

TYPES_OF_PSYCOPG: t.Final = (
    *("date", "time", "timetz", "timestamp", "timestamptz", "interval"),
)
"""The types of PostgreSQL that have more values than those of Python."""

T = t.TypeVar("T")


def is_unreadable(error: BaseException) -> bool:
    """Return ``True`` for an error of a stored value that can't be read."""
    if isinstance(error, sa.exc.DataError):
        # The driver has raised it, not the server, and after the statement.
        driver = t.cast("t.Any", error.orig)
        is_of_driver = _is_of_psycopg(driver) and driver.sqlstate is None
        return is_of_driver and error.statement is None

    return isinstance(error, READ_ERRORS)


def unreadable() -> Conflict:
    """Return the error for a write of a record with a value that can't be read."""
    return Conflict("The record has a stored value that can't be read.")


def fetch_to_write(fetch: Callable[[], T]) -> T:
    """Return the rows or instances of a write that a function fetches.

    :raises Conflict: They have a value that can't be read. The log has the error.
    """
    try:
        return fetch()
    except READ_ERRORS as error:
        if isinstance(error, sa.exc.SQLAlchemyError):
            raise

        logger.warning("A stored value can't be read.", exc_info=error)
        raise unreadable() from error


def tolerant(plan: Plan) -> Plan:
    """Return a plan that reads null for values that can't be read."""
    statement = plan.statement
    columns = [
        sa.type_coerce(column, Tolerant(column.type)).label(column.key)
        for column in statement.selected_columns
    ]
    # The application may look at these reads, too.
    statement = statement.with_only_columns(*columns, maintain_column_froms=True)
    return plan._replace(statement=statement, options=NO_CACHE)


@contextmanager
def unreadable_as_null(connection: sa.Connection) -> Iterator[None]:
    """Read null for values that the driver can't read, and log that."""
    driver = t.cast("t.Any", connection.connection.dbapi_connection)

    if not _is_of_psycopg(driver):
        yield
        return

    adapters = driver.adapters
    formats = _formats()
    loaders = {
        (oid, format): adapters.get_loader(oid, format)
        for oid in [adapters.types[name].oid for name in TYPES_OF_PSYCOPG]
        for format in formats
    }

    try:
        for (oid, _), loader in loaders.items():
            adapters.register_loader(oid, _tolerant_loader(loader))

        yield
    finally:
        for (oid, _), loader in loaders.items():
            adapters.register_loader(oid, loader)


class Tolerant(TypeDecorator[t.Any]):
    """A type that reads null for values that it can't read."""

    impl = sa.types.NullType
    cache_ok = False

    def __init__(self, type_: t.Any) -> None:
        super().__init__()
        self._type = type_

    def load_dialect_impl(self, dialect: sa.Dialect) -> t.Any:
        """Return the type on a database."""
        return self._type.dialect_impl(dialect)

    def result_processor(
        self, dialect: sa.Dialect, coltype: object
    ) -> Callable[[t.Any], t.Any] | None:
        """Return a function that reads a value."""
        read = self._type.dialect_impl(dialect).result_processor(dialect, coltype)
        return None if read is None else _tolerant_read(read)


def _tolerant_read(read: Callable[[t.Any], t.Any]) -> Callable[[t.Any], t.Any]:
    def read_or_null(value: t.Any) -> t.Any:
        try:
            return read(value)
        except READ_ERRORS as error:
            _warn(error)
            return None

    return read_or_null


def _tolerant_loader(loader: t.Any) -> t.Any:
    from psycopg import DataError
    from psycopg.adapt import Loader

    class TolerantLoader(Loader):
        format = loader.format

        def __init__(self, oid: int, context: t.Any = None) -> None:
            super().__init__(oid, context)
            self._loader = loader(oid, context)

        def load(self, data: t.Any) -> t.Any:
            try:
                return self._loader.load(data)
            except DataError as error:
                _warn(error)
                return None

    return TolerantLoader


def _is_of_psycopg(value: t.Any) -> bool:
    return type(value).__module__.partition(".")[0] == "psycopg"


def _formats() -> tuple[t.Any, ...]:
    from psycopg.pq import Format

    return Format.TEXT, Format.BINARY


def _warn(error: Exception) -> None:
    logger.warning(UNREADABLE, error)
