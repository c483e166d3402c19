"""The extension for calls and events over Socket.IO."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..authentication import AuthenticationService
from ..signals import OrderedSignal
from ..transaction import after_commit
from .audience import ANONYMOUS
from .audience import AUTHENTICATED
from .hosting import warn_about_server
from .server import Server
from .settings import Settings

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from flask_socketio import SocketIO

    from ..context import HookContext
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.events import Event
    from .connection import Connection

EXTENSION: t.Final = "records_realtime"


class Realtime:
    """Lets clients call services over Socket.IO, and sends them the events of records
    that they may see. See section 6 of the specification.

    Connections with a login are in the channel ``authenticated``, all others in
    ``anonymous``. Receivers of :attr:`connections` let them join and leave channels at
    ``connect``, ``login``, ``logout`` and ``disconnect``.

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
        warn_about_server()
        app.extensions[EXTENSION] = Server(app, self._records, self, Settings.of(app))

    def socketio(self, app: Flask) -> SocketIO:
        """Return the Socket.IO server of an application.

        :param app: The application.
        """
        return t.cast("Server", app.extensions[EXTENSION]).socketio

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
            server.hold(f"{service.path}:{record.get(id)}" for record in dicts)

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
            after_commit(lambda: server.logins.log_in(connection, target, result))
        else:
            after_commit(lambda: server.logins.log_out(connection))


def _as_anonymous(event: str, connection: Connection) -> None:
    connection.channels = {ANONYMOUS}


def _as_authenticated(event: str, connection: Connection) -> None:
    connection.leave(ANONYMOUS)
    connection.join(AUTHENTICATED)


def _server() -> Server | None:
    try:
        return t.cast("Server | None", current_app.extensions.get(EXTENSION))
    except RuntimeError:
        # There is no application.
        return None
