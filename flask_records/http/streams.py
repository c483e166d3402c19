"""The streams of bodies, which end where a client breaks off or sends too much."""

from __future__ import annotations

import typing as t

from werkzeug.exceptions import ClientDisconnected
from werkzeug.exceptions import HTTPException
from werkzeug.wsgi import get_input_stream

from ..errors import BadRequest

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Request

MAX_CONTENT_LENGTH: t.Final = 1024 * 1024
"""The maximum size of a body in bytes, if the application sets no limit."""

T = t.TypeVar("T")


def limit_of(request: Request, own: int | None) -> int:
    """Return the maximum size of a body in bytes.

    :param own: The limit of a parser or a view, which precedes that of the application.
    """
    return own or request.max_content_length or MAX_CONTENT_LENGTH


def limit_stream(request: Request, limit: int) -> None:
    """Limit the stream of a request, unless HTTP middleware has read from it.

    :raises RequestEntityTooLarge: The client announces more.
    """
    if "stream" not in vars(request):
        # Werkzeug silently truncates a body of unknown length at the limit.
        stream = get_input_stream(request.environ, max_content_length=limit + 1)
        request.stream = stream


def read(function: Callable[..., T], *args: t.Any) -> T:
    """Call a function that reads from a client.

    :raises BadRequest: The connection is broken.
    """
    try:
        return function(*args)
    except ClientDisconnected as error:
        raise broken_body() from error
    except HTTPException:
        raise
    except Exception as error:
        # Each server raises errors of its own.
        raise broken_body() from error


def broken_body() -> BadRequest:
    """Return the error for a body that could not be read to its end."""
    error = BadRequest("The body could not be read. Send the request again.")
    # The start of the next request on the connection is unknown.
    error.headers["Connection"] = "close"
    return error
