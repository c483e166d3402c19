"""Headers that keep browsers and caches from misusing a response."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from flask import Response
    from werkzeug.datastructures import Headers

    from ..context import HookContext

CALLER: t.Final = "Authorization"
"""The request header that a response depends on."""

NO_SNIFFING: t.Final = ("X-Content-Type-Options", "nosniff")


def forbid_sniffing(response: Response) -> Response:
    """Stop browsers from guessing a ``Content-Type``. An ``after_request`` function."""
    response.headers.setdefault(*NO_SNIFFING)
    return response


def complete(
    headers: Headers,
    *,
    allow: str,
    cache_control: str | None = None,
    etag: str | None = None,
) -> None:
    """Set ``Allow``, and add the other headers that a response does not have yet.

    :param cache_control: The ``Cache-Control`` of a response that depends on the
        caller. No header by default.
    """
    names = {name.lower() for name, _ in headers}
    pairs = [NO_SNIFFING]

    if "allow" in names:
        headers["Allow"] = allow
    else:
        pairs.append(("Allow", allow))

    if cache_control is not None:
        pairs += [("Cache-Control", cache_control), ("Vary", CALLER)]

        if "vary" in names:
            vary(headers, CALLER)

    if etag is not None:
        pairs.append(("ETag", etag))

    # One slice takes a fraction of the time of a look-up and an addition for each.
    headers[len(headers) :] = [pair for pair in pairs if pair[0].lower() not in names]


def cache_control_of(call: HookContext | None) -> str:
    """Return the ``Cache-Control`` of the response to a call, if there was one."""
    is_private = call is not None and call.params.authenticated
    return "no-store" if is_private else "private"


def vary(headers: Headers, name: str) -> None:
    """Add the name of a request header to ``Vary``, which may have several lines."""
    names = [
        part.strip() for line in headers.getlist("Vary") for part in line.split(",")
    ]

    if "*" not in names and name.lower() not in map(str.lower, names):
        headers["Vary"] = ", ".join([*filter(None, names), name])
