"""Rows of statements. No other module runs them, but for flushes of a session."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.plans import Plan
from .unreadable import is_unreadable
from .unreadable import tolerant
from .unreadable import unreadable_as_null

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    Rows: t.TypeAlias = Sequence[sa.Row[t.Any]]

NO_OPTIONS: t.Final[dict[str, t.Any]] = {}


def rows_of(executor: sa.Connection | orm.Session, plan: Plan) -> Rows:
    """Return the rows of a plan."""
    statement, parameters, options, *_ = plan
    return executor.execute(
        statement, parameters, execution_options=options or NO_OPTIONS
    ).all()


def read_rows(
    executor: sa.Connection | orm.Session, connection: sa.Connection, plan: Plan
) -> Rows:
    """Return the rows of a plan that reads, with null for values that can't be read."""
    try:
        return rows_of(executor, plan)
    except Exception as error:
        if not is_unreadable(error):
            raise

    with unreadable_as_null(connection):
        return rows_of(executor, tolerant(plan))
