"""The connections of one application in one worker."""

from __future__ import annotations

import logging
import sys
import typing as t

from flask import request
from flask_socketio import SocketIO
from werkzeug.wsgi import get_host

from ..http.routes import routes_of
from ..transaction import Transaction
from .audience import Audience
from .bus import Bus
from .bus import RedisBus
from .calls import answer
from .calls import ARGUMENTS
from .connection import Connection
from .dispatcher import Dispatcher
from .engine import Engine
from .logins import Logins
from .messages import Messages
from .packets import JSON
from .packets import plain
from .packets import RESERVED
from .packets import TextPacket

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    import socketio
    from flask import Flask

    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record
    from .calls import Reader
    from .extension import Realtime
    from .settings import Settings

logger = logging.getLogger(__package__)


class Server:
    """Answers the messages of connections, and sends them events."""

    def __init__(
        self,
        app: Flask,
        records: FlaskRecords,
        realtime: Realtime,
        settings: Settings,
        shared: SocketIO | None,
    ) -> None:
        self.connections: dict[str, Connection] = {}
        """The connections, by id."""
        self._app = app
        self._records = records
        self._settings = settings
        self.logins = Logins(
            app, records.authentications, self.connections, realtime.connections
        )
        """The logins of the connections."""
        self._audience = Audience(records, self.connections)
        queue = settings.message_queue
        self._messages = Messages(records, is_shared=queue is not None)
        self._bus = (
            Bus(self._handle)
            if queue is None
            else RedisBus(self._handle, queue, settings.channel)
        )
        # Another server may read values that are no JSON.
        self._read: Reader = tuple if shared is None else plain
        self.socketio = shared or self._make()
        """The Socket.IO server, which may be that of the application."""

        # The application may set it up later.
        if self.socketio.server is not None:
            self.attach()

    def attach(self) -> None:
        """Answer the messages of clients of the Socket.IO server."""
        self._server = self.socketio.server
        Dispatcher(
            self.socketio,
            connect=self._connect,
            disconnect=self._disconnect,
            answer=self._answering,
            methods=self._methods(),
            is_service=self._is_service,
        )

    def deliver(self, events: Sequence[Event]) -> None:
        """Send the events of one transaction to the connections that get them."""
        messages = []

        for event in events:
            try:
                message = self._messages.of(event, self._audience.publications(event))
            except Exception:
                # The other events can be sent.
                path = event.service.path
                logger.exception("'%s %s' could not be sent.", path, event.name)
            else:
                messages += [message] if message else []

        if messages:
            self._bus.publish(messages)

    def hold(self, keys: Iterable[str]) -> None:
        """Lock records until their events are sent, which keeps the order of writes."""
        transaction = Transaction.current_or_none()

        if transaction is not None:
            for key in keys:
                transaction.hold(*self._bus.lock(key))

    @property
    def is_listened_to(self) -> bool:
        """``True`` if there are connections, or other workers may have some."""
        return bool(self.connections or self._settings.message_queue)

    def _methods(self) -> set[str]:
        services = self._records.services.values()
        names = set(ARGUMENTS).union(*(service.custom_methods for service in services))

        for name in names.intersection(RESERVED):
            raise RuntimeError(
                f"'{name}' can't be a custom method: Socket.IO reserves the name."
            )

        return names

    def _make(self) -> SocketIO:
        """Return a Socket.IO server of our own."""
        settings, theirs = self._settings, self._app.extensions.get("socketio")
        socketio = SocketIO(
            self._app,
            async_mode=settings.async_mode or _async_mode(),
            manage_session=False,
            # The calls of a connection run one after the other, in its thread.
            async_handlers=False,
            serve_client=False,
            serializer=TextPacket,
            json=JSON,
            path=settings.path,
        )
        self._replace_engine(socketio.server)

        # The functions of Flask-SocketIO are for the server of the application.
        if theirs is not None:
            self._app.extensions["socketio"] = theirs

        return socketio

    def _is_service(self, path: t.Any) -> bool:
        if not isinstance(path, str):
            return False

        return routes_of(self._app).service_at(path)[0] is not None

    def _replace_engine(self, server: socketio.Server) -> None:
        # Flask-SocketIO has no argument for an engine.
        manager = server.manager
        engine = Engine(
            self._settings,
            lambda sid: manager.sid_from_eio_sid(sid, "/") is not None,
            async_mode=server.async_mode,
            cors_allowed_origins=_origins(self._settings),
        )
        engine.handlers.update(server.eio.handlers)
        server.eio = engine

    def _connect(self, authentication: t.Any = None) -> None:
        calls_per_second = self._settings.calls_per_second
        connection = Connection(_session_id(), request.headers, calls_per_second)
        self._bus.start()
        self.logins.tell("connect", connection)
        self.connections[connection.id] = connection
        socketio = self.socketio
        self.logins.watcher.start(socketio.start_background_task, socketio.sleep)
        self.logins.begin(connection)

    def _disconnect(self, reason: t.Any = None) -> None:
        connection = self.connections.pop(_session_id(), None)

        if connection is not None:
            self.logins.tell("disconnect", connection)

    def _answering(self, method: str) -> t.Callable[..., t.Any]:
        def handler(*message: t.Any) -> t.Any:
            connection = self.connections.get(_session_id())

            if connection is None:
                return None

            # A server of the application may handle messages in threads of their own.
            with connection.turn:
                return answer(self._records, connection, method, message, self._read)

        return handler

    def _handle(self, messages: Sequence[Record]) -> None:
        """Send events of any worker to the connections of this one."""
        with self._app.app_context():
            for message in messages:
                self.logins.check_after(message)

            deliveries = self._audience.deliveries(messages)

            for message, groups in zip(messages, deliveries, strict=True):
                name = f"{message['service']} {message['event']}"

                for record, connections in groups:
                    ids = [connection.id for connection in connections]
                    # They are connections of this worker.
                    self._server.emit(name, record, to=ids, ignore_queue=True)


def _session_id() -> str:
    return t.cast(str, request.sid)  # type: ignore[attr-defined]  # Flask-SocketIO's


def _origins(settings: Settings) -> t.Any:
    """Return the check of a page's origin, or ``"*"`` to accept all."""
    if settings.origins == "*":
        return "*"

    setting = settings.origins or []
    origins = [setting] if isinstance(setting, str) else list(setting)

    def is_allowed(origin: str, environ: t.Any) -> bool:
        own = f"{environ['wsgi.url_scheme']}://{get_host(environ)}"
        return origin in (own, *origins)

    return is_allowed


def _async_mode() -> str:
    patched = sys.modules.get("gevent.monkey")
    is_gevent = patched is not None and patched.is_module_patched("threading")
    return "gevent" if is_gevent else "threading"
