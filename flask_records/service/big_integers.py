"""Integers that clients get as text, as large ones are not exact in JavaScript."""

from __future__ import annotations

import typing as t

from ..pagination import with_records

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..typing import Record


def as_text(result: t.Any, names: Collection[str]) -> t.Any:
    """Return a result with text for the integers of some fields.

    :param result: A record, a list of records, a page, or anything else.
    :param names: The names of the fields.
    """

    def change(record: Record) -> Record:
        return {
            name: _text(value) if name in names else value
            for name, value in record.items()
        }

    return with_records(result, change)


def _text(value: t.Any) -> t.Any:
    if isinstance(value, list):
        return [_text(item) for item in value]

    return str(value) if type(value) is int else value
