"""Headers that keep browsers and caches from misusing an answer."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Response
    from werkzeug.datastructures import Headers

    from ..context import HookContext

CALLER: t.Final = "Authorization"
"""The header of a request that an answer depends on."""


def forbid_sniffing(response: Response) -> Response:
    """Stop browsers from guessing another ``Content-Type``.

    This is an ``after_request`` function.

    :param response: The response.
    """
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    return response


def protect(headers: Headers, cache_control: str | None) -> None:
    """Add the protective headers that an answer of a service does not have yet.

    :param headers: The headers of the answer.
    :param cache_control: What caches may do with an answer that depends on the caller,
        or ``None`` for one that does not.
    """
    # A look-up of each name costs an exception where there is none.
    pairs = [(name.lower(), value) for name, value in headers]
    names = [name for name, _ in pairs]

    if "x-content-type-options" not in names:
        headers.add("X-Content-Type-Options", "nosniff")

    if cache_control is None:
        return

    if "cache-control" not in names:
        headers.add("Cache-Control", cache_control)

    if "vary" not in names:
        headers.add("Vary", CALLER)
    else:
        _vary(headers, [value for name, value in pairs if name == "vary"])


def cache_control_of(call: HookContext | None) -> str:
    """Return what caches may do with the answer to a call.

    :param call: The call, or ``None`` for a request that has not made one.
    """
    is_known = call is not None and call.params.authenticated
    return "no-store" if is_known else "private"


def _vary(headers: Headers, values: Sequence[str]) -> None:
    """Add the caller to the values of an existing ``Vary``."""
    named = ", ".join(values)
    names = [name.strip() for name in named.lower().split(",")]

    if "*" not in names and CALLER.lower() not in names:
        headers["Vary"] = f"{named}, {CALLER}"
