"""From a value on the wire to a value of a column's type."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import math
import re
import typing as t
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from decimal import InvalidOperation

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator
from sqlalchemy.types import TypeEngine

UTC = dt.UTC
WHOLE_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,30})(?:\.0{1,30})?\s*")
MILLISECONDS = re.compile(r"-?[0-9]{1,17}")
BOOLEANS = {
    **dict.fromkeys(("true", "1", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("false", "0", "f", "no", "n", "off"), False),
}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)

T = t.TypeVar("T")
Cast: t.TypeAlias = Callable[[t.Any], t.Any]
Check: t.TypeAlias = Callable[[t.Any], None]


def _anything(value: t.Any) -> None:
    """Let every value pass."""


@dataclass(frozen=True)
class Conversion:
    """How the values of one column are read. Each function raises :class:`ValueError`
    with a phrase that follows the name of the field, such as ``is not a number``.
    """

    cast: Cast
    """Makes a value of the column's type of a value on the wire."""

    check: Check = _anything
    """Refuses what the column can't hold, before it is written."""

    is_text: bool = False
    """Whether the column holds text. Only there is the empty text not null."""

    is_ordered: bool = True
    """Whether values are less or greater than others, and can be sorted."""

    from_text: Cast | None = None
    """Reads text in a query, where that differs from text in a body."""


def conversion_of(type_: TypeEngine[t.Any]) -> Conversion | None:
    """Return how values of a column type are read, or ``None`` for a type whose values
    have no form on the wire.

    :param type_: The type of the column.
    """
    for base in type(type_).__mro__:
        if base in CONVERSIONS:
            make = CONVERSIONS[base]
            return None if make is None else make(type_)

    return Conversion(_text)


def cast(conversion: Conversion, value: t.Any, *, in_query: bool) -> t.Any:
    """Return the value for a column.

    :param conversion: How the values of the column are read.
    :param value: Text, a JSON value, or a value that has the type already.
    :param in_query: Whether the value stands in a query rather than in a body.
    :raises ValueError: The value does not fit, with a phrase that says why.
    """
    if value is None:
        return None

    if isinstance(value, str):
        if in_query and conversion.from_text is not None:
            return conversion.from_text(value)

        if value in ("", "null") and not conversion.is_text:
            return None

    return conversion.cast(value)


def _text(value: t.Any) -> str:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (int, float, Decimal, uuid.UUID)):
        value = str(value)

    if not isinstance(value, str):
        raise ValueError("is not text")

    # A lone surrogate can't be stored. Nothing else fails to encode.
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("is not valid Unicode text") from None

    return value


def _integer(value: t.Any) -> int:
    if isinstance(value, str) and (match := WHOLE_NUMBER.fullmatch(value)):
        return int(match[1])

    if isinstance(value, (float, Decimal)) and value == value // 1:
        return int(value)

    if isinstance(value, int) and not isinstance(value, bool):
        return value

    raise ValueError("is not a whole number")


def _float(value: t.Any) -> float:
    if not isinstance(value, (str, int, float, Decimal)) or isinstance(value, bool):
        raise ValueError("is not a number")

    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError("is not a number") from None

    if not math.isfinite(number):
        raise ValueError("is not a finite number")

    return number


def _decimal(value: t.Any) -> Decimal:
    if not isinstance(value, (str, int, float, Decimal)) or isinstance(value, bool):
        raise ValueError("is not a number")

    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise ValueError("is not a number") from None

    if not number.is_finite() or abs(number.adjusted()) > 1000:
        raise ValueError("is not a number of a sensible size")

    return number


def _boolean(value: t.Any) -> bool:
    if isinstance(value, (str, int)):
        known = BOOLEANS.get(str(value).strip().lower())

        if known is not None:
            return known

    raise ValueError("is neither true nor false")


def _moment(value: t.Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        moment = value
    elif isinstance(value, str) and not MILLISECONDS.fullmatch(value):
        moment = _parsed(dt.datetime.fromisoformat, value, "is not an ISO 8601 time")
    else:
        moment = _from_milliseconds(value)

    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)

    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is out of range") from None


def _from_milliseconds(value: t.Any) -> dt.datetime:
    try:
        return EPOCH + dt.timedelta(milliseconds=_float(value))
    except (ValueError, OverflowError):
        raise ValueError("is not an ISO 8601 time") from None


def _naive_moment(value: t.Any) -> dt.datetime:
    return _moment(value).replace(tzinfo=None)


def _date(value: t.Any) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value

    if isinstance(value, str) and len(value) <= 10:
        return _parsed(dt.date.fromisoformat, value, "is not an ISO 8601 date")

    moment = _moment(value)

    if moment.time() != dt.time():
        raise ValueError("is not a date, but a time")

    return moment.date()


def _time(value: t.Any) -> dt.time:
    if isinstance(value, str):
        value = _parsed(dt.time.fromisoformat, value, "is not an ISO 8601 time of day")

    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise ValueError("is not a time of day without a zone")

    return value


def _interval(value: t.Any) -> dt.timedelta:
    if isinstance(value, dt.timedelta):
        return value

    try:
        return dt.timedelta(seconds=_float(value))
    except (ValueError, OverflowError):
        raise ValueError("is not a number of seconds") from None


def _uuid(value: t.Any) -> uuid.UUID:
    if isinstance(value, uuid.UUID):
        return value

    if not isinstance(value, str):
        raise ValueError("is not a UUID")

    return _parsed(uuid.UUID, value, "is not a UUID")


def _bytes(value: t.Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)

    if not isinstance(value, str):
        raise ValueError("is not base64")

    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None


def _json(value: t.Any) -> t.Any:
    return value


def _json_text(value: str) -> t.Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _parsed(parse: Callable[[str], T], value: str, otherwise: str) -> T:
    try:
        return parse(value)
    except ValueError:
        raise ValueError(otherwise) from None


def _integers(bits: int) -> Conversion:
    bound = 2 ** (bits - 1)

    def cast_integer(value: t.Any) -> int:
        number = _integer(value)

        if not -bound <= number < bound:
            raise ValueError("is out of range")

        return number

    return Conversion(cast_integer)


def _texts(type_: sa.String) -> Conversion:
    length = type_.length

    def check(value: str) -> None:
        if length is not None and len(value) > length:
            raise ValueError(f"has more than {length} characters")

    return Conversion(_text, check, is_text=True)


def _enums(type_: sa.Enum) -> Conversion:
    members: dict[str, t.Any] = dict(zip(type_.enums, type_.enums, strict=True))

    if type_.enum_class is not None:
        members = dict(
            zip(type_.enums, type_.enum_class.__members__.values(), strict=True)
        )

    def cast_enum(value: t.Any) -> t.Any:
        if isinstance(value, str) and value in members:
            return members[value]

        if any(value is member for member in members.values()):
            return value

        raise ValueError(f"is none of {', '.join(members)}")

    return Conversion(cast_enum)


def _numerics(type_: sa.Numeric[t.Any]) -> Conversion:
    scale, precision = type_.scale, type_.precision

    def check(number: t.Any) -> None:
        exponent = t.cast(int, Decimal(number).normalize().as_tuple().exponent)

        if scale is not None and -exponent > scale:
            raise ValueError(f"has more than {scale} decimal places")

        if precision is not None and number:
            if Decimal(number).adjusted() >= precision - (scale or 0):
                raise ValueError("is out of range")

    if not type_.asdecimal:
        return Conversion(_float)

    return Conversion(_decimal, check)


def _moments(type_: sa.DateTime) -> Conversion:
    return Conversion(_moment if type_.timezone else _naive_moment)


def _uuids(type_: sa.Uuid[t.Any]) -> Conversion:
    as_uuid = type_.as_uuid
    return Conversion(_uuid if as_uuid else lambda value: str(_uuid(value)))


def _binaries(type_: t.Any) -> Conversion:
    length = getattr(type_, "length", None)

    def check(value: bytes) -> None:
        if length is not None and len(value) > length:
            raise ValueError(f"has more than {length} bytes")

    return Conversion(_bytes, check)


def _arrays(type_: sa.ARRAY[t.Any]) -> Conversion | None:
    item = conversion_of(type_.item_type)

    if item is None:
        return None

    def cast_array(value: t.Any) -> list[t.Any]:
        if not isinstance(value, list):
            raise ValueError("is not a list")

        return [cast(item, each, in_query=False) for each in value]

    return Conversion(cast_array, is_ordered=False, from_text=_array_text(cast_array))


def _array_text(cast_array: Cast) -> Cast:
    return lambda value: cast_array(_json_text(value))


def _decorated(type_: TypeDecorator[t.Any]) -> Conversion | None:
    return conversion_of(type_.impl_instance)


CONVERSIONS: dict[type[t.Any], Callable[[t.Any], Conversion | None] | None] = {
    sa.String: _texts,
    sa.Enum: _enums,
    sa.SmallInteger: lambda type_: _integers(16),
    sa.Integer: lambda type_: _integers(32),
    sa.BigInteger: lambda type_: _integers(64),
    sa.Numeric: _numerics,
    sa.Float: lambda type_: Conversion(_float),
    sa.Boolean: lambda type_: Conversion(_boolean),
    sa.DateTime: _moments,
    sa.Date: lambda type_: Conversion(_date),
    sa.Time: lambda type_: Conversion(_time),
    sa.Interval: lambda type_: Conversion(_interval),
    sa.Uuid: _uuids,
    sa.LargeBinary: _binaries,
    sa.BINARY: _binaries,
    sa.VARBINARY: _binaries,
    sa.JSON: lambda type_: Conversion(_json, is_ordered=False, from_text=_json_text),
    sa.ARRAY: _arrays,
    # What a pickle holds has no form on the wire.
    sa.PickleType: None,
    TypeDecorator: _decorated,
}
"""How values are read, by column type. A type that is not here uses its nearest base,
and text otherwise.
"""
