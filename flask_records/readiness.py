"""The readiness of an application: its databases and its message queue answer."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Hashable, Mapping
from concurrent import futures

from flask import current_app

from .authentication.records import current_records
from .http.error_handler import line_of

if t.TYPE_CHECKING:
    from flask import Flask

TIMEOUT: t.Final = 0.1
"""The seconds in which all parts have to answer."""

EXTENSION: t.Final = "records_readiness"
"""The key of ``app.extensions`` that holds the probe of an application."""


def ready() -> tuple[dict[str, str], int]:
    """Answer 200 if all databases and the message queue answer within 100 ms, or else
    503 with the parts that do not. A view for load balancers:

    .. code-block:: python

        app.add_url_rule("/ready", view_func=ready)
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
    probe = app.extensions.setdefault(EXTENSION, Probe(app))
    parts = probe.ask()
    return parts, 503 if parts else 200


class Probe:
    """Asks the parts of an application in a thread, one after the other."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._pool = futures.ThreadPoolExecutor(1, "records-ready")
        self._answer: futures.Future[dict[str, str]] | None = None

    def ask(self) -> dict[str, str]:
        """Return the parts that are not available, with the reason in words."""
        # A part that does not answer must not be asked again meanwhile.
        if self._answer is None or self._answer.done():
            self._answer = self._pool.submit(self._run)

        try:
            return self._answer.result(TIMEOUT)
        except TimeoutError:
            return {"status": "late"}

    def _run(self) -> dict[str, str]:
        with self._app.app_context():
            errors = failures()

            for part, error in errors.items():
                reason = line_of(error.__cause__ or error)
                self._app.logger.warning("%s is not available%s", part, reason)

        return dict.fromkeys(errors, "not available")


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
