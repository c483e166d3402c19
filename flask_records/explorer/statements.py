"""The statements that calls run."""

from __future__ import annotations

import time
import typing as t

import sqlalchemy as sa

from .origins import origin
from .recorded import Statement
from .recorded_pipeline import RUNNING
from .recording import current_part
from .shown_sql import without_values

if t.TYPE_CHECKING:
    Context: t.TypeAlias = sa.ExecutionContext

STARTED: t.Final = "_records_started"
"""The attribute of an execution that has its statement, and its beginning."""

MAX_PARAMETERS: t.Final = 200
"""The number of parameters that are kept to ask for a plan."""

MAX_LENGTH: t.Final = 1000
"""The length of a text that is kept for this."""

SMALL: t.Final = (str, bytes, bytearray, memoryview, list, tuple, dict)
"""The types of values that may be large."""


def listen() -> None:
    """Record the statements of all engines while a recorded call runs."""
    for name, listener in (
        ("before_cursor_execute", _begin),
        ("after_cursor_execute", _end),
    ):
        if not sa.event.contains(sa.Engine, name, listener):
            sa.event.listen(sa.Engine, name, listener)


def _begin(
    connection: sa.Connection,
    cursor: t.Any,
    sql: str,
    parameters: t.Any,
    context: Context | None,
    is_many: bool,
) -> None:
    part = current_part()

    if part is None or context is None:
        return

    statement = Statement(
        sql=sql,
        shown=without_values(sql, connection.dialect.name),
        part=part,
        origin=origin(RUNNING),
        parameters=_if_small(parameters[0] if is_many else parameters),
        engine=connection.engine,
    )
    part.call.add_statement(statement)
    setattr(context, STARTED, (statement, time.perf_counter()))


def _end(
    connection: sa.Connection,
    cursor: t.Any,
    sql: str,
    parameters: t.Any,
    context: Context | None,
    is_many: bool,
) -> None:
    statement, started = getattr(context, STARTED, (None, 0.0))

    if statement is None:
        return

    statement.milliseconds = (time.perf_counter() - started) * 1000
    rows = getattr(cursor, "rowcount", None)
    statement.rows = rows if isinstance(rows, int) and rows >= 0 else None


def _if_small(parameters: t.Any) -> t.Any:
    """Return parameters, or ``None`` if they would fill the memory."""
    is_dict = isinstance(parameters, dict)
    values = list(parameters.values()) if is_dict else list(parameters or ())

    if len(values) > MAX_PARAMETERS or any(_is_large(value) for value in values):
        return None

    return parameters


def _is_large(value: t.Any) -> bool:
    # A value of a driver's type may wrap another one.
    value = getattr(value, "obj", value)
    return isinstance(value, SMALL) and len(value) > MAX_LENGTH
