"""Periods of times, from hours to years, in a time zone."""

from __future__ import annotations

import datetime as dt
import typing as t
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

import sqlalchemy as sa

UTC: t.Final = "UTC"

YEARS: t.Final = (1900, 2100)
"""The years in which the offsets of zones are looked up."""

STEP: t.Final = 7 * 24 * 3600
"""Seconds in which the offset of a zone changes once at most."""

EPOCH: t.Final = dt.datetime(1970, 1, 1)

SECONDS: t.Final = ("'%Y-%m-%d %H:%M:%S'", "TIMESTAMP '%Y-%m-%d %H:%M:%S'")
"""The literals of times, of SQLite and of others."""

Offsets: t.TypeAlias = Sequence[tuple[dt.datetime, int]]
"""The offsets of a zone in seconds, each with the time in UTC from which it holds."""


def _sql(text: str) -> t.Any:
    # PostgreSQL takes an expression with a parameter for another one in GROUP BY.
    return sa.literal_column(text)


def _strftime(moment: t.Any, form: str) -> t.Any:
    return sa.func.strftime(_sql(f"'{form}'"), moment)


def _week(moment: t.Any) -> t.Any:
    # A week belongs to the year of its Thursday. Before 3.46, SQLite has no %G and %V.
    day = sa.func.date(moment, _sql("'-3 days'"), _sql("'weekday 4'"))
    number = _strftime(day, "%j").op("+")(_sql("6")).op("/")(_sql("7"))
    return _strftime(day, "%Y").concat(sa.func.printf(_sql("'-W%02d'"), number))


def _quarter(moment: t.Any) -> t.Any:
    number = _strftime(moment, "%m").op("+")(_sql("2")).op("/")(_sql("3"))
    return _strftime(moment, "%Y").concat(sa.func.printf(_sql("'-Q%d'"), number))


def _mysql_quarter(moment: t.Any) -> t.Any:
    return sa.func.concat(sa.func.year(moment), _sql("'-Q'"), sa.func.quarter(moment))


class Functions(t.NamedTuple):
    """The functions of a database for times."""

    text: Callable[[t.Any, str], t.Any]
    """Returns the text of a time in a format."""

    later: Callable[[t.Any, t.Any], t.Any]
    """Returns the time that is a number of seconds later."""

    forms: Sequence[str | Callable[[t.Any], t.Any]]
    """The formats of ``UNITS``, or functions that return the text."""


UNITS: t.Final = ("hour", "day", "week", "month", "quarter", "year")
"""The periods. Weeks are as in ISO 8601."""

DATABASES: t.Final[Mapping[str, Functions]] = {
    "sqlite": Functions(
        _strftime,
        lambda moment, number: sa.func.datetime(moment, number.concat(" seconds")),
        ("%Y-%m-%dT%H", "%Y-%m-%d", _week, "%Y-%m", _quarter, "%Y"),
    ),
    "postgresql": Functions(
        lambda moment, form: sa.func.to_char(moment, _sql(f"'{form}'")),
        lambda moment, number: moment.op("+")(
            number.op("*")(_sql("INTERVAL '1 second'"))
        ),
        (
            *('YYYY-MM-DD"T"HH24', "YYYY-MM-DD", 'IYYY-"W"IW', "YYYY-MM"),
            *('YYYY-"Q"Q', "YYYY"),
        ),
    ),
}

MYSQL: t.Final = Functions(
    lambda moment, form: sa.func.date_format(moment, _sql(f"'{form}'")),
    lambda moment, number: sa.func.timestampadd(_sql("SECOND"), number, moment),
    ("%Y-%m-%dT%H", "%Y-%m-%d", "%x-W%v", "%Y-%m", _mysql_quarter, "%Y"),
)


def period(unit: str, zone: str, column: t.Any, dialect: str) -> t.Any:
    """Return the text of the period that a time is in.

    :param unit: One of ``UNITS``.
    :param zone: The name of a time zone. ``UTC`` for a date.
    :param column: The expression of the time, which is in UTC, or of a date.
    :param dialect: The name of the dialect of the database.
    """
    functions = DATABASES.get(dialect, MYSQL)
    form = functions.forms[UNITS.index(unit)]
    is_zoned = dialect == "postgresql" and getattr(column.type, "timezone", False)
    moment = sa.func.timezone(_sql(f"'{UTC}'"), column) if is_zoned else column

    if zone != UTC:
        literal = SECONDS[dialect != "sqlite"]
        moment = functions.later(moment, _offset(moment, _offsets(zone), literal))

    return form(moment) if callable(form) else functions.text(moment, form)


def _offset(moment: t.Any, offsets: Offsets, literal: str) -> t.Any:
    """Return the expression of the offset at a time, which halves the list of offsets
    each time. The databases may have no zones of their own.
    """
    if len(offsets) == 1:
        return sa.literal_column(str(offsets[0][1]), sa.Integer())

    middle = len(offsets) // 2
    before = moment.op("<")(_sql(offsets[middle][0].strftime(literal)))
    first, second = offsets[:middle], offsets[middle:]
    earlier = _offset(moment, first, literal)
    return sa.case((before, earlier), else_=_offset(moment, second, literal))


def is_zone(name: t.Any) -> bool:
    """Return ``True`` for the name of a time zone."""
    try:
        return isinstance(name, str) and bool(ZoneInfo(name))
    # A folder of zones is not a zone.
    except (KeyError, OSError, ValueError):
        return False


@lru_cache(maxsize=50)
def _offsets(zone: str) -> Offsets:
    """Return the offsets of a time zone in ``YEARS``."""
    info = ZoneInfo(zone)

    def offset(second: int) -> int:
        moment = info.fromutc(_time(second).replace(tzinfo=info))
        return round(t.cast("dt.timedelta", moment.utcoffset()).total_seconds())

    first, last = ((dt.datetime(y, 1, 1) - EPOCH).days * 86400 for y in YEARS)
    offsets = [(_time(first), offset(first))]

    for second in range(first, last, STEP):
        _, before = offsets[-1]
        after = offset(second + STEP)

        if after != before:
            week = range(second, second + STEP + 1)
            start = bisect_left(week, True, key=lambda each: offset(each) == after)
            offsets.append((_time(week[start]), after))

    return offsets


def _time(second: int) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=second)
