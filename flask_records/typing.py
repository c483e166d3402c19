"""The types that several modules share."""

from __future__ import annotations

import datetime as dt
import typing as t
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal

if t.TYPE_CHECKING:
    from flask import Request
    from flask.typing import ResponseReturnValue

    from .errors import RecordsError

PLAIN_TYPES: t.Final = frozenset(
    {str, int, float, bool, type(None), bytes, Decimal, uuid.UUID}
    | {dt.datetime, dt.date, dt.time, dt.timedelta}
)
"""The usual types of values other than records."""

Record: t.TypeAlias = dict[str, t.Any]
"""One item of a service: its fields by name."""

Id: t.TypeAlias = t.Any
"""The value of a record's identifier field: text as it came in a URL, or typed."""

Rule: t.TypeAlias = (
    Callable[[t.Any], bool | dict[str, t.Any] | None] | Mapping[str, t.Any] | bool
)
"""``True`` if a user may reach all records, ``False`` if none, or the query of the
records that the user may reach, with :class:`.FromUser` for values of the user; or a
function of the user that returns one of them, or ``None`` for no record.
"""

QueryParser: t.TypeAlias = Callable[[str], dict[str, t.Any]]
"""Parses the text of a query string into a nested mapping. See section 4.3.9."""

BodyParser: t.TypeAlias = "Callable[[Request], t.Any]"
"""Parses the body of a request of one media type into the data of a call."""

ErrorPage: t.TypeAlias = "Callable[[RecordsError], ResponseReturnValue]"
"""Makes the HTML page of an error. See section 7.4 of the specification."""

ErrorPages: t.TypeAlias = "ErrorPage | Mapping[int, str] | t.Literal[False] | None"
"""A function, paths of HTML files by status, ``False`` for none, or the default."""
