"""The extension for calls and events over Socket.IO."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..authentication import AuthenticationService
from ..signals import OrderedSignal
from ..transaction import after_commit
from .audience import ANONYMOUS, AUTHENTICATED
from .channels import Channel, channel_of
from .server import Server
from .settings import Settings
from .socket_path import SocketPath
from .unseen_events import warn_about_services

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flask import Flask

    from ..context import HookContext
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.events import Event
    from ..typing import Id, Record
    from .asgi import Application
    from .connection import Connection
    from .testing import SocketClient

EXTENSION: t.Final = "records_realtime"

THREADS: t.Final = 32
"""The number of calls and requests that an ASGI application runs at a time."""


class Realtime:
    """Lets clients call services over Socket.IO, and sends them the events of records
    that they may see. See section 6 of the specification.

    Connections with a login are in the channel ``authenticated`` and in that of their
    user, such as ``users/7``, all others in ``anonymous``. Receivers of
    :attr:`connections` let them join and leave channels at ``connect``, ``login``,
    ``logout`` and ``disconnect``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    """

    def __init__(self, records: FlaskRecords, app: Flask | None = None) -> None:
        self.connections = OrderedSignal(
            "Runs at each event of a connection.",
            ("connect", "login", "logout", "disconnect"),
        )
        """Runs receivers with the name of an event and the connection."""
        self._records = records
        records.carry(self)
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
        app.wsgi_app = SocketPath(app, settings)  # type: ignore[method-assign]  # as middleware does
        warn_about_services(self._records.services.values())

    def asgi(self, app: Flask, *, threads: int = THREADS) -> Application:
        """Return an ASGI application that serves an application and its connections in
        one event loop. Calls run in threads.

        The process serves the application in no other way.

        :param app: The application, which is set up.
        :param threads: The maximum number of calls and requests at a time.
        """
        from .asgi import Application, EventLoop

        server = t.cast("Server", app.extensions[EXTENSION])
        return Application(EventLoop(server, threads))

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
        from .testing import connect

        server = t.cast("Server", app.extensions[EXTENSION])
        return connect(server, user, headers or {})

    def metrics(self, app: Flask) -> dict[str, int]:
        """Return the number of connections of this worker, and of the events that they
        were sent since its start.

        :param app: The application.
        """
        server = t.cast("Server", app.extensions[EXTENSION])
        return {
            "connections": len(server.connections),
            "events_sent": server.events_sent,
        }

    def channel(self, name: str) -> Channel:
        """Return a channel of the application in use.

        :param name: The name, which any connection may join.
        :raises RuntimeError: The application is not set up.
        """
        return Channel(name, _required_server())

    @property
    def channels(self) -> list[str]:
        """The names of the channels that connections of this worker have joined."""
        return sorted(_required_server().connections.channels)

    def disconnect(
        self,
        user: t.Any = None,
        *,
        connection: Connection | None = None,
        authentication: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Disconnect all connections of a user, of all workers, or one connection, once
        the call in progress has been committed, or at once.

        Clients get the event ``disconnected`` with the reason as ``message``. They do
        not connect again by themselves, but they may: tokens remain valid.

        :param user: The record of the user, or its identifier.
        :param connection: The connection, in place of a user.
        :param authentication: The path of the authentication service of the user. The
            first by default.
        :param reason: What the clients are told.
        :raises TypeError: There is neither a user nor a connection, or both.
        :raises RuntimeError: The application is not set up.
        """
        if (user is None) == (connection is None):
            raise TypeError("disconnect() takes a user, or connection=.")

        disconnections = _required_server().disconnections

        if connection is not None:
            disconnections.send("connection", connection.id, reason)
            return

        service = self._records.authentication(authentication)
        id = user[service.id] if isinstance(user, dict) else user
        disconnections.send("user", f"{service.users_path}/{id}", reason)

    def is_listened_to(self) -> bool:
        """Return whether there are connections, or other workers may have some."""
        server = _server()
        return server is not None and server.is_listened_to

    def prepare(self, service: Service, records: Sequence[t.Any]) -> None:
        """Let the events of records leave in the order of their writes."""
        server = _server()

        if server is not None:
            id = service.capabilities.id
            dicts = (record for record in records if isinstance(record, dict))
            keys = [f"{service.path}:{record.get(id)}" for record in dicts]
            server.hold(keys, has_rules=service.has_rules)

    def deliver(self, events: Sequence[Event]) -> None:
        """Send events to the connections that get them."""
        server = _server()

        if server is not None:
            server.deliver(events)

    def _follow_login(self, method: str, context: HookContext) -> None:
        """Log a connection in or out after its call of an authentication service."""
        connection: Connection | None = context.params.connection
        target, result = context.service.target, context.result
        server = _server()

        if connection is None or server is None:
            return

        if not isinstance(target, AuthenticationService):
            return

        if method == "create":
            after_commit(lambda: server.log_in(connection, target, result))
        else:
            after_commit(lambda: server.logins.log_out(connection))


def _as_anonymous(event: str, connection: Connection) -> None:
    connection.channels = {ANONYMOUS}


def _as_authenticated(event: str, connection: Connection) -> None:
    own = channel_of(connection.login)
    connection.leave(ANONYMOUS)
    connection.join(AUTHENTICATED, *([] if own is None else [own]))


def _required_server() -> Server:
    server = _server()

    if server is None:
        raise RuntimeError(
            "There is no application with real time. Call realtime.init_app(app), and"
            " use it inside of 'with app.app_context():'."
        )

    return server


def _server() -> Server | None:
    try:
        return t.cast("Server | None", current_app.extensions.get(EXTENSION))
    except RuntimeError:
        # There is no application.
        return None
