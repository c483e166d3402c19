"""The last calls over HTTP, in debug mode."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from flask import abort
from flask import current_app
from flask import request

from ...authentication.visitors import params_of_visitor
from ...errors import BadRequest
from ...errors import NotFound
from ..answers import json_for_caller
from .explaining import explain_all
from .recorder import journal_of
from .recording import unrecorded
from .shown_calls import details
from .shown_calls import summary

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Blueprint
    from flask import Response
    from flask.blueprints import BlueprintSetupState

    from ...context import Params
    from .journal import Journal


def add_calls(blueprint: Blueprint, check: Callable[[Params], None]) -> None:
    """Add ``calls.json?after=N`` and ``calls/<id>.json`` to a blueprint, and record the
    calls of applications that have it. In debug mode only: both are not found
    otherwise, and nothing is recorded.

    :param check: Refuses data to a caller: a function of the caller's params.
    """
    views = CallsViews(check)
    blueprint.record(_start)
    blueprint.add_url_rule("/calls.json", "calls", views.send_calls)
    blueprint.add_url_rule("/calls/<int:id>.json", "call", views.send_call)


@dataclass(frozen=True)
class CallsViews:
    """The views of the last calls."""

    check: Callable[[Params], None]
    """Refuses data to a caller."""

    def send_calls(self, **route: t.Any) -> Response:
        """Return the calls after a number, newest first, and the last number."""
        journal = self._journal()
        calls = journal.after(_number("after"))
        shown = [summary(call) for call in calls]
        return json_for_caller({"calls": shown, "last": journal.last})

    def send_call(self, id: int, **route: t.Any) -> Response:
        """Return one call with its statements and their plans."""
        call = self._journal().get(id)

        if call is None:
            raise NotFound(f"The call {id} is not kept any more.")

        explain_all(call)
        return json_for_caller(details(call))

    def _journal(self) -> Journal:
        if not current_app.debug:
            abort(404)

        # Each look at the calls would be a call of the service of users.
        with unrecorded():
            self.check(params_of_visitor(request.headers))

        return journal_of(current_app)


def _start(state: BlueprintSetupState) -> None:
    app = t.cast("t.Any", state.app)

    if app.debug:
        journal_of(app)


def _number(name: str) -> int:
    text = request.args.get(name, "0")

    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise BadRequest(f"'{name}' must be the number of a call.")

    return int(text)
