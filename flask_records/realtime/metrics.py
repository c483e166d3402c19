"""The state of a worker's connections, in numbers."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass
from dataclasses import field

if t.TYPE_CHECKING:
    from .server import Server


@dataclass
class Traffic:
    """The sessions of a transport."""

    websocket: int = 0
    """The number of clients that have a WebSocket."""

    polling: int = 0
    """The number of clients that poll."""

    unsent: int = 0
    """The number of bytes that clients have not accepted."""


@dataclass(frozen=True)
class Metrics:
    """The state of one worker. The numbers of events, calls and refusals are those
    since its start.
    """

    websockets: int
    """The number of clients that have a WebSocket."""

    polling: int
    """The number of clients that poll."""

    logins: int
    """The number of connections with a login that is valid."""

    channels: int
    """The number of channels that have members."""

    events: int
    """The number of events that were sent to any connection."""

    events_sent: int
    """The number of times that an event was sent to a connection."""

    unsent_bytes: int
    """The number of bytes that clients have not accepted yet."""

    late_readers: int
    """The number of connections that have ended because too much was unread."""

    calls: int
    """The number of calls that were answered."""

    calls_failed: int
    """The number of calls that were answered by an error."""

    calls_in_flight: int
    """The number of calls that have begun and are not answered."""

    refused: dict[str, int] = field(default_factory=dict)
    """The number of connections that were refused, by reason: ``origin``, ``full``,
    ``protocol`` or ``login``.
    """

    presence: dict[str, int] = field(default_factory=dict)
    """The number of users in channels, over all workers, by the path of the service
    that shows them.
    """

    log_events: int = 0
    """The number of events that are kept for clients that come back."""

    log_bytes: int = 0
    """The size of these events."""

    has_queue: bool = True
    """``False`` while the message queue is not available."""

    queue_seconds: float = 0
    """The time that an entry of this worker took lately through the message queue."""


def metrics_of(server: Server) -> Metrics:
    """Return the state of a worker."""
    counters, traffic = server.counters, server.transport.traffic()
    log = None if server.recovery is None else server.recovery.log
    now = time.time()
    connections = list(server.connections.values())
    ended = counters.calls_ended
    return Metrics(
        websockets=traffic.websocket,
        polling=traffic.polling,
        logins=sum(each.login_at(now) is not None for each in connections),
        channels=len(server.connections.channels),
        events=counters.events,
        events_sent=counters.sent,
        unsent_bytes=traffic.unsent,
        late_readers=counters.late_readers,
        calls=ended,
        calls_failed=counters.calls_failed,
        calls_in_flight=max(0, counters.calls_begun - ended),
        refused=dict(counters.refused),
        presence={path: len(p.roster) for path, p in server.presences.items()},
        log_events=0 if log is None else log.count,
        log_bytes=0 if log is None else log.size,
        has_queue=server.bus.is_available,
        queue_seconds=server.bus.delay,
    )
