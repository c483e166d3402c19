"""Keys, as many as one statement names."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

CHUNK: t.Final = 500
"""The number of keys in one statement, or in one call."""

K = t.TypeVar("K")


def chunks(keys: Collection[K]) -> Iterator[Sequence[K]]:
    """Yield keys in their order, :data:`CHUNK` at most at a time."""
    listed = list(keys)

    for start in range(0, len(listed), CHUNK):
        yield listed[start : start + CHUNK]
