"""The first request of a session: accepted, or refused in words."""

from __future__ import annotations

import io
import logging
import typing as t
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs

from werkzeug.wsgi import get_host

from ...authentication.limits import network_of
from ...http.origins import ALL
from .environ import environ_of
from .gate import Place
from .protocol import Legacy, PROTOCOLS
from .proxies import Proxies

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed.wsgi import WSGIEnvironment

    from .event_loop import EventLoop

logger = logging.getLogger(__name__)

NO_LEGACY_CLIENTS: t.Final = (
    "This server is for socket.io-client 3 and 4. For version 2, set"
    " RECORDS_REALTIME['legacy_clients'] = True."
)
"""The refusal of a client of Socket.IO 2."""


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is refused."""

    status: int
    """The status of the response."""

    text: str
    """The reason, in words."""

    headers: tuple[tuple[bytes, bytes], ...] = ()
    """More headers of the response."""


TOO_MANY: t.Final = Refusal(
    503, "Too many connections. Try again later.", ((b"retry-after", b"10"),)
)


class Handshakes:
    """Reads requests to the path of Socket.IO."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._has_warned = False

    @cached_property
    def _proxies(self) -> Proxies:
        # The application may get middleware after its setup.
        return Proxies(self._loop.app)

    def environ(self, scope: Mapping[str, t.Any]) -> WSGIEnvironment:
        """Return a request as WSGI has it, as the proxies of the application tell it,
        without its body.
        """
        environ = environ_of(scope, io.BytesIO())
        self._proxies.correct(environ)
        return environ

    def origin(self, environ: WSGIEnvironment) -> str | None:
        """Return the origin of the page that sends a request, if a browser tells it."""
        return t.cast("str | None", environ.get("HTTP_ORIGIN") or None)

    def check_origin(self, environ: WSGIEnvironment) -> Refusal | None:
        """Return the refusal of a page that may not connect."""
        origin = self.origin(environ)

        allowed = self._loop.settings.origins

        if origin is None or ALL in allowed or origin in allowed:
            return None

        if origin == f"{environ['wsgi.url_scheme']}://{get_host(environ)}":
            return None

        return Refusal(400, "Not an accepted origin. See RECORDS_REALTIME['origins'].")

    def check(self, query: Mapping[str, str], transport: str) -> Refusal | None:
        """Return the refusal of a transport or of a version of the protocol."""
        allowed = self._loop.settings.transports

        if query.get("transport", "polling") != transport:
            return Refusal(400, "Invalid transport.")

        if "j" in query:
            return Refusal(400, "JSONP is not supported. Connect with jsonp: false.")

        if "sid" not in query:
            protocol = PROTOCOLS.get(query.get("EIO", ""))

            if protocol is None:
                return Refusal(400, "Clients need Socket.IO 2 or later: EIO=4 or 3.")

            if protocol is Legacy and not self._loop.settings.legacy_clients:
                self._warn_about_legacy_client()
                return Refusal(400, NO_LEGACY_CLIENTS)

        if allowed is not None and transport not in allowed:
            return Refusal(400, f"Connect with transports: {list(allowed)}.")

        is_shared = allowed is None and self._loop.settings.message_queue is not None

        if transport == "polling" and is_shared:
            # The requests of a client may reach several workers.
            return Refusal(
                400, "Polling is not available. Connect with transports: ['websocket']."
            )

        return None

    def _warn_about_legacy_client(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            logger.warning("A client was refused: %s", NO_LEGACY_CLIENTS)

    def enter(self, environ: WSGIEnvironment) -> Place | Refusal:
        """Return a place for a connection, or a refusal if there are too many."""
        address = network_of(environ.get("REMOTE_ADDR") or "unknown")
        place = self._loop.gate.enter(address)

        if place is not None:
            return place

        return TOO_MANY

    def welcome(self, *, may_upgrade: bool) -> dict[str, t.Any]:
        """Return the data of the first packet of a session, without its id."""
        loop = self._loop
        allowed = loop.settings.transports
        has_websockets = allowed is None or "websocket" in allowed
        return {
            "upgrades": ["websocket"] if may_upgrade and has_websockets else [],
            "pingTimeout": int(loop.ping_timeout * 1000),
            "pingInterval": int(loop.ping_interval * 1000),
            "maxPayload": loop.settings.max_payload,
        }


def query_of(scope: Mapping[str, t.Any]) -> dict[str, str]:
    """Return the query of a request, the first value of each name."""
    query = parse_qs(scope["query_string"].decode("latin-1"))
    return {name: values[0] for name, values in query.items()}
