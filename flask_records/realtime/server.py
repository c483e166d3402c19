"""The connections of one application in one worker."""

from __future__ import annotations

import json
import logging
import sys
import typing as t

from flask import request
from flask_socketio import SocketIO
from werkzeug.wsgi import get_host

from ..http.formatter import dumps
from ..transaction import Transaction
from .audience import Audience
from .bus import Bus
from .bus import RedisBus
from .calls import answer
from .calls import ARGUMENTS
from .connection import Connection
from .engine import Engine
from .logins import Logins
from .messages import Messages
from .packets import RESERVED
from .packets import TextPacket

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence

    import socketio
    from flask import Flask

    from ..extension import FlaskRecords
    from ..signals import Event
    from ..typing import Record
    from .bus import Handler
    from .extension import Realtime
    from .settings import Settings

logger = logging.getLogger(__package__)

MAX_DIGITS: t.Final = 4000
"""The number of digits of an integer in a message. Python reads no more than 4,300."""


class JSON:
    """Writes messages as answers over HTTP are written."""

    @staticmethod
    def dumps(value: t.Any, **options: t.Any) -> str:
        """Return a value as JSON text."""
        return dumps(value).decode()

    @staticmethod
    def loads(text: str, **options: t.Any) -> t.Any:
        """Return the value of a JSON text. What is no number in JSON is null."""
        return json.loads(text, parse_int=_integer, parse_constant=lambda name: None)


class Server:
    """Answers the messages of connections, and sends them events.

    :param app: The application.
    :param records: The extension with the services.
    :param realtime: What the application wants to do with connections.
    :param settings: The settings of the application.
    """

    def __init__(
        self, app: Flask, records: FlaskRecords, realtime: Realtime, settings: Settings
    ) -> None:
        self.connections: dict[str, Connection] = {}
        """The connections by the ids that Socket.IO knows them by."""
        self._app = app
        self._records = records
        self._settings = settings
        self.logins = Logins(
            app, records.authentications, self.connections, realtime.connections
        )
        """Who has logged in with the connections."""
        self._audience = Audience(records, self.connections)
        self._messages = Messages(records, is_shared=settings.message_queue is not None)
        self.bus = _bus(self._handle, settings)
        """What carries events to other workers."""
        self.socketio = SocketIO(
            app,
            async_mode=settings.async_mode or _async_mode(),
            manage_session=False,
            # A connection's calls run one after the other, in its own thread.
            async_handlers=False,
            serve_client=False,
            serializer=TextPacket,
            json=JSON,
        )
        self._replace_engine(self.socketio.server)
        self.socketio.on_event("connect", self._connect)
        self.socketio.on_event("disconnect", self._disconnect)

        for method in self._methods():
            self.socketio.on_event(method, self._answering(method))

    def deliver(self, events: Sequence[Event]) -> None:
        """Send the events of one transaction to all who may have them.

        :param events: The events, in their order.
        """
        messages = []

        for event in events:
            try:
                message = self._messages.of(event, self._audience.channels(event))
            except Exception:
                # The others can be sent.
                path = event.service.path
                logger.exception("'%s %s' could not be sent.", path, event.name)
            else:
                messages += [message] if message else []

        if messages:
            self.bus.publish(messages)

    def hold(self, keys: Iterable[str]) -> None:
        """Let the events of some records leave in the order of their writes.

        :param keys: What the records are known by.
        """
        transaction = Transaction.current_or_none()

        if transaction is not None:
            for key in keys:
                transaction.hold(*self.bus.lock(key))

    @property
    def is_listened_to(self) -> bool:
        """Whether there are connections, or may be some at other workers."""
        return bool(self.connections or self._settings.message_queue)

    def _methods(self) -> list[str]:
        custom = (
            name
            for service in self._records.services.values()
            for name in service.custom_methods
        )
        names = dict.fromkeys((*ARGUMENTS, *custom))

        for name in RESERVED:
            if name in names:
                raise RuntimeError(
                    f"'{name}' is no name for a custom method: Socket.IO has it."
                )

        return list(names)

    def _replace_engine(self, server: socketio.Server) -> None:
        # Flask-SocketIO makes one of its own, and has no argument for another.
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
        connection = Connection(
            request.sid,  # type: ignore[attr-defined]  # Flask-SocketIO sets it
            request.headers,
            self._settings.calls_per_second,
        )
        self.bus.start()
        self.logins.tell("connect", connection)
        self.connections[connection.id] = connection
        self.logins.watch(self.socketio.start_background_task, self.socketio.sleep)
        self.logins.begin(connection)

    def _disconnect(self, reason: t.Any = None) -> None:
        connection = self.connections.pop(request.sid, None)  # type: ignore[attr-defined]  # as above

        if connection is not None:
            self.logins.tell("disconnect", connection)

    def _answering(self, method: str) -> t.Callable[..., t.Any]:
        def handler(*message: t.Any) -> t.Any:
            connection = self.connections.get(request.sid)  # type: ignore[attr-defined]  # as above

            if connection is None:
                return None

            return answer(self._records, connection, method, message)

        return handler

    def _handle(self, messages: Sequence[Record]) -> None:
        """Send events of any worker to the connections of this one."""
        with self._app.app_context():
            for message in messages:
                self.logins.look_again(message)

            recipients = self._audience.recipients(messages)

            for message, connections in zip(messages, recipients, strict=True):
                if connections:
                    name = f"{message['service']} {message['event']}"
                    ids = [connection.id for connection in connections]
                    self.socketio.server.emit(name, message["record"], to=ids)


def _integer(text: str) -> float:
    """Return a whole number. One of too many digits for Python is infinite, which no
    field takes.
    """
    return int(text) if len(text) <= MAX_DIGITS else float(text)


def _bus(handle: Handler, settings: Settings) -> Bus:
    if settings.message_queue is None:
        return Bus(handle)

    return RedisBus(handle, settings.message_queue, settings.channel)


def _origins(settings: Settings) -> t.Any:
    """Return what says whether pages of an origin may connect."""
    if settings.origins == "*":
        return "*"

    said = settings.origins or []
    origins = [said] if isinstance(said, str) else list(said)

    def is_allowed(origin: str, environ: t.Any) -> bool:
        own = f"{environ['wsgi.url_scheme']}://{get_host(environ)}"
        return origin in (own, *origins)

    return is_allowed


def _async_mode() -> str:
    patched = sys.modules.get("gevent.monkey")
    is_gevent = patched is not None and patched.is_module_patched("threading")
    return "gevent" if is_gevent else "threading"
