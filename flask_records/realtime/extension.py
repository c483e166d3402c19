"""The extension for calls and events over Socket.IO."""

from __future__ import annotations

import logging
import typing as t
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path

from flask import request, Response
from werkzeug.exceptions import NotFound

from ..authentication import AuthenticationService
from ..database.transaction import Transaction
from ..errors import BadRequest
from ..http.formatter import dumps, forbid_sniffing
from ..http.routes import routes_of
from ..service.globals import current_extensions
from ..service.results import open_event
from ..signals import OrderedSignal
from .connections import Channel
from .messages import ANONYMOUS, AUTHENTICATED
from .server import Server
from .settings import Settings, stream_path_of, URL_PATH

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from flask import Flask

    from ..extension import FlaskRecords
    from ..service.context import HookContext
    from ..service.events import Event
    from ..typing import Id, Record
    from .asgi import Application
    from .connections import Connection
    from .testing import SocketClient

logger = logging.getLogger(__package__)

EXTENSION: t.Final = "records_realtime"

NO_REALTIME: t.Final = (
    "This app has no real time. Set it up before it is served: realtime.init_app(app)."
)

FOLDER: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the scripts of clients."""

SCRIPT: t.Final = "socket.io.min.js"

LEGACY_SCRIPT: t.Final = "socket.io-2.min.js"

NO_CONNECTIONS: t.Final = (
    "This server holds no connections. Real time needs an ASGI server, such as"
    " gunicorn -k asgi, that serves realtime.asgi(app)."
)

THREADS: t.Final = 8
"""The number of threads for calls, and for requests, of an ASGI application."""


class Realtime:
    """Lets clients call services over Socket.IO, and sends them the events of records
    that they may see. See section 6 of the specification.

    Connections with a login are in the channel ``authenticated`` and in one for their
    user, such as ``users/7``, all others in ``anonymous``. Receivers of
    :attr:`connections` let them join and leave channels at ``connect``, ``login``,
    ``logout`` and ``disconnect``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    """

    def __init__(self, records: FlaskRecords, app: Flask | None = None) -> None:
        self.connections = OrderedSignal(("connect", "login", "logout", "disconnect"))
        """Runs receivers with the name of an event and the connection."""
        self._records = records
        records.transports.append(self)
        self.connections("connect", "logout")(_as_anonymous)
        self.connections("login")(_as_authenticated)
        records.after("create", "remove")(self._follow_login)

        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Set up an application. Call it after :meth:`.FlaskRecords.init_app`, once all
        services are added.

        :param app: The application.
        :raises RuntimeError: A setting is wrong.
        """
        settings = Settings.of(app)
        app.extensions[EXTENSION] = Server(app, self._records, self, settings)
        _add_routes(app, settings)

    def asgi(self, app: Flask, *, threads: int = THREADS) -> Application:
        """Return an ASGI application that serves an application and its connections in
        one event loop. Calls run in threads.

        The process serves the application in no other way.

        :param app: The application, which is set up.
        :param threads: The number of threads for calls, and for requests.
        :raises RuntimeError: The application is not set up.
        """
        from .asgi import Application

        return Application(_server_of(app), threads)

    def test_client(
        self,
        app: Flask,
        user: Record | Id | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> SocketClient:
        """Return a client for tests, which is connected within the process.

        :param app: The application.
        :param user: The record of the user who is logged in, or its identifier. An
            anonymous client by default.
        :param headers: The headers of its first request.
        :raises RecordsError: The credentials in the headers are wrong.
        """
        # Applications do not need it.
        from .testing import SocketClient

        lines = dict(headers or {})

        if user is not None:
            environ = self._records.client(app, user).http.environ_base
            lines.setdefault("Authorization", environ["HTTP_AUTHORIZATION"])

        return SocketClient(_server_of(app), lines)

    def metrics(self, app: Flask) -> dict[str, int]:
        """Return the number of connections of this worker, and of the events that they
        were sent since its start.

        :param app: The application.
        """
        server = _server_of(app)
        return {
            "connections": len(server.connections),
            "events_sent": server.events_sent,
        }

    def channel(self, name: str) -> Channel:
        """Return a channel of the application in use.

        :param name: The name, which any connection may join.
        :raises RuntimeError: The application is not set up.
        """
        server = _server()

        if server is None:
            raise RuntimeError(
                "There is no application with real time. Call realtime.init_app(app),"
                " and use it inside of 'with app.app_context():'."
            )

        return Channel(name, server)

    def is_listened_to(self) -> bool:
        """Return whether there are connections, or other workers may have some."""
        server = _server()
        return server is not None and bool(
            server.connections or server.settings.message_queue
        )

    def reserve(self, events: Sequence[Event]) -> AbstractContextManager[None]:
        """Return what keeps the place of a transaction's events, from before its commit
        until they are delivered.

        :raises TypeError: The record of one has no form in JSON.
        """
        server = _server()

        if server is not None:
            dumps([open_event(event) for event in events])

        return nullcontext() if server is None else server.log.reserve()

    def deliver(self, events: Sequence[Event]) -> None:
        """Send events to the connections that get them."""
        server = _server()

        if server is not None:
            server.deliver(events)

    def _follow_login(self, method: str, context: HookContext) -> None:
        """Log a connection in or out after its call of an authentication service."""
        connection: Connection | None = context.params.connection
        target, server = context.service.target, _server()

        if connection is None or server is None:
            return

        if not isinstance(target, AuthenticationService):
            return

        change = partial(server.logins.log_out, connection)

        if method == "create":
            change = partial(server.logins.log_in, connection, target, context.result)

        Transaction.after_commit(change)


def _add_routes(app: Flask, settings: Settings) -> None:
    """Let an application send scripts of the client, and refuse clients that connect:
    an ASGI server answers these itself.
    """
    # Clients of FeathersJS 4 insist on version 2, and clients of 5 take it.
    default = LEGACY_SCRIPT if settings.legacy_clients else SCRIPT
    files = {"socket.io.js": default, SCRIPT: SCRIPT}
    warn_once = cache(partial(logger.warning, "A client can't connect. %s"))

    def script(name: str) -> Response:
        if name not in files:
            raise NotFound(f"There is no '{name}'. Load one of: {', '.join(files)}.")

        text = (FOLDER / files[name]).read_bytes()
        response = Response(text, mimetype="text/javascript")
        response.cache_control.no_cache = True
        response.add_etag()
        response.make_conditional(request)
        return forbid_sniffing(response)

    def socket() -> Response:
        warn_once(NO_CONNECTIONS)
        raise BadRequest(NO_CONNECTIONS)

    options: t.Any = {"methods": ["GET", "POST"], "strict_slashes": False}
    app.add_url_rule(f"{URL_PATH}<name>", "records_realtime.script", script)
    app.add_url_rule(URL_PATH, "records_realtime.socket", socket, **options)

    if stream_path := stream_path_of(app, settings):
        app.add_url_rule(stream_path, "records_realtime.stream", socket, **options)
        # The ASGI server would answer for a service of this path.
        routes_of(app).check(app)


def _as_anonymous(event: str, connection: Connection) -> None:
    connection.channels = {ANONYMOUS}


def _as_authenticated(event: str, connection: Connection) -> None:
    own = connection.user_channel
    connection.leave(ANONYMOUS)
    connection.join(AUTHENTICATED, *([] if own is None else [own]))


def _server_of(app: Flask) -> Server:
    """Return the server of an application."""
    if EXTENSION not in app.extensions:
        raise RuntimeError(NO_REALTIME)

    return t.cast("Server", app.extensions[EXTENSION])


def _server() -> Server | None:
    return current_extensions().get(EXTENSION)
