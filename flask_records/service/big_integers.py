"""Integers that clients get as text, as large ones are not exact in JavaScript."""

from __future__ import annotations

import dataclasses
import typing as t

from ..pagination import Page

if t.TYPE_CHECKING:
    from collections.abc import Collection


def as_text(result: t.Any, names: Collection[str]) -> t.Any:
    """Return a result with text for the integers of some fields.

    :param result: A record, a list of records, a page, or anything else.
    :param names: The names of the fields.
    """
    if isinstance(result, Page):
        return dataclasses.replace(result, data=as_text(result.data, names))

    if isinstance(result, list):
        return [as_text(record, names) for record in result]

    if not isinstance(result, dict):
        return result

    return {
        name: _text(value) if name in names else value for name, value in result.items()
    }


def _text(value: t.Any) -> t.Any:
    if isinstance(value, list):
        return [_text(item) for item in value]

    return str(value) if type(value) is int else value
