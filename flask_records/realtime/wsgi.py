"""The transport for WSGI servers, by Flask-SocketIO."""

from __future__ import annotations

import sys
import typing as t

from flask import request
from flask_socketio import ConnectionRefusedError
from flask_socketio import SocketIO
from socketio import packet

from ..errors import RecordsError
from ..http.error_handler import body_of
from .calls import answer
from .disconnections import EVENT as DISCONNECTED
from .disconnections import LINGER
from .dispatcher import Dispatcher
from .dispatcher import NAMESPACE
from .engine import Engine
from .order import Order
from .origins import origin_check
from .packets import JSON
from .packets import plain
from .packets import TextPacket
from .posted_bodies import accept_many_packets

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    import socketio

    from ..typing import Record
    from .calls import Reader
    from .closing import Reason
    from .connection import Connection
    from .server import Server
    from .session import Session


class FlaskSocketIO:
    """Serves connections in threads or greenlets of a WSGI server.

    :param shared: The Socket.IO server of the application, if it has one.
    """

    def __init__(self, server: Server, shared: SocketIO | None) -> None:
        self._server = server
        self._order = None if server.settings.event_log is None else Order()
        self._pids: dict[str, str] = {}
        # Another server may read values that are no JSON.
        self._read: Reader = tuple if shared is None else plain
        self.is_shared = shared is not None
        """``True`` if the Socket.IO server is that of the application."""
        self.socketio = shared or self._make()
        """The Socket.IO server."""

        # The application may set it up later.
        if self.socketio.server is not None:
            self.attach()

    @property
    def path(self) -> str:
        """The path of the URL that clients connect to."""
        middleware = getattr(self.socketio, "sockio_mw", None)
        path = f"/{self._server.settings.path.strip('/')}/"
        return path if middleware is None else t.cast(str, middleware.engineio_path)

    def attach(self) -> None:
        """Answer the messages of clients of the Socket.IO server."""
        if self.is_shared:
            accept_many_packets(self.socketio.server.eio)

        Dispatcher(
            self.socketio,
            connect=self._connect,
            disconnect=self._disconnect,
            answer=self._answering,
            methods=self._server.methods,
            is_service=self._server.is_service,
        )

    def send_event(
        self,
        name: str,
        record: t.Any,
        connections: Sequence[Connection],
        offset: str | None = None,
    ) -> None:
        """Send an event to connections of this worker."""
        ids = [connection.id for connection in connections]
        arguments = record if offset is None else (record, offset)
        self.socketio.server.emit(name, arguments, to=ids, ignore_queue=True)

    def has_room(self, connection: Connection) -> bool:
        """Return whether the client has accepted most of what it was sent."""
        session = self._session_of(connection)
        return session is None or session.unsent <= session.server.max_unsent // 2

    def hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        """Close connections after all that was sent. Clients connect again."""
        for connection in connections:
            session = self._session_of(connection)

            if session is not None:
                session.tell_and_end(reason)

    def _session_of(self, connection: Connection) -> Session | None:
        server = self.socketio.server
        sid = server.manager.eio_sid_from_sid(connection.id, NAMESPACE)
        return t.cast("Session | None", server.eio.sockets.get(sid))

    def disconnect(self, connections: Sequence[Connection], data: Record) -> None:
        """Disconnect connections of this worker. Their clients are told why."""
        server = self.socketio.server
        ids = [connection.id for connection in connections]
        sessions = [server.manager.eio_sid_from_sid(id, NAMESPACE) for id in ids]
        server.emit(DISCONNECTED, data, to=ids, ignore_queue=True)

        for id in ids:
            server.disconnect(id, ignore_queue=True)

        def end() -> None:
            self.sleep(LINGER)

            for session in filter(None, sessions):
                server.eio.disconnect(session)

        # Most clients have ended their sessions by then.
        self.start_task(end)

    def run_in_order(self, function: Callable[[], None]) -> None:
        """Run a function now. Locks of the bus keep the order of each record."""
        if self._order is None:
            function()
        else:
            self._order.run(function)

    def run_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Run a function in order after some seconds."""

        def run() -> None:
            self.sleep(seconds)
            self.run_in_order(function)

        self.start_task(run)

    def wait_for_order(self) -> None:
        """Return at once: there is nothing that runs later."""

    def start_task(self, function: Callable[[], None]) -> t.Any:
        """Run a function in the background."""
        return self.socketio.start_background_task(function)

    def sleep(self, seconds: float) -> t.Any:
        """Let a function in the background wait."""
        return self.socketio.sleep(seconds)

    def _make(self) -> SocketIO:
        """Return a Socket.IO server of our own."""
        app, settings = self._server.app, self._server.settings
        theirs = app.extensions.get("socketio")
        socketio = SocketIO(
            app,
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

        if settings.event_log is not None:
            self._send_any_packet = socketio.server._send_packet
            socketio.server._send_packet = self._send_packet

        # The functions of Flask-SocketIO are for the server of the application.
        if theirs is not None:
            app.extensions["socketio"] = theirs

        return socketio

    def _replace_engine(self, server: socketio.Server) -> None:
        # Flask-SocketIO has no argument for an engine.
        manager, settings = server.manager, self._server.settings
        engine = Engine(
            settings,
            lambda sid: manager.sid_from_eio_sid(sid, "/") is not None,
            async_mode=server.async_mode,
            cors_allowed_origins=origin_check(settings),
        )
        engine.handlers.update(server.eio.handlers)
        server.eio = engine

    def _connect(self, authentication: t.Any = None) -> None:
        try:
            pid = self._server.connect(_session_id(), request.headers, authentication)
        except RecordsError as error:
            body = body_of(error)
            raise ConnectionRefusedError(body["message"], body) from error

        if self._has_ended(_session_id()):
            # Socket.IO does not tell the end of a connection that is not yet made.
            self._server.disconnect(_session_id())
            raise ConnectionRefusedError("The session has ended.")

        if pid is not None:
            self._pids[_session_id()] = pid

    def _has_ended(self, id: str) -> bool:
        """Return whether the session of a connection has ended."""
        server = self.socketio.server
        return server.manager.eio_sid_from_sid(id, NAMESPACE) not in server.environ

    def _send_packet(self, sid: str, pkt: packet.Packet) -> None:
        """Send a packet. The one that accepts a client tells it the id by which it can
        get later what it misses.
        """
        if pkt.packet_type == packet.CONNECT and pkt.namespace == NAMESPACE:
            pkt.data["pid"] = self._pids.pop(pkt.data["sid"])

        self._send_any_packet(sid, pkt)

    def _disconnect(self, reason: t.Any = None) -> None:
        self._server.disconnect(_session_id())

    def _answering(self, method: str) -> t.Callable[..., t.Any]:
        records = self._server.records

        def handler(*message: t.Any) -> t.Any:
            connection = self._server.connections.get(_session_id())

            if connection is None:
                return None

            return answer(records, connection, method, message, self._read)

        return handler


def _session_id() -> str:
    return t.cast(str, request.sid)  # type: ignore[attr-defined]  # Flask-SocketIO's


def _async_mode() -> str:
    patched = sys.modules.get("gevent.monkey")
    is_gevent = patched is not None and patched.is_module_patched("threading")
    return "gevent" if is_gevent else "threading"
