"""Values of Python in place of text in JSON, and back."""

from __future__ import annotations

import base64
import datetime as dt
import json
import typing as t
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from decimal import Decimal
from urllib.parse import quote
from uuid import UUID

Form: t.TypeAlias = "str | list[t.Any] | Mapping[str, t.Any] | tuple[t.Any, ...]"
"""The form of a value: a name of :data:`READERS`, a list with the form of the items,
the forms of the members of an object, or several of these.
"""

READERS: t.Final[Mapping[str, Callable[[str], t.Any]]] = {
    "date-time": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "decimal": Decimal,
    "bytes": base64.b64decode,
    "uuid": UUID,
}
"""The functions that make values of text."""

WRITERS: t.Final[Mapping[type[t.Any], Callable[[t.Any], t.Any]]] = {
    # A date-time is a date, too.
    dt.date: dt.date.isoformat,
    dt.datetime: dt.datetime.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: dt.timedelta.total_seconds,
    Decimal: str,
    bytes: lambda value: base64.b64encode(value).decode(),
    UUID: str,
}
"""The functions that make JSON of values."""


def read(value: t.Any, form: Form) -> t.Any:
    """Return a value of JSON in Python. One that has not the form stays as it is."""
    if isinstance(form, str):
        return _of_text(value, READERS[form]) if isinstance(value, str) else value

    if isinstance(form, tuple):
        for each in form:
            if isinstance(each, str) or isinstance(value, type(each)):
                value = read(value, each)

        return value

    if isinstance(value, list):
        item = form[0] if isinstance(form, list) else form
        return [read(each, item) for each in value]

    if isinstance(value, dict) and not isinstance(form, list):
        return {name: read(each, form.get(name, {})) for name, each in value.items()}

    return value


def to_json(value: t.Any) -> bytes:
    """Return a value as JSON.

    :raises TypeError: JSON can't hold it.
    :raises ValueError: A number is not finite.
    """
    return json.dumps(value, default=_plain, allow_nan=False).encode()


def query_string(query: Mapping[str, t.Any]) -> str:
    """Return a query as the query string of an address.

    :raises ValueError: A list is empty, which a query string can't say.
    """
    return "&".join(_pairs(query, ""))


def _of_text(value: str, reader: Callable[[str], t.Any]) -> t.Any:
    try:
        return reader(value)
    except (ValueError, ArithmeticError):
        return value


def _plain(value: t.Any) -> t.Any:
    for class_ in type(value).__mro__:
        if class_ in WRITERS:
            return WRITERS[class_](value)

    raise TypeError(f"{value!r} has no form in JSON.")


def _pairs(value: t.Any, name: str) -> Iterator[str]:
    """Yield the parts of a query string.

    :param name: The name of the value, encoded.
    """
    if isinstance(value, Mapping):
        items: t.Any = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        yield f"{name}={quote(_text(value), safe='')}"
        return

    if name and not value:
        raise ValueError(f"'{name}' is empty, which a query string can't say.")

    for key, item in items:
        part = quote(str(key), safe="$")
        yield from _pairs(item, f"{name}[{part}]" if name else part)


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode().strip('"')
