"""Paths of requests as they were sent, where an encoded slash ends no segment."""

from __future__ import annotations

import re
import typing as t
from contextlib import suppress
from urllib.parse import unquote

from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import NotFound

from .blueprint import ServiceBlueprint

if t.TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

    from flask import Flask
    from flask import Request
    from werkzeug.routing import Rule

ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)

SLASH: t.Final = "\udc2f"
"""Stands for an encoded slash while a path is matched. No decoded path contains it."""


def match_as_sent(app: Flask, current: Request) -> None:
    """Match the path of a request as it was sent, if it belongs to a service or was
    taken for one. Servers decode it, so that ``/users/a%2Fb`` looks like another path.
    """
    if sent_path(current.environ) is None:
        return

    rule, values = None, None

    # A redirect can't be made from a path with a mark.
    with suppress(HTTPException, UnicodeError):
        rule, values = match(app, current)

    # Routes of the application stay as Flask found them.
    if not _is_of_service(app, rule) and not _is_of_service(app, current.url_rule):
        return

    current.url_rule, current.view_args = rule, values
    current.routing_exception = NotFound() if rule is None else None


def match(
    app: Flask, current: Request, method: str | None = None
) -> tuple[Rule, dict[str, t.Any]]:
    """Return the rule of a request, as its path was sent, and the values in it.

    :param method: The verb. That of the request by default.
    :raises HTTPException: No rule matches.
    """
    adapter = app.create_url_adapter(current)
    assert adapter is not None
    path = sent_path(current.environ)
    rule, values = adapter.match(path, method, return_rule=True)
    return rule, {name: _with_slashes(value) for name, value in values.items()}


def sent_path(environ: WSGIEnvironment) -> str | None:
    """Return the decoded path, with :data:`SLASH` for encoded slashes. ``None`` if it
    has none, or if the server does not tell what was sent.
    """
    uri = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""

    if "%2" not in uri:
        return None

    path = uri.partition("?")[0]

    if not path.startswith("/"):
        # A proxy may send the whole address.
        path = f"/{path.partition('://')[2].partition('/')[2]}"

    if not ENCODED_SLASH.search(path):
        return None

    segments = path.split("/")[1:]
    prefix = environ.get("SCRIPT_NAME", "").count("/")

    # A proxy may have removed the prefix, and middleware may have changed the path.
    for own in (segments, segments[prefix:]):
        if _decoded(f"/{'/'.join(own)}") == environ.get("PATH_INFO"):
            return f"/{'/'.join(map(_segment, own))}"

    return None


def _is_of_service(app: Flask, rule: Rule | None) -> bool:
    view = None if rule is None else app.view_functions.get(rule.endpoint)
    return isinstance(getattr(view, "__self__", None), ServiceBlueprint)


def _decoded(path: str) -> str:
    """Return a path as servers decode it."""
    return unquote(path, "latin-1")


def _segment(text: str) -> str:
    decoded = _decoded(text).encode("latin-1").decode("utf-8", "replace")
    return decoded.replace("/", SLASH)


def _with_slashes(value: t.Any) -> t.Any:
    return value.replace(SLASH, "/") if isinstance(value, str) else value
