"""Functions that make a Python value of one value on the wire, one for each type.

Each function raises :class:`ValueError` with a phrase that follows the name of the
field, such as ``is not a number``.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
import typing as t
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from decimal import Decimal, InvalidOperation
from functools import partial

import orjson
from werkzeug.datastructures import FileStorage

from .. import problems

MILLISECONDS = re.compile(r"-?[0-9]{1,17}")
WHOLE_NUMBER = re.compile(r"(-?[0-9]{1,30})(?:\.0{1,30})?")
# No part has more digits than there are numbers of a sensible size.
NUMBER = re.compile(r"-?[0-9]{0,1000}(?:\.[0-9]{0,1000})?(?:[eE][-+]?[0-9]{1,9})?")
MAX_JSON_DEPTH = 100
NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
BOOLEANS = {
    **dict.fromkeys(("true", "1", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "0", "f", "no", "n", "off"), False),
}
UTC = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
FIRST = dt.datetime.min.replace(tzinfo=dt.UTC) + DAY
LAST = dt.datetime.max.replace(tzinfo=dt.UTC) - DAY

if t.TYPE_CHECKING:
    from .conversions import Cast, Conversion

T = t.TypeVar("T")


def as_text(value: t.Any) -> str:
    """Return text, also of numbers and truth values."""
    if type(value) is str and value.isascii():
        return value

    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (float, Decimal)) and not math.isfinite(value):
        raise ValueError(problems.NOT_FINITE)
    elif isinstance(value, (int, float, Decimal, uuid.UUID)):
        value = str(value)

    if not isinstance(value, str):
        raise ValueError(problems.NO_TEXT)

    # A lone surrogate can't be stored. Nothing else fails to encode.
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(problems.NOT_UNICODE) from None

    return str(value)


def as_integer(value: t.Any) -> int:
    """Return a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value

    if isinstance(value, str) and (match := WHOLE_NUMBER.fullmatch(value)):
        return int(match[1])

    if isinstance(value, float) and value.is_integer():
        return int(value)

    if isinstance(value, Decimal) and value.is_finite() and value == round(value):
        return int(value)

    raise ValueError(problems.NO_INTEGER)


def integer_between(low: int, high: int) -> Callable[[t.Any], int]:
    """Return a function that returns a whole number from ``low`` to ``high``."""

    def cast_integer(value: t.Any) -> int:
        number = value if type(value) is int else as_integer(value)

        if not low <= number <= high:
            raise ValueError(problems.out_of_range(low, high))

        return number

    return cast_integer


def as_float(value: t.Any) -> float:
    """Return a finite number."""
    number = value if isinstance(value, float) else float(as_decimal(value))

    if not math.isfinite(number):
        raise ValueError(problems.NOT_FINITE)

    return number


def as_decimal(value: t.Any) -> Decimal:
    """Return a decimal number."""
    if not isinstance(value, (str, int, float, Decimal)) or isinstance(value, bool):
        raise ValueError(problems.NO_NUMBER)

    # Python also reads blanks, underscores between digits, and digits of all scripts.
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        raise ValueError(problems.NO_NUMBER)

    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise ValueError(problems.NO_NUMBER) from None

    if not number.is_finite() or abs(number.adjusted()) > 1000:
        raise ValueError(problems.OUT_OF_RANGE)

    return number


def as_boolean(value: t.Any) -> bool:
    """Return true or false."""
    if type(value) is bool:
        return value

    if isinstance(value, (str, int)):
        flag = BOOLEANS.get(str(value).lower())

        if flag is not None:
            return flag

    raise ValueError(problems.NO_BOOLEAN)


def as_naive_moment(value: t.Any) -> dt.datetime:
    """Return a time in UTC, of ISO 8601 text or of milliseconds, without its zone."""
    if isinstance(value, dt.datetime):
        moment = value
    elif isinstance(value, str) and not MILLISECONDS.fullmatch(value):
        moment = _parsed(dt.datetime.fromisoformat, value, problems.NO_MOMENT)
    else:
        moment = _parsed(_from_milliseconds, value, problems.NO_MOMENT)

    if moment.tzinfo is None:
        return moment

    try:
        return _in_utc(moment)
    except OverflowError:
        raise ValueError(problems.OUT_OF_RANGE) from None


def _in_utc(moment: dt.datetime) -> dt.datetime:
    """Return a time in UTC without its zone."""
    moment = moment.astimezone(dt.UTC)
    # replace(tzinfo=None) takes four times as long.
    return dt.datetime.combine(moment.date(), moment.time())


def _from_milliseconds(value: t.Any) -> dt.datetime:
    return EPOCH + dt.timedelta(milliseconds=as_float(value))


def moment_text(value: dt.datetime) -> str:
    """Return a time as answers have it: in UTC, with milliseconds, and microseconds if
    there are any.
    """
    return moment_json(value)[1:-1].decode()


def moment_json(value: dt.datetime) -> bytes:
    """Return the JSON text of :func:`moment_text`."""
    if value.tzinfo is not None:
        value = _in_utc(value)

    # isoformat() takes four times as long, an eighth of a page of 1,000 records.
    try:
        text = orjson.dumps(value, option=UTC)
    except TypeError:
        # orjson takes no subclasses.
        text = f'"{value.isoformat()}Z"'.encode()

    fraction = value.microsecond

    if not fraction:
        return text[:-2] + b'.000Z"'

    return text if fraction % 1000 else text[:-5] + b'Z"'


def as_zoned_moment(value: t.Any) -> dt.datetime:
    """Return a UTC time whose year fits ``datetime`` in every zone, because a driver
    may convert it to the zone of its connection.
    """
    moment = as_naive_moment(value).replace(tzinfo=dt.UTC)

    if not FIRST <= moment <= LAST:
        raise ValueError(problems.OUT_OF_RANGE)

    return moment


def as_date(value: t.Any) -> dt.date:
    """Return a date."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value

    if isinstance(value, str) and len(value) <= 10:
        return _parsed(dt.date.fromisoformat, value, problems.NO_DATE)

    moment = as_naive_moment(value)

    if moment.time() != dt.time():
        raise ValueError(problems.NO_DATE)

    return moment.date()


def as_time(value: t.Any) -> dt.time:
    """Return a time of day."""
    if isinstance(value, str):
        value = _parsed(dt.time.fromisoformat, value, problems.NO_TIME)

    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise ValueError(problems.NO_TIME)

    return value


def as_interval(value: t.Any) -> dt.timedelta:
    """Return an interval, of seconds."""
    if isinstance(value, dt.timedelta):
        return value

    def seconds(number: t.Any) -> dt.timedelta:
        return dt.timedelta(seconds=as_float(number))

    return _parsed(seconds, value, problems.NO_INTERVAL)


def as_uuid(value: t.Any) -> uuid.UUID:
    """Return a UUID."""
    if isinstance(value, uuid.UUID):
        return value

    return _parsed(uuid.UUID, value, problems.NO_UUID)


def as_bytes(value: t.Any) -> bytes:
    """Return bytes, of base64 or of a file."""
    if isinstance(value, FileStorage):
        value.stream.seek(0)
        return value.stream.read()

    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)

    return _parsed(partial(base64.b64decode, validate=True), value, problems.NO_BASE64)


def as_json(value: t.Any) -> t.Any:
    """Return any JSON value as it is."""
    if is_deeper(value, MAX_JSON_DEPTH):
        raise ValueError(problems.too_deep(MAX_JSON_DEPTH))

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_text)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(problems.NOT_UNICODE) from None
    except ValueError as error:
        is_file = error.args == (problems.FILE,)
        raise ValueError(problems.FILE if is_file else problems.NOT_FINITE) from None

    # PostgreSQL could store it, and fail in each query from then on. The expression
    # alone takes two thirds of the time of a large document.
    if "\\u0000" in text and NUL_IN_JSON.search(text):
        raise ValueError(problems.NUL)

    return value


def _text(value: t.Any) -> str:
    """Return the text of a value that the application may store in a document.

    :raises ValueError: It is a file.
    """
    if isinstance(value, FileStorage):
        raise ValueError(problems.FILE)

    return str(value)


def is_deeper(value: t.Any, levels: int) -> bool:
    """Return ``True`` if a value nests deeper than some levels."""
    if isinstance(value, dict):
        value = list(value.values())

    if not isinstance(value, list):
        return False

    return levels == 0 or any(is_deeper(item, levels - 1) for item in value)


def of_json_text(value: str) -> t.Any:
    """Return the value of JSON text, or the text if it isn't JSON."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def as_foreign(value: t.Any) -> str:
    """Return the text of a value of a type that only the database knows."""
    is_typed = not isinstance(value, (Mapping, Sequence, Set, bytes))
    return as_text(str(value) if is_typed else value)


def _parsed(
    parse: Callable[[t.Any], T], value: t.Any, otherwise: problems.Problem
) -> T:
    try:
        return parse(value)
    except (ValueError, OverflowError, TypeError, AttributeError):
        raise ValueError(otherwise) from None


def cast(conversion: Conversion, value: t.Any) -> t.Any:
    """Cast a value of a body, or an identifier, to the type of a column.

    :param value: Text, a JSON value, or a value that has the type already.
    :raises ValueError: The value does not fit, with a phrase that says why.
    """
    # A column of JSON may hold the texts that stand for null.
    if isinstance(value, str) and not conversion.reads_json:
        value = None if value in conversion.null_texts else value

    return None if value is None else conversion.cast(value)


def cast_and_check(conversion: Conversion) -> Cast:
    """Return a function that casts values of bodies, and refuses what does not fit."""
    cast_value, check = conversion.cast, conversion.check
    null_texts = () if conversion.reads_json else conversion.null_texts

    def cast_stored(value: t.Any) -> t.Any:
        if value is None or (isinstance(value, str) and value in null_texts):
            return None

        value = cast_value(value)

        if check is not None and value is not None:
            check(value)

        return value

    return cast_stored
