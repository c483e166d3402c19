"""The plans of the statements of a call, asked for once."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from dataclasses import replace

from ..adapter.turns import take_turn
from .indexes import missing_indexes
from .plans import explain
from .plans import Plan

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

    from .recorded import Call
    from .recorded import Statement

MAX_PLANS: t.Final = 30
"""The number of different statements of a call whose plans are asked for."""

TOO_MANY: t.Final = Plan(problem=f"The plans of {MAX_PLANS} statements are asked for.")


def explain_all(call: Call) -> None:
    """Give the statements of a call their plans, equal statements the same one."""
    plans: dict[tuple[sa.Engine, str], Plan] = {}

    for statement in list(call.statements):
        key = statement.engine, statement.sql

        if statement.plan is None:
            if key not in plans:
                is_next = len(plans) < MAX_PLANS
                plans[key] = _plan(statement) if is_next else TOO_MANY

            statement.plan = plans[key]

        plans.setdefault(key, statement.plan)


def _plan(statement: Statement) -> Plan:
    try:
        with _connection(statement.engine) as connection:
            plan = explain(connection, statement)
            advice = missing_indexes(connection, statement.shown, plan)
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
