"""Places of records in a list, in the names of errors."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from itertools import chain

from ..problems import NOT_UNIQUE

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
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


def add_place_of_conflict(
    error: Conflict, bodies: Sequence[Record], is_stored: Callable[[Record], bool]
) -> None:
    """Put the index before the names of values that have to be unique, where that can
    be found out: the record has the values of one before it in the list, or those that
    the database names, or those of a record that is stored.

    :param is_stored: Returns ``True`` if there is a record with some values.
    """
    problems = error.errors if isinstance(error.errors, Mapping) else {}
    names = [name for name, why in problems.items() if why == NOT_UNIQUE]
    values = {
        index: {name: body[name] for name in names}
        for index, body in enumerate(bodies)
        # A null is not the same as another.
        if names and all(body.get(name) is not None for name in names)
    }
    finders = (_twin(values), _named(error, values), _stored(values, is_stored))
    index = next(chain(*finders), None)

    if index is not None:
        add_place(error, index)


def _twin(values: Mapping[int, Record]) -> Iterator[int]:
    """Yield the indices of values that are in the list before."""
    seen: set[str] = set()

    for index, each in values.items():
        text = repr(each)

        if text in seen:
            yield index

        seen.add(text)


def _named(error: Conflict, values: Mapping[int, Record]) -> Iterator[int]:
    """Yield the indices of the values in the message of PostgreSQL or MariaDB."""
    message = str(getattr(error.__cause__, "orig", ""))

    for index, each in values.items():
        texts = [str(value) for value in each.values()]

        if f"=({', '.join(texts)})" in message or f"'{'-'.join(texts)}' for" in message:
            yield index


def _stored(
    values: Mapping[int, Record], is_stored: Callable[[Record], bool]
) -> Iterator[int]:
    """Yield the index of values that another record has."""
    last = None

    for index, each in values.items():
        if is_stored(each):
            # Those before may be stored by this call, one after the other.
            last = index
        elif last is not None:
            break

    if last is not None:
        yield last
