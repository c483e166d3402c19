"""Conversions between values on the wire and values of columns, and the functions that
make a Python value of one value on the wire, one for each type.

Each of these raises :class:`ValueError` with a phrase that follows the name of the
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
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial

import orjson
import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator
from werkzeug.datastructures import FileStorage

from .. import problems

Cast: t.TypeAlias = Callable[[t.Any], t.Any]
Check: t.TypeAlias = Callable[[t.Any], None]
Schema: t.TypeAlias = Mapping[str, t.Any]
T = t.TypeVar("T")

MAX_EXACT: t.Final = 2**53 - 1
"""The largest whole number that is the only one of its double."""

NULL_TEXTS: t.Final = ("", "null")
"""The texts that are null, where a column can't hold them."""

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


class Unreadable(ValueError):
    """The database has a value that its type can't read."""


@dataclass(frozen=True)
class Conversion:
    """Converts the values of one column. Each function raises :class:`ValueError` with
    a phrase that follows the name of the field, such as ``is not a number``.
    """

    cast: Cast
    """Casts a value on the wire to the column's type."""

    check: Check | None = None
    """Refuses a value that the column can't hold."""

    is_text: bool = False
    """``True`` if the column holds text."""

    null_texts: Collection[str] = NULL_TEXTS
    """The texts that stand for null."""

    is_ordered: bool = True
    """``True`` if values are less or greater than others."""

    is_sorted: bool = True
    """``True`` if records can be sorted by them."""

    reads_json: bool = False
    """``True`` if text in a query is JSON text."""

    is_null_only: bool = False
    """``True`` if values can't be compared, but with null."""

    compared_by_database: bool = False
    """``True`` if only the database can compare values."""

    has_item: Callable[..., t.Any] | None = None
    """Returns the condition that the list in a column has an item. ``None`` for types
    that have no lists whose items are compared.
    """

    select: Callable[[t.Any], t.Any] | None = None
    """Returns the expression that is selected for a column, where that is not the
    column itself.
    """

    show: Cast | None = None
    """Returns the value on the wire of a value that was selected, where the application
    defines it. It may raise :class:`Unreadable`.
    """

    schema: Schema = field(default_factory=dict)
    """The JSON Schema of the values on the wire, other than null. Empty if they may be
    anything, such as what a driver makes of a type that only it knows.
    """

    doubt: t.Literal["", "untried", "one-way"] = ""
    """The reason why the values of a type of the application have no certain form:
    ``untried`` if no value was found that it takes, ``one-way`` if it gives back others
    than it takes, so that they must not be shown.
    """

    def read(self, value: t.Any, *, is_checked: bool = True) -> t.Any:
        """Return the value for the column of a value of a body, or of an identifier.

        :param value: Text, a JSON value, or a value that has the type already.
        :param is_checked: ``False`` for a value that the column need not hold.
        :raises ValueError: The value does not fit, with a phrase that says why.
        """
        # A column of JSON may hold the texts that stand for null.
        if isinstance(value, str) and not self.reads_json:
            value = None if value in self.null_texts else value

        if value is None:
            return None

        value = self.cast(value)

        if is_checked and self.check is not None and value is not None:
            self.check(value)

        return value

    def select_as(self, name: str, expression: t.Any) -> t.Any:
        """Return the expression that is selected for a field.

        :param expression: The column, or the attribute of the model.
        """
        if self.select is None:
            return expression

        return self.select(expression).label(name)


def nullable(schema: Schema) -> Schema:
    """Return the JSON Schema of values that may be null."""
    if not isinstance(schema.get("type"), str):
        return schema if not schema else {"anyOf": [schema, {"type": "null"}]}

    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **enum}


def is_json(type_: t.Any) -> bool:
    """Return ``True`` if a column type holds JSON documents, plain or decorated."""
    is_own = isinstance(type_, TypeDecorator)
    return is_json(type_.impl_instance) if is_own else isinstance(type_, sa.JSON)


def python_type(type_: t.Any) -> type[t.Any] | None:
    """Return the class of the values of a column, if it is known."""
    try:
        class_ = type_.python_type
    except NotImplementedError:
        return None

    return class_ if isinstance(class_, type) else None


def is_same(value: t.Any, other: t.Any) -> bool:
    """Return ``True`` for values that are the same once a client has read and sent
    them: JavaScript cuts times to milliseconds, and numbers to 53 bits.
    """
    if isinstance(value, int) and isinstance(other, int):
        return float(value) == float(other)

    if isinstance(value, dt.datetime) and isinstance(other, dt.datetime):
        value, other = [
            each.replace(microsecond=each.microsecond // 1000 * 1000)
            for each in (value, other)
        ]

    return bool(value == other)


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


def as_text_without_nul(value: t.Any) -> str:
    """Return text that PostgreSQL stores."""
    text = as_text(value)

    if "\0" in text:
        raise ValueError(problems.NUL)

    return text


def as_integer(value: t.Any) -> int:
    """Return a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value

    if isinstance(value, str) and (match := WHOLE_NUMBER.fullmatch(value)):
        return int(match[1])

    if isinstance(value, float) and value.is_integer():
        # The text of the number may have had other digits.
        if abs(value) > MAX_EXACT:
            raise ValueError(problems.ROUNDED)

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
        moment = _parse(dt.datetime.fromisoformat, value, problems.NO_MOMENT)
    else:
        moment = _parse(
            lambda number: EPOCH + dt.timedelta(milliseconds=as_float(number)),
            value,
            problems.NO_MOMENT,
        )

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


def moment_text(value: dt.datetime) -> str:
    """Return a time as answers have it: in UTC, with milliseconds, and microseconds if
    there are any.
    """
    if value.tzinfo is not None:
        value = _in_utc(value)

    # isoformat() takes four times as long, an eighth of a page of 1,000 records.
    try:
        text = orjson.dumps(value, option=UTC).decode()
    except TypeError:
        # orjson takes no subclasses.
        text = f'"{value.isoformat()}Z"'

    fraction = value.microsecond

    if not fraction:
        return f"{text[1:-2]}.000Z"

    return text[1:-1] if fraction % 1000 else f"{text[1:-5]}Z"


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
        return _parse(dt.date.fromisoformat, value, problems.NO_DATE)

    moment = as_naive_moment(value)

    if moment.time() != dt.time():
        raise ValueError(problems.NO_DATE)

    return moment.date()


def as_time(value: t.Any) -> dt.time:
    """Return a time of day."""
    if isinstance(value, str):
        value = _parse(dt.time.fromisoformat, value, problems.NO_TIME)

    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise ValueError(problems.NO_TIME)

    return value


def as_interval(value: t.Any) -> dt.timedelta:
    """Return an interval, of seconds."""
    if isinstance(value, dt.timedelta):
        return value

    return _parse(
        lambda number: dt.timedelta(seconds=as_float(number)),
        value,
        problems.NO_INTERVAL,
    )


def as_uuid(value: t.Any) -> uuid.UUID:
    """Return a UUID."""
    if isinstance(value, uuid.UUID):
        return value

    return _parse(uuid.UUID, value, problems.NO_UUID)


def as_bytes(value: t.Any) -> bytes:
    """Return bytes, of base64 or of a file."""
    if isinstance(value, FileStorage):
        value.stream.seek(0)
        return value.stream.read()

    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)

    return _parse(partial(base64.b64decode, validate=True), value, problems.NO_BASE64)


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


def as_scalar(value: t.Any) -> t.Any:
    """Return any value but a list or an object as it is."""
    if isinstance(value, (Mapping, list)):
        raise ValueError(problems.NO_ITEM)

    return value


def as_foreign(value: t.Any) -> str:
    """Return the text of a value of a type that only the database knows."""
    is_typed = not isinstance(value, (Mapping, Sequence, Set, bytes))
    return as_text(str(value) if is_typed else value)


def _parse(parse: Callable[[t.Any], T], value: t.Any, otherwise: problems.Problem) -> T:
    try:
        return parse(value)
    except (ValueError, OverflowError, TypeError, AttributeError):
        raise ValueError(otherwise) from None
