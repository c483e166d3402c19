"""The statements that calls run."""

from __future__ import annotations

import time
import typing as t

import sqlalchemy as sa

from .origins import origin
from .recorded import MAX_QUESTIONS
from .recorded import Question
from .recorded import Statement
from .recorded_pipeline import RUNNING
from .recording import current_part
from .shown_sql import MAX_LENGTH
from .shown_sql import without_values

if t.TYPE_CHECKING:
    from .recorded import Call
    from .recorded import Part

    Context: t.TypeAlias = sa.ExecutionContext

STARTED: t.Final = "_records_started"
"""The attribute of an execution that has its statement, and its beginning."""

MAX_PARAMETERS: t.Final = 200
"""The number of parameters that are kept to ask for a plan."""

MAX_SIZE: t.Final = 2000
"""The length of all texts in them."""

SIZED: t.Final = (str, bytes, bytearray, memoryview, list, tuple, dict)
"""The types of values that may be large."""


def listen() -> None:
    """Record the statements of all engines while a recorded call runs."""
    if not sa.event.contains(sa.Engine, "before_cursor_execute", _begin):
        # SQLAlchemy hides listeners that return nothing in functions of its own.
        sa.event.listen(sa.Engine, "before_cursor_execute", _begin, retval=True)
        sa.event.listen(sa.Engine, "after_cursor_execute", _end)


def _begin(
    connection: sa.Connection,
    cursor: t.Any,
    sql: str,
    parameters: t.Any,
    context: Context | None,
    is_many: bool,
) -> tuple[str, t.Any]:
    part = current_part()

    if part is not None and context is not None:
        statement = _add(part, connection, sql, parameters)
        setattr(context, STARTED, (statement, time.perf_counter()))

    return sql, parameters


def _add(
    part: Part, connection: sa.Connection, sql: str, parameters: t.Any
) -> Statement:
    """Add a statement to the call that runs it, and return it."""
    call = part.call
    database = connection.dialect.name
    # Rows that one statement inserts have one set of parameters together.
    first = parameters[0] if isinstance(parameters, list) and parameters else parameters
    question = _question(call, sql, first)
    shown = call.shown_sql.get(sql) or without_values(sql, database)

    if question is not None:
        call.shown_sql[sql] = shown

    statement = Statement(
        sql=shown,
        part=part,
        origin=origin(RUNNING),
        question=question,
        engine=connection.engine,
    )
    call.add_statement(statement)
    return statement


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


def _question(call: Call, sql: str, parameters: t.Any) -> Question | None:
    """Return what to ask for a plan, unless it is asked already, or is too large."""
    is_full = len(call.shown_sql) >= MAX_QUESTIONS

    if sql in call.shown_sql or is_full or len(sql) > MAX_LENGTH:
        return None

    return Question(sql, parameters) if _is_small(parameters) else None


def _is_small(parameters: t.Any) -> bool:
    is_dict = isinstance(parameters, dict)
    values = list(parameters.values()) if is_dict else list(parameters or ())
    return len(values) <= MAX_PARAMETERS and sum(map(_size, values)) <= MAX_SIZE


def _size(value: t.Any) -> int:
    # A value of a driver's type may wrap another one.
    value = getattr(value, "obj", value)
    return len(value) if isinstance(value, SIZED) else 1
