"""The sessions of Engine.IO, on which Socket.IO builds."""

from __future__ import annotations

import logging
import threading
import time
import typing as t

import engineio
from engineio import packet

from ..authentication.limits import network_of
from .gate import Gate
from .hosting import socket_of
from .session import Session
from .session import TOO_MANY

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse
    from _typeshed.wsgi import WSGIEnvironment

    from .gate import Place
    from .session import Answer
    from .settings import Settings

logger = logging.getLogger(__package__)

NO_SNIFFING: t.Final = ("X-Content-Type-Options", "nosniff")
"""The header that stops browsers from guessing another ``Content-Type``."""

LOOK_INTERVAL: t.Final = 1
"""How many seconds pass until sessions are looked at again."""


class Engine(engineio.Server):  # type: ignore[misc]  # it has no hints
    """Holds the sessions of clients that poll or have a WebSocket, and ends those of
    clients that do not answer.

    :param settings: The settings of the application.
    :param has_joined: Returns whether a session is connected to Socket.IO.
    :param options: What Engine.IO takes.
    """

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
        self.gate = Gate(settings.max_connections, settings.max_connections_per_address)
        """Counts the connections."""
        self.has_joined = has_joined
        """Returns whether a session is connected to Socket.IO."""
        self._settings = settings
        self._watching = threading.Lock()
        self._is_watching = False
        self._has_warned = False

    def handle_request(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request of a client.

        :param environ: The request.
        :param start_response: Begins the response.
        """

        def start(status: str, headers: list[tuple[str, str]]) -> t.Any:
            return start_response(status, [*headers, NO_SNIFFING])

        return t.cast("Iterable[bytes]", super().handle_request(environ, start))

    def refusal(self, environ: WSGIEnvironment, transport: str) -> str | None:
        """Return why a client cannot connect by a transport, or ``None`` if it can.

        :param environ: The request.
        :param transport: The name of the transport.
        """
        if not environ.get("wsgi.multithread") and self.async_mode == "threading":
            return "This server answers one request at a time. It holds no connections."

        if transport == "websocket":
            if socket_of(environ) is None:
                return "This server has no WebSockets for WSGI applications."

            return self._refusal_of(transport)

        has_others = environ.get("wsgi.multiprocess") or self._settings.message_queue

        if self._settings.transports is None and has_others:
            self._warn_of_polling()
            return "Polling is not available. Connect with transports: ['websocket']."

        return self._refusal_of(transport)

    def _warn_of_polling(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "A client that polls was refused: its requests may reach several"
                " workers. Clients must connect with transports: ['websocket'], or set"
                " RECORDS_REALTIME['transports'] to ['polling', 'websocket'] if each"
                " of them stays with one worker."
            )

    def _refusal_of(self, transport: str) -> str | None:
        allowed = self._settings.transports

        if allowed is None or transport in allowed:
            return None

        return f"Connect with transports: {list(allowed)}."

    def _handle_connect(
        self,
        environ: WSGIEnvironment,
        start_response: StartResponse,
        transport: str,
        jsonp_index: int | None = None,
    ) -> Answer:
        refusal = self.refusal(environ, transport)

        if refusal is not None:
            return self._bad_request(refusal)  # type: ignore[no-any-return]  # it has no hints

        place = self.enter(environ)

        if place is None:
            return TOO_MANY

        session = Session(self, self.generate_id(), place)
        self.sockets[session.sid] = session
        session.send(packet.Packet(packet.OPEN, self._welcome(session, transport)))
        self._trigger_event("connect", session.sid, environ, run_async=False)
        self._watch()

        if transport == "websocket":
            try:
                return session.open_websocket(environ, start_response, place)
            finally:
                session.close(abort=True)
                place.leave()

        session.connected = True
        return self._ok(session.poll(), jsonp_index=jsonp_index)  # type: ignore[no-any-return]  # it has no hints

    def enter(self, environ: WSGIEnvironment) -> Place | None:
        """Return a place for a connection, or ``None`` if there are too many.

        :param environ: The request that it begins with.
        """
        return self.gate.enter(network_of(environ.get("REMOTE_ADDR") or "unknown"))

    def _welcome(self, session: Session, transport: str) -> dict[str, t.Any]:
        return {
            "sid": session.sid,
            "upgrades": self._upgrades(session.sid, transport),
            "pingTimeout": int(self.ping_timeout * 1000),
            "pingInterval": int(self.ping_interval * 1000),
            "maxPayload": self.max_http_buffer_size,
        }

    def _watch(self) -> None:
        """Look at sessions again and again, as long as there are some."""
        with self._watching:
            if not self._is_watching:
                self._is_watching = True
                self.start_background_task(self._look)

    def _look(self) -> None:
        while self._is_needed():
            self.sleep(LOOK_INTERVAL)
            now = time.monotonic()

            for session in list(self.sockets.values()):
                if session.deadline <= now:
                    self._look_at(session)

    def _look_at(self, session: Session) -> None:
        try:
            session.look()
        except Exception:
            # The other sessions are looked at.
            logger.exception("A session could not be looked at.")

    def _is_needed(self) -> bool:
        with self._watching:
            self._is_watching = bool(self.sockets)
            return self._is_watching
