"""Headers that keep browsers and caches from misusing an answer."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
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
    names = {name.lower() for name, _ in headers}

    if "x-content-type-options" not in names:
        headers.add("X-Content-Type-Options", "nosniff")

    if cache_control is None:
        return

    if "cache-control" not in names:
        headers.add("Cache-Control", cache_control)

    if "vary" not in names:
        headers.add("Vary", CALLER)
    else:
        _vary(headers)


def cache_control_of(call: HookContext | None) -> str:
    """Return what caches may do with the answer to a call.

    :param call: The call, or ``None`` for a request that has not made one.
    """
    is_known = call is not None and call.params.authenticated
    return "no-store" if is_known else "private"


def _vary(headers: Headers) -> None:
    """Add the caller to an existing ``Vary``."""
    named = ", ".join(headers.getlist("Vary"))

    if not {"*", CALLER.lower()}.intersection(_listed(named)):
        headers["Vary"] = f"{named}, {CALLER}"


def _listed(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",")]
