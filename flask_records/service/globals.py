"""The extension, the request and the call in progress."""

from __future__ import annotations

import typing as t
from contextvars import ContextVar

from flask import current_app, g, has_app_context, request
from werkzeug.local import LocalProxy

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask, Request

    from . import Service
    from .context import HookContext

NO_CALL = """\
No call of a service is in progress, and this request has not made one. Use \
'current_call' in hooks, in services and in the 'after_request' functions of a service.\
"""


class Records(t.Protocol):
    """The extension, as far as services need it."""

    @property
    def services(self) -> Mapping[str, Service]:
        """The services by path."""


call_stack: ContextVar[HookContext | None] = ContextVar("records_call", default=None)
"""The context of the innermost call in progress."""


def remember_call(context: HookContext) -> None:
    """Keep the context of the call of this request for what runs after the call."""
    g._get_current_object()._records_call = context


def remembered_call() -> HookContext | None:
    """Return the context of the call of this request, if there is one."""
    # An attribute of the proxy takes ten times as long.
    context: HookContext | None = g._get_current_object().get("_records_call")
    return context


def current_request() -> Request:
    """Return the current request itself, which the proxy finds anew at each use."""
    current: Request = request._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
    return current


def current_extensions() -> dict[str, t.Any]:
    """Return the extensions of the current application, none outside of one."""
    if not has_app_context():
        return {}

    # An attribute of the proxy takes ten times as long.
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
    return app.extensions


def _current_records() -> Records:
    try:
        return t.cast("Records", current_app.extensions["records"])
    except KeyError:
        raise RuntimeError(
            "The current Flask app has no FlaskRecords. Did you forget to call"
            " 'init_app'?"
        ) from None


def _current_call() -> HookContext:
    context = call_stack.get()

    if context is None and has_app_context():
        context = remembered_call()

    if context is None:
        raise RuntimeError(NO_CALL)

    return context


current_records: Records = LocalProxy(_current_records)  # type: ignore[assignment]
"""The extension of the current application."""

current_call: HookContext = LocalProxy(_current_call)  # type: ignore[assignment]
"""The context of the call in progress, or of the call that this request has made."""
