"""Readers of the values of operators: from the text or JSON of a query, typed."""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Callable, Mapping
from functools import partial

from .. import problems
from ..problems import Problem
from .bounds import is_indexed, refused
from .conversions import of_json_text
from .field import Field

MAX_TEXT: t.Final = 200
"""The longest text or pattern that a database looks for at each place of a text."""

ESCAPE: t.Final = "\\"
"""The character that escapes a wildcard in a pattern of LIKE."""

FLAGS: t.Final = {"true": True, "false": False, True: True, False: False}

WILDCARDS = re.compile(r"[%_\\]")


def items_of(value: t.Any) -> list[t.Any] | None:
    """Return the items of a list, or of a mapping whose keys are indices, which is
    what a query string parser makes of a long list. ``None`` for anything else.
    """
    if isinstance(value, (list, tuple)):
        return list(value)

    if isinstance(value, Mapping) and is_indexed(value):
        return [value[key] for key in sorted(value, key=int)]

    return None


def as_list(value: t.Any) -> list[t.Any]:
    """Return the items of a list. One value is a list of one."""
    items = items_of(value)
    return [value] if items is None else items


def one(field: Field, value: t.Any) -> t.Any:
    """Read one value of the field's type."""
    return field.cast_for_query(value)


def many(field: Field, value: t.Any) -> list[t.Any]:
    """Read a list of values of the field's type. One value is a list of one."""
    return [field.cast_for_query(item) for item in as_list(value)]


def pair(field: Field, value: t.Any) -> list[t.Any]:
    """Read two values of the field's type."""
    values = many(field, value)

    if len(values) != 2 or any(each is None for each in values):
        raise field.unfit(value, problems.NO_PAIR)

    return values


def text(field: Field, value: t.Any) -> str:
    """Read text for a field that holds text."""
    if not field.conversion.is_text:
        raise refused(field.name, problems.NO_TEXT)

    if not isinstance(value, str):
        raise field.unfit(value, problems.NO_TEXT)

    if len(value) > MAX_TEXT:
        raise field.unfit(value, problems.too_long(MAX_TEXT, "characters"))

    return t.cast(str, field.cast_for_query(value))


def contained(field: Field, value: t.Any) -> str:
    """Read text that a field contains, and return it as a LIKE pattern."""
    escaped = WILDCARDS.sub(lambda match: ESCAPE + match[0], text(field, value))
    return f"%{escaped}%"


def pattern(field: Field, value: t.Any) -> str:
    """Read a regular expression for a field that holds text."""
    expression = text(field, value)

    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError):
        raise field.unfit(value, problems.NO_PATTERN) from None

    return expression


def listed(field: Field, value: t.Any) -> list[Callable[[t.Any], t.Any]]:
    """Read items of the lists that a field holds, each as a function that returns the
    condition that the list in a column has it. One value is a list of one.

    Text that is a number, ``true``, ``false`` or text in quotes in JSON stands for it.
    """
    conversion, values = field.conversion, as_list(value)
    is_document = conversion.is_null_only

    if conversion.has_item is None:
        raise refused(field.name, problems.NO_ITEMS)

    try:
        # The items of arrays have a type.
        if not is_document:
            values = conversion.cast(values)
        else:
            values = [of_json_text(v) if isinstance(v, str) else v for v in values]
    except ValueError as error:
        raise field.unfit(value, Problem.of(error)) from error

    if not values or not all(_is_item(each, is_document) for each in values):
        raise field.unfit(value, problems.NO_ITEM)

    return [partial(conversion.has_item, item=each) for each in values]


def _is_item(value: t.Any, is_document: bool) -> bool:
    if not is_document:
        return value is not None

    is_finite = not isinstance(value, float) or math.isfinite(value)
    return isinstance(value, (str, bool, int, float)) and is_finite


def flag(field: Field, value: t.Any) -> bool:
    """Read ``true`` or ``false``, whatever the field holds."""
    if not isinstance(value, (str, bool)) or value not in FLAGS:
        raise field.unfit(value, problems.NO_BOOLEAN)

    return FLAGS[value]
