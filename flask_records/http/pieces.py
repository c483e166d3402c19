"""Responses of results that come piece by piece."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

from flask import request, Response
from flask.globals import request_ctx

from ..errors import Unavailable
from ..service.globals import current_records

if t.TYPE_CHECKING:
    from threading import Semaphore

    from ..service.context import HookContext

EVENT_STREAM: t.Final = "text/event-stream"

HEADERS: t.Final = {
    "Cache-Control": "no-cache, no-store",
    # A proxy sends each piece as it comes.
    "X-Accel-Buffering": "no",
}

STREAMS: t.Final = "flask_records.streams"
"""The key of a WSGI environ with what counts the threads that may stream."""

END: t.Final = object()


class BrokenOff(Exception):
    """A result has failed after its first piece. It breaks the connection."""


def stream(
    context: HookContext,
    encode: Callable[[t.Any], bytes],
    content_type: str = EVENT_STREAM,
) -> Response:
    """Return the response to a call whose result comes piece by piece. The first piece
    is there; the others come while the response is sent, in the context of the request.

    :param encode: Returns a piece as bytes.
    :param content_type: The media type of the response.
    :raises Exception: The first piece has failed.
    """
    status = context.status_code or (201 if context.method == "create" else 200)
    pieces: Generator[t.Any, None, None] = context.sent
    parts: Iterator[bytes] = iter(())

    if request.method == "HEAD":
        pieces.close()
    else:
        parts = _parts(context, pieces, encode)
        next(parts)

    return Response(parts, status, HEADERS, content_type=content_type)


def _parts(
    context: HookContext,
    pieces: Generator[t.Any, None, None],
    encode: Callable[[t.Any], bytes],
) -> Iterator[bytes]:
    """Yield nothing once the first piece is there, and then all pieces."""
    # Flask's "stream_with_context" tears the context down twice: at the end of the view
    # as well, with all that the first piece has opened.
    own: t.Any = request_ctx._get_current_object()  # type: ignore[attr-defined]  # a proxy has it

    with ExitStack() as stack:
        threads: Semaphore | None = request.environ.get(STREAMS)

        if threads is not None:
            if not threads.acquire(blocking=False):
                raise Unavailable(
                    "Too many results come piece by piece now. Try again."
                )

            stack.callback(threads.release)

        stack.enter_context(own)
        stack.callback(pieces.close)
        piece = next(pieces, END)
        yield b""

        try:
            while piece is not END:
                yield encode(piece)
                piece = next(pieces, END)
        except Exception as error:
            failure = "The result of '%s.%s' has broken off."
            place = context.path, context.method
            records = t.cast(t.Any, current_records)
            visible = records.errors.report(error, failure, *place)
            raise BrokenOff(f"{failure % place} {visible.message}") from None
