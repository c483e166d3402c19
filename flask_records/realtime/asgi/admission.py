"""Admission of clients: a first request gets a slot, or a refusal in words."""

from __future__ import annotations

import copy
import io
import logging
import typing as t
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wsgi import get_host

from ...authentication.limits import network_of
from ...http.formatter import dumps, JSON
from ...http.origins import ALL
from .environ import environ_of
from .protocol import Legacy, PROTOCOLS

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from _typeshed.wsgi import WSGIEnvironment
    from flask import Flask

    from ...errors import RecordsError
    from ...typing import Record
    from ..settings import Settings

    Receive: t.TypeAlias = Callable[[], Awaitable[t.Any]]
    Send: t.TypeAlias = Callable[[t.Any], Awaitable[None]]
    Headers: t.TypeAlias = tuple[tuple[bytes, bytes], ...]

logger = logging.getLogger(__package__)

TEXT: t.Final = (b"content-type", b"text/plain; charset=UTF-8")

NO_SNIFFING: t.Final = (b"x-content-type-options", b"nosniff")


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is refused."""

    status: int
    """The status of the response."""

    text: str
    """The reason, in words."""

    headers: Headers = ()
    """More headers of the response."""

    body: Record | None = None
    """The body of the response, the text by default."""

    @classmethod
    def of(cls, error: RecordsError, body: Record | None = None) -> Refusal:
        """Return an error as clients of services get it.

        :param body: The body of the error, by its class by default.
        """
        headers = {"Content-Type": JSON, **error.headers}

        if error.code == 401:
            headers["WWW-Authenticate"] = "Bearer"

        lines = [(each.lower().encode(), headers[each].encode()) for each in headers]
        body = body or error.to_dict()
        return cls(error.code or 500, error.message, tuple(lines), body)


INVALID_SESSION: t.Final = Refusal(400, "Invalid session. Connect again.")

NO_LEGACY_CLIENTS: t.Final = Refusal(
    400,
    "This server is for socket.io-client 3 and 4. For version 2, set"
    " RECORDS_REALTIME['legacy_clients'] = True.",
)

NO_POLLING: t.Final = Refusal(
    400,
    # The requests of a client may reach several workers.
    "Polling is not available. Connect with transports: ['websocket'].",
)

AGAIN: t.Final = ((b"retry-after", b"10"),)

STOPPING: t.Final = Refusal(
    503, "The server stops. Connect again.", ((b"retry-after", b"1"),)
)

TOO_MANY: t.Final = Refusal(503, "Too many connections. Try again later.", AGAIN)

TOO_MANY_OF_ADDRESS: t.Final = Refusal(
    503,
    "Too many connections of one address. Try again later. Behind a proxy, the"
    " application needs ProxyFix around it.",
    AGAIN,
)


class Admission:
    """Accepts connections, and counts them from the handshake to the end of their
    calls. It is used in the event loop only.
    """

    def __init__(self, app: Flask, settings: Settings) -> None:
        self.refused = 0
        """The number of connections that have found no slot since the last look."""
        self.is_closed = False
        """``True`` to refuse all connections, since the server stops."""
        self._app = app
        self._settings = settings
        self._slots: set[Slot] = set()
        self._by_address: Counter[str] = Counter()
        self._logged: set[Refusal] = set()

    @cached_property
    def _proxy(self) -> ProxyFix | None:
        """The proxy that the application trusts for requests."""
        # The application may get it after its setup.
        middleware: t.Any = self._app.wsgi_app

        if not isinstance(middleware, ProxyFix):
            return None

        proxy = copy.copy(middleware)
        proxy.app = lambda environ, start_response: ()
        return proxy

    def environ(self, scope: Mapping[str, t.Any]) -> WSGIEnvironment:
        """Return a request as WSGI has it, and as the application's proxy describes it,
        without its body.
        """
        environ = environ_of(scope, io.BytesIO())

        if self._proxy is not None:
            self._proxy(environ, t.cast(t.Any, None))

        return environ

    def check_origin(self, environ: WSGIEnvironment) -> Refusal | None:
        """Return the refusal of a page that may not connect."""
        origin, allowed = environ.get("HTTP_ORIGIN"), self._settings.origins

        if not origin or ALL in allowed or origin in allowed:
            return None

        if origin == f"{environ['wsgi.url_scheme']}://{get_host(environ)}":
            return None

        return Refusal(400, "Not an accepted origin. See RECORDS_REALTIME['origins'].")

    def check(self, query: Mapping[str, str], transport: str) -> Refusal | None:
        """Return the refusal of a transport or of a version of the protocol."""
        settings = self._settings
        allowed = settings.transports

        if query.get("transport", "polling") != transport:
            return Refusal(400, "Invalid transport.")

        if "j" in query:
            return Refusal(400, "JSONP is not supported. Connect with jsonp: false.")

        if "sid" not in query:
            protocol = PROTOCOLS.get(query.get("EIO", ""))

            if protocol is None:
                return Refusal(400, "Clients need Socket.IO 2 or later: EIO=4 or 3.")

            if protocol is Legacy and not settings.legacy_clients:
                return self._logged_once(NO_LEGACY_CLIENTS)

        if allowed is not None and transport not in allowed:
            return Refusal(400, f"Connect with transports: {list(allowed)}.")

        is_shared = allowed is None and settings.message_queue is not None

        if transport == "polling" and is_shared:
            return self._logged_once(NO_POLLING)

        return None

    def admit(self, environ: WSGIEnvironment) -> Slot | Refusal:
        """Return a slot for a connection, or a refusal if there are too many."""
        if self.is_closed:
            return STOPPING

        address = network_of(environ.get("REMOTE_ADDR") or "unknown")

        if self._by_address[address] >= self._settings.max_of_address:
            return self._logged_once(TOO_MANY_OF_ADDRESS)

        if len(self._slots) >= self._settings.max_connections:
            self.refused += 1
            return TOO_MANY

        slot = Slot(self, address)
        self._slots.add(slot)
        self._by_address[address] += 1
        return slot

    def free(self, slot: Slot) -> None:
        """Free a slot. Nothing happens if it is free."""
        if slot in self._slots:
            self._slots.remove(slot)
            self._by_address[slot.address] -= 1

            if not self._by_address[slot.address]:
                del self._by_address[slot.address]

    def _logged_once(self, refusal: Refusal) -> Refusal:
        if refusal not in self._logged:
            self._logged.add(refusal)
            logger.warning("A client was refused: %s", refusal.text)

        return refusal


@dataclass(frozen=True, eq=False)
class Slot:
    """One of the connections that a worker may have."""

    admission: Admission
    """The admission that counts it."""

    address: str
    """The address of the client."""

    def free(self) -> None:
        """Free the slot. Nothing happens if it is free."""
        self.admission.free(self)


async def respond(
    send: Send,
    body: bytes | Refusal,
    headers: Headers = (),
    kind: str = "http.response",
) -> None:
    """Send a response, or a refusal.

    :param kind: The beginning of the types of ASGI's messages.
    """
    status, lines = 200, (TEXT, NO_SNIFFING, *headers)

    if isinstance(body, Refusal):
        status, lines = body.status, (*lines, *body.headers)
        body = dumps(body.body or body.text)

    # The last one of a name holds.
    pairs = dict(lines) | {b"content-length": str(len(body)).encode()}
    start = {"type": f"{kind}.start", "status": status, "headers": [*pairs.items()]}
    await send(start)
    await send({"type": f"{kind}.body", "body": body})


async def refuse(scope: Mapping[str, t.Any], send: Send, refusal: Refusal) -> None:
    """Refuse a WebSocket, in words where the server can."""
    kind = "websocket.http.response"

    if kind in (scope.get("extensions") or {}):
        await respond(send, refusal, kind=kind)
    else:
        await send({"type": "websocket.close"})
