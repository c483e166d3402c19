"""Clients that come back, and get what they have missed."""

from __future__ import annotations

import secrets
import time
import typing as t
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from .closing import LOAD_ANEW
from .event_log import EventLog
from .recipients import Delivery
from .watcher import Watcher

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Record
    from .connection import Connection
    from .event_log import Bounds, Missed
    from .server import Server

OFFSET: t.Final = "offset"
"""The name of the event that tells clients the place that they have reached."""

UNKNOWN: t.Final = ""
"""The place of a client that is to load anew."""

LOGIN_TIMEOUT: t.Final = 5
"""The seconds that a client has to log in again, before it is one without a login."""

LOGIN_PAUSE: t.Final = 1
"""The seconds in which a client gets the answer to its login."""

MAX_PID: t.Final = 100
"""The maximum length of the id that a client shows."""

TURN: t.Final = 5000
"""The number of deliveries after which other events get their turn."""

PAUSE: t.Final = 0.02
"""The seconds between two turns."""


@dataclass(eq=False)
class Return:
    """A client that has come back, and does not get new events yet."""

    connection: Connection
    """Its connection."""

    offset: str
    """The place that it has reached."""

    deadline: float
    """The time at which it is taken for one without a login."""

    is_ready: bool = False
    """``True`` once its login is clear."""


class Recovery:
    """Sends clients that come back the events that they have missed, as far as they may
    see them now. All happens in the order of events, so that each client gets each
    event once.

    :param bounds: The bounds of the events that are kept.
    """

    def __init__(self, server: Server, bounds: Bounds) -> None:
        self.log = EventLog(bounds)
        """The recent events."""
        self.returns: dict[str, Return] = {}
        """The clients that do not get new events yet, by the ids of connections."""
        self._server = server
        self._without_login: set[str] = set()
        self._told: str | None = None
        self._has_turn = False
        self._has_timer = False
        self._watcher = Watcher(
            lambda: server.connections, self._tell_all, max(1, bounds.seconds // 4)
        )

    def enter(self, connection: Connection, authentication: t.Any) -> str:
        """Return the id for a client. It is the one that the client shows if it gets
        what it has missed, and a new one if it has to load anew.

        :param connection: A connection that is about to be added.
        :param authentication: What the client sends to connect.
        """
        shown = authentication if isinstance(authentication, Mapping) else {}
        pid, offset = shown.get("pid"), shown.get("offset")

        if not isinstance(pid, str) or not 0 < len(pid) <= MAX_PID:
            return _new_pid()

        if not self.log.has(offset):
            return _new_pid()

        deadline = time.monotonic() + LOGIN_TIMEOUT
        self.returns[connection.id] = Return(connection, t.cast(str, offset), deadline)
        return pid

    def begin(self, connection: Connection) -> None:
        """Tell a client its place, or let it get what it has missed."""
        transport = self._server.transport
        self._watcher.start(transport.start_task)
        missing = self.returns.get(connection.id)

        if missing is None:
            transport.run_in_order(lambda: self._tell([connection]))
        elif connection.is_logged_in or not self._server.records.authentications:
            self._set_ready(missing)
        elif not self._has_timer:
            self._has_timer = True
            transport.run_later(LOGIN_TIMEOUT, self._end_waiting)

    def log_in(self, connection: Connection) -> None:
        """Go on after the login of a connection."""
        missing = self.returns.get(connection.id)

        if missing is not None:
            self._set_ready(missing)
        elif connection.id in self._without_login:
            # It has got the events of a client without a login instead of its own.
            self._without_login.discard(connection.id)
            transport = self._server.transport
            transport.run_later(LOGIN_PAUSE, lambda: self.restart([connection]))

    def leave(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self.returns.pop(connection.id, None)
        self._without_login.discard(connection.id)

    def send(self, messages: Sequence[Record], id: str | None) -> None:
        """Add the events of a transaction to the log, and send them.

        :param id: The id in the log of all workers, if they come from there.
        """
        offsets = self.log.append(id, messages)
        deliveries = self._server.deliveries(messages)

        for message, groups, offset in zip(messages, deliveries, offsets, strict=True):
            present = [
                Delivery(record, self._without_returns(connections))
                for record, connections in groups
            ]
            self._server.send_to_groups(message, present, offset)

    def _without_returns(
        self, connections: Sequence[Connection]
    ) -> Sequence[Connection]:
        """Return the connections that get new events."""
        if not self.returns:
            return connections

        return [each for each in connections if each.id not in self.returns]

    def restart(self, connections: Sequence[Connection]) -> None:
        """Let clients connect again, and load anew."""
        if connections:
            self._server.transport.send_event(OFFSET, UNKNOWN, connections)
            self._server.transport.hang_up(connections, LOAD_ANEW)

    def _set_ready(self, missing: Return) -> None:
        missing.is_ready = True
        self._take_turn(0)

    def _end_waiting(self) -> None:
        """Let clients that do not log in go on without a login."""
        self._has_timer, now = False, time.monotonic()

        for each in list(self.returns.values()):
            if not each.is_ready and now >= each.deadline:
                self._without_login.add(each.connection.id)
                self._set_ready(each)

        deadlines = [r.deadline for r in list(self.returns.values()) if not r.is_ready]

        if deadlines:
            self._has_timer = True
            pause = max(PAUSE, min(deadlines) - now)
            self._server.transport.run_later(pause, self._end_waiting)

    def _take_turn(self, pause: float) -> None:
        if not self._has_turn:
            self._has_turn = True
            self._server.transport.run_later(pause, self._run_turn)

    def _run_turn(self) -> None:
        """Send some of the clients that have come back what they have missed next."""
        self._has_turn, number = False, 0
        groups: dict[str, list[Return]] = defaultdict(list)

        for each in list(self.returns.values()):
            if each.is_ready and self._server.transport.has_room(each.connection):
                groups[each.offset].append(each)

        for offset, group in groups.items():
            if number < TURN:
                number += self._send_group(offset, group)

        if any(each.is_ready for each in list(self.returns.values())):
            self._take_turn(PAUSE)

    def _send_group(self, offset: str, group: Sequence[Return]) -> int:
        """Send clients at one place what comes next, and return how much that was."""
        missed = self.log.after(offset, max(1, TURN // len(group)))
        connections = [each.connection for each in group]

        if missed:
            self._send(missed, connections)

            for each in group:
                each.offset = missed[-1].offset

            return len(missed) * len(group)

        for each in group:
            self.returns.pop(each.connection.id, None)

        if missed is None:
            self.restart(connections)
        else:
            self._tell(connections)

        return len(group)

    def _send(
        self, missed: Sequence[Missed], connections: Sequence[Connection]
    ) -> None:
        messages = [each.message for each in missed]
        deliveries = self._server.deliveries(messages, connections)

        for (offset, message), groups in zip(missed, deliveries, strict=True):
            self._server.send_to_groups(message, groups, offset)

    def _tell_all(self) -> None:
        """Tell all clients the place that they have reached. Otherwise the last event
        of a client that gets few would be forgotten too soon.
        """
        self._server.transport.run_in_order(self._tell_news)

    def _tell_news(self) -> None:
        self.log.trim()

        if self.log.end != self._told:
            self._told = self.log.end
            self._tell(list(self._server.connections.values()))

    def _tell(self, connections: list[Connection]) -> None:
        receivers = self._without_returns(connections)

        if receivers:
            self._server.transport.send_event(OFFSET, self.log.end, receivers)


def _new_pid() -> str:
    return secrets.token_urlsafe(15)
