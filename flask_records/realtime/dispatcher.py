"""The events of connections, for the handlers of the application and for ours."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

    import socketio
    from flask_socketio import SocketIO

    Handler: t.TypeAlias = Callable[..., t.Any]

NAMESPACE: t.Final = "/"
"""The namespace in which clients call services."""


class Dispatcher:
    """Takes the events of a Socket.IO server. The handlers of the application work as
    without it, whether they are added before or after.

    A connection that the application refuses is refused. A message is ours if it has
    the name of a method and begins with the path of a service, or if the application
    has no handler for it.

    :param connect: Our handler of a connection.
    :param disconnect: Our handler of its end.
    :param answer: Returns our handler of a method.
    :param methods: The names of the methods.
    :param is_service: Returns whether a value is the path of a service.
    """

    def __init__(
        self,
        flask_socketio: SocketIO,
        *,
        connect: Handler,
        disconnect: Handler,
        answer: Callable[[str], Handler],
        methods: Collection[str],
        is_service: Callable[[t.Any], bool],
    ) -> None:
        server: socketio.Server = flask_socketio.server
        self._handle = flask_socketio._handle_event
        self._not_handled = server.not_handled
        self._trigger = server._trigger_event
        self._connect = connect
        self._disconnect = disconnect
        self._answers = {method: answer(method) for method in methods}
        self._is_service = is_service
        # A server refuses namespaces that it does not know.
        server.handlers.setdefault(NAMESPACE, {})
        # There is one handler for each event, and a later one replaces it.
        server._trigger_event = self

    def __call__(self, event: str, namespace: str, sid: str, *args: t.Any) -> t.Any:
        """Return the answer to an event."""
        if namespace != NAMESPACE:
            return self._trigger(event, namespace, sid, *args)

        if event == "connect":
            return self._open(sid, *args)

        if event == "disconnect":
            self._handle(self._disconnect, event, namespace, sid, *args)

        handler = self._answers.get(event)

        if handler is None:
            return self._trigger(event, namespace, sid, *args)

        if not self._is_service(args[0] if args else None):
            result = self._trigger(event, namespace, sid, *args)

            if result is not self._not_handled:
                return result

        return self._handle(handler, event, namespace, sid, *args)

    def _open(self, sid: str, *args: t.Any) -> t.Any:
        result = self._trigger("connect", NAMESPACE, sid, *args)

        if result is not False:
            self._handle(self._connect, "connect", NAMESPACE, sid, *args)

        return result
