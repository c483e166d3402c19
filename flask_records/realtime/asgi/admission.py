"""Admission of clients: a first request gets a place, or is refused in words."""

from __future__ import annotations

import copy
import io
import logging
import typing as t
from collections import Counter
from contextlib import ExitStack

from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wsgi import get_host

from ...authentication.limits import network_of
from ...errors import BadRequest, Forbidden, Unavailable
from ...http.origins import ALL
from ..protocol import Legacy, PROTOCOLS
from .requests import ask_to_retry, environ_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed.wsgi import WSGIEnvironment
    from flask import Flask

    from ..settings import Settings
    from .requests import Scope

logger = logging.getLogger(__package__)

NO_LEGACY_CLIENTS: t.Final = (
    "This server is for socket.io-client 3 and 4. For version 2, set"
    " RECORDS_REALTIME['legacy_clients'] = True."
)

# The requests of a client may reach several workers.
NO_POLLING: t.Final = (
    "Polling is not available. Connect with transports: ['websocket']."
)

TOO_MANY_OF_ADDRESS: t.Final = (
    "Too many connections of one address. Try again later. Behind a proxy, the"
    " application needs ProxyFix around it."
)

RETRY_AFTER: t.Final = 10
"""The seconds after which a client tries again that has found no place."""


class Admission:
    """Accepts connections, and counts them from the handshake to the end of their
    calls. It is used in the event loop only.
    """

    def __init__(self, app: Flask, settings: Settings) -> None:
        self.is_closed = False
        """``True`` to refuse all connections, since the server stops."""
        self._app = app
        self._settings = settings
        self._number = 0
        self._by_address: Counter[str] = Counter()
        self._logged: set[str] = set()

    def environ(self, scope: Scope) -> WSGIEnvironment:
        """Return a request as WSGI has it, and as the application's proxy describes it,
        without its body.
        """
        environ, middleware = environ_of(scope, io.BytesIO()), self._app.wsgi_app

        if isinstance(middleware, ProxyFix):
            proxy = copy.copy(middleware)
            proxy.app = lambda environ, start_response: ()
            proxy(environ, t.cast(t.Any, None))

        return environ

    def check_origin(self, environ: WSGIEnvironment) -> None:
        """Refuse a page that may not connect, and take the cookies from one that may
        because all may: it must not act as the user of the browser.

        :raises Forbidden: The origin is not accepted.
        """
        origin, allowed = environ.get("HTTP_ORIGIN"), self._settings.origins
        own = f"{environ['wsgi.url_scheme']}://{get_host(environ)}"

        if not origin or origin == own or origin in allowed:
            return

        if ALL not in allowed:
            words = "Not an accepted origin. See RECORDS_REALTIME['origins']."
            raise Forbidden(self._log_once(words))

        environ.pop("HTTP_COOKIE", None)

    def check(self, query: Mapping[str, str], transport: str) -> None:
        """Refuse a transport or a version of the protocol.

        :raises BadRequest: It is not available.
        """
        settings = self._settings
        allowed = settings.transports

        if query.get("transport", "polling") != transport:
            raise BadRequest("Invalid transport.")

        if "j" in query:
            raise BadRequest("JSONP is not supported. Connect with jsonp: false.")

        if "sid" not in query:
            protocol = PROTOCOLS.get(query.get("EIO", ""))

            if protocol is None:
                raise BadRequest("Clients need Socket.IO 2 or later: EIO=4 or 3.")

            if protocol is Legacy and not settings.legacy_clients:
                raise BadRequest(self._log_once(NO_LEGACY_CLIENTS))

        if allowed is not None and transport not in allowed:
            raise BadRequest(f"Connect with transports: {list(allowed)}.")

        is_shared = allowed is None and settings.message_queue is not None

        if transport == "polling" and is_shared:
            raise BadRequest(self._log_once(NO_POLLING))

    def admit(self, environ: WSGIEnvironment) -> Callable[[], None]:
        """Count a connection, and return what frees its place, once.

        :raises Unavailable: There are too many connections.
        """
        if self.is_closed:
            raise Unavailable("The server stops. Connect again.")

        address = network_of(environ.get("REMOTE_ADDR") or "unknown")

        if self._by_address[address] >= self._settings.max_connections_per_address:
            words = self._log_once(TOO_MANY_OF_ADDRESS)
            raise ask_to_retry(RETRY_AFTER, Unavailable(words))

        if self._number >= self._settings.max_connections:
            words = "Too many connections. Try again later."
            raise ask_to_retry(RETRY_AFTER, Unavailable(words))

        self._number += 1
        self._by_address[address] += 1
        place = ExitStack()
        place.callback(self._free, address)
        return place.close

    def _free(self, address: str) -> None:
        self._number -= 1
        self._by_address[address] -= 1

        if not self._by_address[address]:
            del self._by_address[address]

    def _log_once(self, words: str) -> str:
        if words not in self._logged:
            self._logged.add(words)
            logger.warning("A client was refused: %s", words)

        return words
