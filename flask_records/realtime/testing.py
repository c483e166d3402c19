"""A client of an application's connections, for tests."""

from __future__ import annotations

import json
import secrets
import typing as t

from flask import request

from ..http.formatter import dumps
from ..http.test_client import error_of
from .calls import answer_json
from .logins import LOGGED_OUT
from .server import DISCONNECTED

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .connections import Connection, Reason
    from .server import Server


class MemoryTransport:
    """Carries events to clients in the same process, in the thread that writes."""

    has_threads = False
    """``False``: events are sent within the call."""
    waiting = 0
    """No events wait."""

    def __init__(self) -> None:
        self.clients: dict[str, SocketClient] = {}
        """The clients that are connected, by id."""

    def wait_for_answers(self, timeout: float) -> None:
        """Return at once: a call is answered after its events."""

    def send_event(
        self, path: str, name: str, record: t.Any, connections: Sequence[Connection]
    ) -> None:
        """Send an event to connections."""
        name, text = f"{path} {name}".lstrip(), dumps(record)

        for client in self._clients_of(connections):
            client.received.append((name, json.loads(text)))

    def log_out(self, connection: Connection, reason: str) -> None:
        """Tell a client that its login is over."""
        self.send_event("", LOGGED_OUT, {"message": reason}, [connection])

    def hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        """Close connections."""
        for client in self._clients_of(connections):
            client.disconnect()

    def disconnect(self, connections: Sequence[Connection], reason: str) -> None:
        """Disconnect connections, which get the event ``disconnected`` first."""
        self.send_event("", DISCONNECTED, {"message": reason}, connections)

        for client in self._clients_of(connections):
            client.disconnect()

    def _clients_of(self, connections: Sequence[Connection]) -> list[SocketClient]:
        ids = [each.id for each in connections if each.id in self.clients]
        return [self.clients[id] for id in ids]


class SocketClient:
    """Calls services and gets events as a client with a connection does, within the
    process and in one thread: with logins, channels, rights, hooks, and values in JSON.
    :meth:`.Realtime.test_client` makes it.

    :param headers: The headers of its first request.
    :raises RecordsError: The credentials in the headers are wrong.
    :raises RuntimeError: An ASGI server serves the application.
    """

    def __init__(self, server: Server, headers: Mapping[str, str]) -> None:
        if not hasattr(server, "transport"):
            server.transport = MemoryTransport()

        if not isinstance(server.transport, MemoryTransport):
            raise RuntimeError(
                "An ASGI server serves the application. Make another one."
            )

        self.id = secrets.token_urlsafe(15)
        """The id of its connection."""
        self._server = server
        self._clients = server.transport.clients
        self._headers = headers
        self.received: list[tuple[str, t.Any]] = []
        """The events since the last call of :meth:`events`."""
        self._clients[self.id] = self

        try:
            self._run(lambda: server.connect(self.id, request.headers, lambda: None))
        except BaseException:
            del self._clients[self.id]
            raise

    @property
    def is_connected(self) -> bool:
        """``True`` until the client or the server ends the connection."""
        return self.id in self._clients

    def call(self, method: str, path: str, *arguments: t.Any) -> t.Any:
        """Return the result of a call: JSON values.

        :param method: The name of the method.
        :param path: The path of the service.
        :param arguments: The id and the data if the method takes them, and maybe a
            query.
        :raises RecordsError: The call has failed. It is of the class that the server
            names.
        :raises RuntimeError: The connection has ended.
        """
        connection = self._server.connections.get(self.id)

        if connection is None:
            raise RuntimeError("The connection has ended. Make another client.")

        message = tuple(json.loads(dumps([path, *arguments])))
        records = self._server.records
        answer = self._run(lambda: answer_json(records, connection, method, message))
        error, *results = json.loads(answer)

        if error is not None:
            raise error_of(error)

        return results[0]

    def events(self) -> list[tuple[str, t.Any]]:
        """Return the events since the last time: their names, such as
        ``messages created``, and their records.
        """
        self._server.catch_up()
        events, self.received = self.received, []
        return events

    def disconnect(self) -> None:
        """End the connection. Nothing happens if it has ended."""
        if self._clients.pop(self.id, None) is not None:
            self._run(lambda: self._server.disconnect(self.id))

    def _run(self, function: Callable[[], t.Any]) -> t.Any:
        app = self._server.app

        with app.test_request_context(
            self._server.settings.url_path, headers=self._headers
        ):
            return function()
