"""The sessions of Engine.IO, on which Socket.IO builds."""

from __future__ import annotations

import logging
import time
import typing as t

import engineio
from engineio import packet

from ..authentication.limits import network_of
from ..http.headers import NO_SNIFFING
from .gate import Gate
from .gate import Place
from .hosting import has_one_thread
from .hosting import has_other_workers
from .hosting import socket_of
from .session import Session
from .watcher import Watcher

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse
    from _typeshed.wsgi import WSGIEnvironment

    from .session import Answer
    from .settings import Settings

logger = logging.getLogger(__package__)

TOO_MANY: t.Final = {
    "status": "503 SERVICE UNAVAILABLE",
    "headers": [("Content-Type", "text/plain"), ("Retry-After", "10")],
    "response": b"Too many connections. Try again later.",
}

CHECK_INTERVAL: t.Final = 1
"""The seconds between two checks of the sessions."""


class Engine(engineio.Server):  # type: ignore[misc]  # it has no hints
    """Holds the sessions of clients, and ends those whose clients do not answer."""

    def __init__(
        self, settings: Settings, has_joined: Callable[[str], bool], **options: t.Any
    ) -> None:
        transports = settings.transports
        super().__init__(
            max_http_buffer_size=settings.max_payload,
            allow_upgrades=transports is None or "websocket" in transports,
            monitor_clients=False,
            async_handlers=False,
            **options,
        )
        limit = settings.max_connections
        self._gate = Gate(limit, settings.max_connections_per_address or limit)
        self.has_joined = has_joined
        """Returns whether a session is connected to Socket.IO."""
        self._settings = settings
        self._watcher = Watcher(lambda: self.sockets, self._check, CHECK_INTERVAL)
        self._has_warned = False

    def handle_request(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request of a client."""

        def start(status: str, headers: list[tuple[str, str]]) -> t.Any:
            return start_response(status, [*headers, NO_SNIFFING])

        return t.cast("Iterable[bytes]", super().handle_request(environ, start))

    def enter(self, environ: WSGIEnvironment, transport: str) -> Place | Answer:
        """Return a place for a connection, or an answer that refuses it."""
        refusal = self._refusal(environ, transport)

        if refusal is not None:
            return t.cast("Answer", self._bad_request(refusal))

        address = network_of(environ.get("REMOTE_ADDR") or "unknown")
        return self._gate.enter(address) or TOO_MANY

    def _refusal(self, environ: WSGIEnvironment, transport: str) -> str | None:
        """Return the reason to refuse a transport, or ``None`` to accept it."""
        if has_one_thread(environ) and self.async_mode == "threading":
            return "This server answers one request at a time. It holds no connections."

        allowed, has_websockets = self._settings.transports, socket_of(environ)

        if transport == "websocket":
            if has_websockets is None:
                return "This server has no WebSockets for WSGI applications."
        elif allowed is None and (
            has_other_workers(environ) or self._settings.message_queue
        ):
            if has_websockets is None:
                return (
                    "This server holds no connections: polling needs a single worker,"
                    " and there are no WebSockets for WSGI applications."
                )

            self._warn_about_polling()
            return "Polling is not available. Connect with transports: ['websocket']."

        if allowed is not None and transport not in allowed:
            return f"Connect with transports: {list(allowed)}."

        return None

    def _warn_about_polling(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "A client that polls was refused: its requests may reach several"
                " workers. Clients must connect with transports: ['websocket'], or set"
                " RECORDS_REALTIME['transports'] to ['polling', 'websocket'] if each"
                " client stays with one worker."
            )

    def _handle_connect(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        transport: str,
        jsonp_index: int | None = None,
    ) -> Answer:
        place = self.enter(environ, transport)

        if not isinstance(place, Place):
            return place

        session = Session(self, self.generate_id(), place)
        self.sockets[session.sid] = session
        welcome = self._welcome(session.sid, transport, environ)
        session.send(packet.Packet(packet.OPEN, welcome))
        self._trigger_event("connect", session.sid, environ, run_async=False)
        self._watcher.start(self.start_background_task, self.sleep)

        if transport == "websocket":
            try:
                return session.open_websocket(environ, start_response, place)
            finally:
                session.close(abort=True)
                place.leave()

        session.connected = True
        return self._ok(session.poll(), jsonp_index=jsonp_index)  # type: ignore[no-any-return]  # it has no hints

    def _welcome(
        self, sid: str, transport: str, environ: WSGIEnvironment
    ) -> dict[str, t.Any]:
        upgrades = self._upgrades(sid, transport)
        return {
            "sid": sid,
            "upgrades": upgrades if socket_of(environ) is not None else [],
            "pingTimeout": int(self.ping_timeout * 1000),
            "pingInterval": int(self.ping_interval * 1000),
            "maxPayload": self.max_http_buffer_size,
        }

    def _check(self) -> None:
        """Let each session do what is due."""
        now = time.monotonic()

        for session in list(self.sockets.values()):
            if session.deadline <= now:
                try:
                    session.next_step()
                except Exception:
                    # The other sessions must not wait.
                    logger.exception("The check of a session failed.")
