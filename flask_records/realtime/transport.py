"""The way of messages between a server and its clients."""

from __future__ import annotations

import typing as t

from ..http.formatter import dumps
from .disconnections import EVENT as DISCONNECTED

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Record
    from .closing import Reason
    from .connection import Connection


class Transport(t.Protocol):
    """Carries messages of one worker."""

    def send_event(
        self,
        name: str,
        record: t.Any,
        connections: Sequence[Connection],
        offset: str | None = None,
    ) -> None:
        """Send an event to connections of this worker, at least one.

        :param offset: The place in the log of events, which comes after the record.
        """

    def has_room(self, connection: Connection) -> bool:
        """Return whether the client has accepted most of what it was sent."""

    def hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        """Close connections after all that was sent. Clients connect again."""

    def disconnect(self, connections: Sequence[Connection], data: Record) -> None:
        """Disconnect connections of this worker, which get the event ``disconnected``
        first.

        :param data: The data of the event.
        """

    def run_in_order(self, function: Callable[[], None]) -> None:
        """Run a function after all others that were given before, now or later."""

    def run_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Run a function in order after some seconds, and once the events before are on
        their way.
        """

    def wait_for_order(self) -> None:
        """Wait until the functions that were given before have run."""

    def start_task(self, function: Callable[[], None]) -> None:
        """Run a function in the background."""


class Receiver(t.Protocol):
    """A client in the same process."""

    def receive(self, name: str, text: bytes) -> None:
        """Take an event.

        :param text: The record as JSON.
        """

    def disconnect(self) -> None:
        """End the connection."""


class MemoryTransport:
    """Carries messages to clients in the same process, which are those of tests, in the
    thread that sends them.
    """

    def __init__(self) -> None:
        self.clients: dict[str, Receiver] = {}
        """The clients that are connected, by id."""

    def send_event(
        self,
        name: str,
        record: t.Any,
        connections: Sequence[Connection],
        offset: str | None = None,
    ) -> None:
        """Send an event to connections."""
        text = dumps(record)

        for client in self._clients_of(connections):
            client.receive(name, text)

    def has_room(self, connection: Connection) -> bool:
        """Return ``True``: a client of a test accepts everything."""
        return True

    def hang_up(self, connections: Sequence[Connection], reason: Reason) -> None:
        """Close connections."""
        for client in self._clients_of(connections):
            client.disconnect()

    def disconnect(self, connections: Sequence[Connection], data: Record) -> None:
        """Disconnect connections, which get the event ``disconnected`` first."""
        self.send_event(DISCONNECTED, data, connections)

        for client in self._clients_of(connections):
            client.disconnect()

    def run_in_order(self, function: Callable[[], None]) -> None:
        """Run a function now."""
        function()

    def run_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Run a function now."""
        function()

    def wait_for_order(self) -> None:
        """Return at once: there is nothing that runs later."""

    def start_task(self, function: Callable[[], None]) -> None:
        """Run nothing in the background: tests would depend on the time."""

    def _clients_of(self, connections: Sequence[Connection]) -> list[Receiver]:
        ids = [each.id for each in connections if each.id in self.clients]
        return [self.clients[id] for id in ids]
