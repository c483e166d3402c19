"""The extension for calls and events over Socket.IO."""

from __future__ import annotations

import logging
import typing as t
from functools import wraps

from flask import current_app
from flask import request_started

from ..authentication import AuthenticationService
from ..signals import OrderedSignal
from ..transaction import after_commit
from .audience import ANONYMOUS
from .audience import AUTHENTICATED
from .hosting import warn_about_server
from .paths import check_paths
from .server import Server
from .settings import Settings

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from flask import Flask
    from flask_socketio import SocketIO

    from ..context import HookContext
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.events import Event
    from .connection import Connection

logger = logging.getLogger(__package__)

EXTENSION: t.Final = "records_realtime"


class Realtime:
    """Lets clients call services over Socket.IO, and sends them the events of records
    that they may see. See section 6 of the specification.

    Connections with a login are in the channel ``authenticated``, all others in
    ``anonymous``. Receivers of :attr:`connections` let them join and leave channels at
    ``connect``, ``login``, ``logout`` and ``disconnect``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    :param socketio: The Flask-SocketIO object of the application, which keeps its own
        handlers, rooms and settings. One of our own by default. Its ``init_app`` may be
        called before that of this extension, or after.
    """

    def __init__(
        self,
        records: FlaskRecords,
        app: Flask | None = None,
        *,
        socketio: SocketIO | None = None,
    ) -> None:
        self.connections = OrderedSignal(
            "Runs at each event of a connection.",
            ("connect", "login", "logout", "disconnect"),
        )
        """Runs receivers with the name of an event and the connection."""
        self._records = records
        self._shared = socketio
        records.carry(self)
        self.connections("connect", "logout")(_as_anonymous)
        self.connections("login")(_as_authenticated)
        records.after("create", "remove")(self._follow_login)

        if socketio is not None:
            # It has no other way to tell that there is a server.
            socketio.init_app = self._attaching(socketio.init_app)

        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Set up an application. Call it after :meth:`.FlaskRecords.init_app`, once all
        services are added.

        :param app: The application.
        :raises RuntimeError: A setting is wrong, or the application has a Socket.IO
            server at the same path.
        """
        shared = self._shared
        settings = Settings.of(app, is_shared=shared is not None)

        if shared is None:
            warn_about_server()

        app.extensions[EXTENSION] = Server(app, self._records, self, settings, shared)
        check_paths(app)
        request_started.connect(self._check_late, app)

    def socketio(self, app: Flask) -> SocketIO:
        """Return the Socket.IO server of an application.

        :param app: The application.
        """
        return t.cast("Server", app.extensions[EXTENSION]).socketio

    def _check_late(self, app: Flask, **options: t.Any) -> None:
        """Check at the first request what the application has set up since.

        :raises RuntimeError: There is another Socket.IO server at the same path.
        """
        check_paths(app)

        if t.cast("Server", app.extensions[EXTENSION]).socketio.server is None:
            logger.warning(
                "Clients cannot connect: the SocketIO object that Realtime shares has"
                " no server. Call its init_app(app)."
            )

        request_started.disconnect(self._check_late, app)

    def _attaching(self, init_app: Callable[..., None]) -> Callable[..., None]:
        """Return the ``init_app`` of a Flask-SocketIO object, which lets our server
        answer its messages.
        """

        @wraps(init_app)
        def attach(app: Flask | None, **options: t.Any) -> None:
            init_app(app, **options)

            if app is not None and EXTENSION in app.extensions:
                t.cast("Server", app.extensions[EXTENSION]).attach()

        return attach

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
