"""The sessions of Engine.IO, on which Socket.IO builds."""

from __future__ import annotations

import logging
import time
import typing as t

import engineio
from engineio import packet
from engineio.exceptions import EngineIOError
from werkzeug.http import parse_accept_header

from ..authentication.limits import network_of
from ..http.headers import NO_SNIFFING
from .client_files import file_name
from .client_files import FILES
from .client_files import LEGACY_FILES
from .client_files import send
from .gate import Gate
from .gate import Place
from .hosting import has_one_thread
from .hosting import has_other_workers
from .hosting import socket_of
from .payloads import encode
from .protocols import LEGACY
from .protocols import MODERN
from .requests import Request
from .session import Session
from .silence import limit_silence
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

NO_LEGACY_CLIENTS: t.Final = (
    "This server is for socket.io-client 3 and 4. For version 2, set"
    " RECORDS_REALTIME['legacy_clients'] = True."
)
"""The refusal of a client of Socket.IO 2."""

CHECK_INTERVAL: t.Final = 1
"""The seconds between two checks of the sessions."""


class Engine(engineio.Server):  # type: ignore[misc]  # it has no hints
    """Holds the sessions of clients, and ends those whose clients do not answer."""

    def __init__(
        self,
        settings: Settings,
        has_joined: Callable[[str], bool],
        **options: t.Any,
    ) -> None:
        transports = settings.transports
        super().__init__(
            max_http_buffer_size=settings.max_payload,
            allow_upgrades=transports is None or "websocket" in transports,
            monitor_clients=False,
            async_handlers=False,
            **options,
        )
        self.max_unsent = settings.max_unsent
        """The bytes that a client may leave unread."""
        limit = settings.max_connections
        self._gate = Gate(limit, settings.max_connections_per_address or limit)
        """Counts what the worker does."""
        self.has_joined = has_joined
        """Returns whether a session is connected to Socket.IO."""
        self._settings = settings
        self._watcher = Watcher(lambda: self.sockets, self._check, CHECK_INTERVAL)
        self._has_warned = False
        self._has_warned_about_protocol = False
        protocols = [MODERN, LEGACY] if settings.legacy_clients else [MODERN]
        self._files = LEGACY_FILES if settings.legacy_clients else FILES
        self._protocols = {protocol.version: protocol for protocol in protocols}

    def handle_request(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request of a client."""

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: t.Any = None
        ) -> t.Any:
            return start_response(status, [*headers, NO_SNIFFING], exc_info)

        if name := file_name(environ):
            return send(name, self._files, environ, start)

        limit_silence(socket_of(environ), self.ping_interval + self.ping_timeout)
        answer = self._answer(environ, start)

        if not isinstance(answer, dict):
            return answer

        headers = [*answer["headers"], *self._cors_headers(environ)]
        body = self._compressed(answer["response"], environ, headers)
        start(answer["status"], headers)
        return [body]

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Answer:
        request = Request.of(environ)
        problem = self._problem_of_origin(environ) or request.problem

        if problem is not None:
            return self._refused(problem)

        if request.method == "OPTIONS":
            return t.cast("Answer", self._ok())

        if request.method not in ("GET", "POST"):
            return t.cast("Answer", self._method_not_found())

        if request.sid is None:
            return self._begin(request, environ, start)

        session = self.sockets.get(request.sid)

        if session is None or not session.connected or session.closed:
            return self._refused("The session has ended. Connect again.")

        if session.upgraded:
            return self._refused("The session goes on with its WebSocket.")

        try:
            return self._continue(session, request, environ, start)
        except EngineIOError as error:
            self.disconnect(request.sid)
            return self._refused(str(error) or "The session has ended.")

    def _continue(
        self,
        session: Session,
        request: Request,
        environ: WSGIEnvironment,
        start: StartResponse,
    ) -> Answer:
        if request.method == "POST":
            session.take(environ)
            return t.cast("Answer", self._ok())

        if request.transport == "websocket":
            return session.upgrade(environ, start)

        return self._packets(session)

    def _packets(self, session: Session) -> Answer:
        return {
            "status": "200 OK",
            "headers": [
                ("Content-Type", "text/plain; charset=UTF-8"),
                ("Cache-Control", "no-store"),
            ],
            "response": encode(session.poll(), session.protocol.join),
        }

    def _refused(self, reason: str) -> Answer:
        return t.cast("Answer", self._bad_request(reason))

    def _problem_of_origin(self, environ: WSGIEnvironment) -> str | None:
        """Return the reason to refuse a page, or ``None``. Browsers let pages of all
        origins open WebSockets.
        """
        origin = environ.get("HTTP_ORIGIN")
        allowed = self._cors_allowed_origins(environ)

        if not origin or allowed is None or origin in allowed:
            return None

        self._log_error_once(f"{origin} is not an accepted origin.", "bad-origin")
        return "Not an accepted origin."

    def _compressed(
        self, body: bytes, environ: WSGIEnvironment, headers: list[tuple[str, str]]
    ) -> bytes:
        """Return a body, compressed if that is worth it and the client accepts it."""
        accepted = parse_accept_header(environ.get("HTTP_ACCEPT_ENCODING"))

        if len(body) < self.compression_threshold or accepted.quality("gzip") <= 0:
            return body

        headers.append(("Content-Encoding", "gzip"))
        return t.cast(bytes, self._gzip(body))

    def enter(self, environ: WSGIEnvironment, transport: str) -> Place | Answer:
        """Return a place for a connection, or an answer that refuses it."""
        refusal = self._refusal(environ, transport)

        if refusal is not None:
            return t.cast("Answer", self._bad_request(refusal))

        address = network_of(environ.get("REMOTE_ADDR") or "unknown")
        place = self._gate.enter(address)

        return place or TOO_MANY

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

    def _begin(
        self, request: Request, environ: WSGIEnvironment, start: StartResponse
    ) -> Answer:
        protocol = self._protocols.get(request.version or "")

        if request.method != "GET":
            return self._refused("A session must begin with GET.")

        if protocol is None:
            return self._refuse_protocol(request)

        place = self.enter(environ, request.transport)

        if not isinstance(place, Place):
            return place

        session = Session(self, self.generate_id(), protocol, place)
        self.sockets[session.sid] = session
        welcome = self._welcome(session.sid, request, environ)
        session.send(packet.Packet(packet.OPEN, welcome))
        self._trigger_event("connect", session.sid, environ, run_async=False)
        session.start()
        self._watcher.start(self.start_background_task, self.sleep)

        if request.transport == "websocket":
            try:
                return session.open_websocket(environ, start, place)
            finally:
                session.close(abort=True)
                place.leave()

        session.connected = True
        return self._packets(session)

    def _refuse_protocol(self, request: Request) -> Answer:
        if request.version != LEGACY.version:
            versions = ", ".join(self._protocols)
            return self._refused(f"The protocol must be of version EIO={versions}.")

        if not self._has_warned_about_protocol:
            self._has_warned_about_protocol = True
            logger.warning("A client was refused: %s", NO_LEGACY_CLIENTS)

        # Browsers show the status in their console.
        status = f"400 {NO_LEGACY_CLIENTS}"
        return {**self._bad_request(NO_LEGACY_CLIENTS), "status": status}

    def _welcome(
        self, sid: str, request: Request, environ: WSGIEnvironment
    ) -> dict[str, t.Any]:
        can_upgrade = request.transport == "polling" and self.allow_upgrades
        has_websockets = socket_of(environ) is not None
        return {
            "sid": sid,
            "upgrades": ["websocket"] if can_upgrade and has_websockets else [],
            "pingTimeout": int(self.ping_timeout * 1000),
            "pingInterval": int(self.ping_interval * 1000),
            "maxPayload": self.max_http_buffer_size,
        }

    def _check(self) -> None:
        """Let each session do what is due."""
        now = time.monotonic()

        for session in list(self.sockets.values()):
            if session.heartbeat.deadline <= now:
                try:
                    session.heartbeat.next_step()
                except Exception:
                    # The other sessions must not wait.
                    logger.exception("The check of a session failed.")
