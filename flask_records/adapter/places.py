"""Places of records in a list, in the names of errors."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..errors import Conflict
    from ..errors import RecordsError
    from ..typing import Record


def add_place(error: RecordsError, index: int) -> None:
    """Put the index of a record before the names of fields, as in ``1.email``."""
    if not isinstance(error.errors, Mapping):
        return

    for name in error.errors:
        error.message = error.message.replace(f"'{name}'", f"'{index}.{name}'")

    error.errors = {f"{index}.{name}": why for name, why in error.errors.items()}


def add_place_of_twin(error: Conflict, bodies: Sequence[Record]) -> None:
    """Put the index before the names of values that have to be unique, where the list
    tells which record is meant: it has the values of one before it, or is the only one.
    """
    if not error.errors:
        return

    values = [tuple(repr(body.get(name)) for name in error.errors) for body in bodies]
    first = {value: index for index, value in reversed(list(enumerate(values)))}
    twins = [index for index, value in enumerate(values) if first[value] < index]

    if twins or len(bodies) == 1:
        add_place(error, twins[0] if twins else 0)
