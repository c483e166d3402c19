"""Dates and times of MariaDB, with null for those that Python lacks."""

from __future__ import annotations

import datetime as dt
import logging
import typing as t

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

UNREADABLE: t.Final = "A stored value can't be read and is answered as null: %s"
"""The warning of such a value."""

DAY: t.Final = dt.timedelta(days=1)

logger = logging.getLogger(__package__)


def as_moment(column: t.Any) -> t.Any:
    """Return the expression that reads a column of dates or date-times."""
    return sa.type_coerce(column, Moment())


def as_time_of_day(column: t.Any) -> t.Any:
    """Return the expression that reads a column of times."""
    return sa.type_coerce(column, TimeOfDay())


class Moment(TypeDecorator[dt.date]):
    """Dates and date-times as drivers return them: as text if they are none, such as
    ``0000-00-00``.
    """

    impl = sa.types.NullType
    cache_ok = True

    def process_result_value(self, value: t.Any, dialect: sa.Dialect) -> t.Any:
        """Return a date or a date-time."""
        return _unreadable(value) if isinstance(value, str) else value


class TimeOfDay(TypeDecorator[dt.time]):
    """Times as drivers return them: as intervals, which may be negative, or longer than
    a day.
    """

    impl = sa.types.NullType
    cache_ok = True

    def process_result_value(self, value: t.Any, dialect: sa.Dialect) -> t.Any:
        """Return a time of day."""
        if not isinstance(value, dt.timedelta):
            return value

        if dt.timedelta() <= value < DAY:
            return (dt.datetime.min + value).time()

        return _unreadable(value)


def _unreadable(value: t.Any) -> None:
    logger.warning(UNREADABLE, value)
