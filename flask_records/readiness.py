"""The readiness of an application: its databases and its message queue answer."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Hashable, Mapping

from flask import current_app

from .authentication.records import current_records
from .http.error_handler import line_of


def ready() -> tuple[dict[str, str], int]:
    """Answer 200 if all databases and the message queue answer, or else 503 with the
    parts that do not. A view for load balancers, whose time limit is the limit:

    .. code-block:: python

        app.add_url_rule("/ready", view_func=ready)
    """
    errors = failures()

    for part, error in errors.items():
        reason = line_of(error.__cause__ or error)
        current_app.logger.warning("%s is not available%s", part, reason)

    return dict.fromkeys(errors, "not available"), 503 if errors else 200


def failures() -> dict[str, Exception]:
    """Return the errors of the parts of the current application that can't be used."""
    errors: dict[str, Exception] = {}

    for part, ask in PARTS.items():
        try:
            ask()
        except Exception as error:
            errors[part] = error

    return errors


def _ask_databases() -> None:
    places: set[Hashable] = set()

    for service in current_records.services.values():
        service.capabilities.ping(places)


def _ask_message_queue() -> None:
    server = current_app.extensions.get("records_realtime")

    if server is not None:
        server.log.check()


PARTS: t.Final[Mapping[str, Callable[[], None]]] = {
    "database": _ask_databases,
    "messageQueue": _ask_message_queue,
}
"""The parts that have to answer."""
