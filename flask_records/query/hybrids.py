"""Hybrid properties that a comparator of the application compares."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy.sql.operators import OperatorType


class HybridColumn(sa.ColumnOperators):
    """The column of a hybrid property, compared by its comparator where that can, and
    by the type of its expression otherwise.

    :param comparator: The attribute of the model.
    :param expression: The expression that is selected.
    """

    def __init__(self, comparator: t.Any, expression: sa.ColumnElement[t.Any]) -> None:
        self._comparator = comparator
        self._expression = expression
        self.type = expression.type
        """The type of the expression."""

    def __clause_element__(self) -> sa.ColumnElement[t.Any]:
        """Return the expression that functions of SQL are called with."""
        return self._expression

    def operate(self, op: OperatorType, *other: t.Any, **options: t.Any) -> t.Any:
        """Return the condition of an operator."""
        # A comparator has the operators that it changes, and SQLAlchemy's raise this
        # error for all others.
        try:
            return op(self._comparator, *other, **options)
        except NotImplementedError:
            return op(self._expression, *other, **options)
