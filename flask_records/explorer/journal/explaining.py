"""The plans of the statements of a call, asked for once."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from dataclasses import replace

from ...adapter.turns import take_turn
from .indexes import missing_indexes
from .plans import explain
from .plans import Plan

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

    from .recorded import Call
    from .recorded import Question
    from .recorded import Statement

NOT_KEPT: t.Final = Plan(problem="The statement is too large, or one of too many.")


def explain_all(call: Call) -> None:
    """Give the statements of a call their plans, equal statements the same one."""
    plans: dict[tuple[sa.Engine, str], Plan] = {}

    for statement in list(call.statements):
        if statement.plan is None and statement.question is not None:
            statement.plan = _plan(statement.question, statement)

        if statement.plan is not None:
            plans.setdefault(_key(statement), statement.plan)

    for statement in list(call.statements):
        statement.plan = plans.get(_key(statement), NOT_KEPT)


def _key(statement: Statement) -> tuple[sa.Engine, str]:
    return statement.engine, statement.sql


def _plan(question: Question, statement: Statement) -> Plan:
    try:
        with _connection(statement.engine) as connection:
            plan = explain(connection, question)
            advice = missing_indexes(connection, statement.sql, plan)
            return replace(plan, advice=tuple(advice))
    except Exception as error:
        # Its message may have values.
        name = type(error).__name__
        return Plan(problem=f"The database has refused to plan it ({name}).")


@contextmanager
def _connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Yield a connection of its own, whose transaction is rolled back."""
    give_back = take_turn(engine)

    try:
        with engine.connect() as connection:
            yield connection
            connection.rollback()
    finally:
        give_back()
