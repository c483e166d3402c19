"""Results that come piece by piece: iterators that methods return."""

from __future__ import annotations

import asyncio
import typing as t
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from itertools import islice

from ..errors import BadRequest

if t.TYPE_CHECKING:
    from collections.abc import Generator

MAX_PIECES: t.Final = 1000
"""The number of pieces in a list that is sent in their place."""

USUAL: t.Final = frozenset({dict, list, str, type(None)})


def comes_in_pieces(result: t.Any) -> bool:
    """Return ``True`` for the result of a generator, or for another iterator, whether
    or not it is asynchronous.
    """
    # The look at an abstract class takes longer.
    return type(result) not in USUAL and isinstance(result, (Iterator, AsyncIterator))


def drawn(pieces: t.Any) -> Generator[t.Any, None, None]:
    """Yield the pieces of an iterator. An asynchronous one has one event loop."""
    if isinstance(pieces, AsyncIterator):
        yield from _awaited(pieces)
    else:
        yield from pieces


def listed(pieces: Generator[t.Any, None, None]) -> list[t.Any]:
    """Return pieces as a list, for what sends no streams.

    :raises BadRequest: There are too many.
    """
    with closing(pieces):
        found = [*islice(pieces, MAX_PIECES + 1)]

    if len(found) > MAX_PIECES:
        raise BadRequest(
            f"The result has more than {MAX_PIECES} pieces. Call the method over HTTP,"
            " which sends them one by one."
        )

    return found


def _awaited(pieces: AsyncIterator[t.Any]) -> Iterator[t.Any]:
    with asyncio.Runner() as runner:
        try:
            while True:
                yield runner.run(_next(pieces))
        except StopAsyncIteration:
            pass
        finally:
            # Iterators other than generators have nothing to close.
            if close := getattr(pieces, "aclose", None):
                runner.run(close())


async def _next(pieces: AsyncIterator[t.Any]) -> t.Any:
    return await anext(pieces)
