"""Names of fields that clients may not see, in the records of calls in Python."""

from __future__ import annotations

import dataclasses
import typing as t
from copy import copy

from ..pagination import Page

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..typing import Record

SCALARS: t.Final = (str, int, float, bool, type(None), bytes)
"""The usual types of values that hold no records."""


class HiddenName(str):
    """The name of a field that clients may not see. It equals the plain text, and is
    the key of the field in a record that a call in Python returns.

    Copies of a record, such as ``{**record}``, have the same names. A field that is
    set by its plain name, such as ``{"email": record["email"]}``, is not hidden.
    """

    __slots__ = ()


def mark_hidden(result: t.Any, sent: t.Any, hidden: Collection[str]) -> t.Any:
    """Return the result of a call in Python with a :class:`HiddenName` for each field
    that clients may not see.

    :param result: A record, a list of records, a page, or anything else.
    :param sent: The same, as a client would see it: hooks may leave out fields, or give
        them other values.
    :param hidden: The names of the fields that the service hides.
    """
    if isinstance(result, Page):
        data = sent.data if isinstance(sent, Page) else None
        return dataclasses.replace(result, data=mark_hidden(result.data, data, hidden))

    if isinstance(result, list):
        is_same = isinstance(sent, list) and len(sent) == len(result)
        others = sent if is_same else result
        return [
            mark_hidden(record, other, hidden)
            for record, other in zip(result, others, strict=True)
        ]

    if not isinstance(result, dict):
        return result

    names = hidden & result.keys()

    if isinstance(sent, dict) and sent is not result:
        names |= {name for name in result if _differs(result, sent, name)}

    if not names:
        return result

    return {
        HiddenName(name) if name in names else name: value
        for name, value in result.items()
    }


def without_hidden(value: t.Any) -> t.Any:
    """Return a value without the fields whose names are hidden, at any depth: in
    mappings, lists, tuples, pages and other dataclasses. A value without such fields is
    returned as it is.
    """
    if isinstance(value, SCALARS):
        return value

    if isinstance(value, dict):
        return _mapping(value)

    if isinstance(value, (list, tuple)):
        return _sequence(value)

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value)

    return value


def _mapping(value: dict[t.Any, t.Any]) -> dict[t.Any, t.Any]:
    # Most records hold nothing that needs a closer look.
    for name, item in value.items():
        if type(name) is HiddenName or type(item) not in SCALARS:
            break
    else:
        return value

    shown = {
        name: without_hidden(item)
        for name, item in value.items()
        if type(name) is not HiddenName
    }
    is_same = len(shown) == len(value) and _are_same(shown.values(), value.values())
    return value if is_same else shown


def _sequence(value: t.Any) -> t.Any:
    items = [without_hidden(item) for item in value]

    if _are_same(items, value):
        return value

    if isinstance(value, list):
        return items

    # A named tuple takes its values apart.
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _dataclass(value: t.Any) -> t.Any:
    changed: Record = {}

    for field in dataclasses.fields(value):
        item = getattr(value, field.name, None)
        shown = without_hidden(item)

        if shown is not item:
            changed[field.name] = shown

    if not changed:
        return value

    value = copy(value)

    for name, item in changed.items():
        # It may be frozen.
        object.__setattr__(value, name, item)

    return value


def _are_same(values: t.Any, others: t.Any) -> bool:
    return all([one is other for one, other in zip(values, others, strict=True)])


def _differs(result: Record, sent: Record, name: str) -> bool:
    """Return ``True`` if a client does not see a field, or sees another value."""
    if name not in sent:
        return True

    value, shown = result[name], sent[name]
    return value is not shown and value != shown
