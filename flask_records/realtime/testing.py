"""A client of an application's connections, for tests."""

from __future__ import annotations

import json
import typing as t

from flask import request

from ..http.formatter import dumps
from ..http.test_client import error_of
from .calls import answer_json
from .settings import URL_PATH

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .connections import Reason
    from .protocol import ClientEvent
    from .server import Server


class SocketClient:
    """Calls services and gets events as a client with a connection does, within the
    process and in one thread: with logins, channels, rights, hooks, and values in JSON.
    :meth:`.Realtime.test_client` makes it.

    :param headers: The headers of its first request.
    :raises RecordsError: The credentials in the headers are wrong.
    :raises RuntimeError: An ASGI server serves the application.
    """

    def __init__(self, server: Server, headers: Mapping[str, str]) -> None:
        if server.worker is not None:
            raise RuntimeError(
                "An ASGI server serves the application. Make another one."
            )

        self._server = server
        self._headers = headers
        self._events: list[tuple[str, t.Any]] = []
        self._run(self._connect)
        self.id = self._connection.id
        """The id of its connection."""

    @property
    def is_connected(self) -> bool:
        """``True`` until the client or the server ends the connection."""
        return self._connection in self._server.connections

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
        if not self.is_connected:
            raise RuntimeError("The connection has ended. Make another client.")

        message = tuple(json.loads(dumps([path, *arguments])))
        arguments = self._server.records, self._connection, method, message
        answer = self._run(lambda: answer_json(*arguments))
        error, *results = json.loads(answer)

        if error is not None:
            raise error_of(error)

        return results[0]

    def events(self) -> list[tuple[str, t.Any]]:
        """Return the events since the last time: their names, such as
        ``messages created``, and their records.
        """
        self._server.catch_up()
        events, self._events = self._events, []
        return events

    def disconnect(self) -> None:
        """End the connection. Nothing happens if it has ended."""
        self._run(lambda: self._server.disconnect(self._connection))

    # The server of the connections calls these methods.

    def send_event(self, event: ClientEvent) -> None:
        """Take an event."""
        self._events.append((event.title, json.loads(event.json)))

    log_out = send_event

    def dismiss(self, event: ClientEvent) -> None:
        """Take the reason for which the application disconnects the client."""
        self.send_event(event)
        self.disconnect()

    def end(self, reason: Reason) -> None:
        """Let the server hang up."""
        self.disconnect()

    def _connect(self) -> None:
        self._connection = self._server.new_connection(request.headers)
        self._connection.client = self
        self._server.connect(self._connection, lambda: None)

    def _run(self, function: Callable[[], t.Any]) -> t.Any:
        app = self._server.app

        with app.test_request_context(URL_PATH, headers=self._headers):
            return function()
