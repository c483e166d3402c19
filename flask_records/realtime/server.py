"""The connections of one application in one worker."""

from __future__ import annotations

import logging
import typing as t
from contextlib import contextmanager

from ..signals import METHODS
from ..transaction import Transaction
from .audience import Audience
from .bus import Bus, EVENTS, LOST
from .calls import RESERVED
from .connection import Connection
from .connections import Connections
from .disconnections import Disconnections
from .logins import Logins
from .messages import Messages
from .recovery import Recovery
from .transport import MemoryTransport

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..authentication import AuthenticationService
    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record
    from .extension import Realtime
    from .recipients import Delivery
    from .settings import Settings
    from .transport import Transport

logger = logging.getLogger(__package__)


class Server:
    """Answers the messages of connections, and sends them events."""

    def __init__(
        self,
        app: Flask,
        records: FlaskRecords,
        realtime: Realtime,
        settings: Settings,
    ) -> None:
        self.connections = Connections()
        """The connections, by id and by channel."""
        self.app = app
        """The application."""
        self.records = records
        """The extension with the services."""
        self.events_sent = 0
        """The number of times that an event was sent to a connection."""
        """Counts what the worker does."""
        self.settings = settings
        """The settings of the application."""
        self.logins = Logins(
            app,
            records.authentications,
            self.connections,
            realtime.connections,
            self._send_in_order,
        )
        """The logins of the connections."""
        self._audience = Audience(records, self.connections)
        queue = settings.message_queue
        self._messages = Messages(records, is_shared=queue is not None)
        self.bus = Bus() if queue is None else _shared_bus(queue, settings)
        """Carries what workers tell each other."""
        self.bus.on(EVENTS, self._handle)
        self.disconnections = Disconnections(self)
        """Ends connections of all workers."""
        self.recovery: Recovery | None = None
        """Sends clients that come back what they have missed."""

        if settings.event_log is not None:
            self.recovery = Recovery(self, settings.event_log)
            self.bus.on(LOST, self._handle_loss)

        self.methods = _methods_of(records)
        """The names of the methods that clients can call."""
        self.transport: Transport = MemoryTransport()
        """The transport of the connections."""

    def deliver(self, events: Sequence[Event]) -> None:
        """Send the events of one transaction to the connections that get them."""
        if messages := self._messages_of(events):
            self.bus.publish(messages)

    def _messages_of(self, events: Sequence[Event]) -> list[Record]:
        messages: list[Record] = []

        for event in events:
            try:
                message = self._messages.of(event, self._audience.publications(event))
            except Exception:
                # The other events can be sent.
                path = event.service.path
                logger.exception("'%s %s' could not be sent.", path, event.name)
            else:
                messages += [message] if message else []

        return messages

    def members(self, channel: str) -> list[Connection]:
        """Return the connections of this worker that are in a channel."""
        return self.connections.members(channel)

    def hold(self, keys: Iterable[str], *, has_rules: bool) -> None:
        """Lock records until their events are sent, which keeps the order of writes.

        :param has_rules: Rules tell who may see the records. They are asked about the
            earlier events before the records change again.
        """
        transaction = Transaction.current_or_none()

        if transaction is None:
            return

        for key in keys:
            transaction.hold(*self.bus.lock(key))

        if has_rules:
            # The name comes after those of the locks, which are waited for first.
            transaction.hold("events order", self._in_order())

    @contextmanager
    def _in_order(self) -> Iterator[None]:
        self.transport.wait_for_order()
        yield

    @property
    def is_listened_to(self) -> bool:
        """``True`` if there are connections, or other workers may have some, or clients
        may come back.
        """
        settings = self.settings
        return bool(self.connections or settings.message_queue or settings.event_log)

    def connect(
        self, id: str, headers: Headers, authentication: t.Any = None
    ) -> str | None:
        """Add a connection, and log it in if its headers have credentials. Return the
        id by which its client can get later what it misses, if there is a log.

        :param id: The id that its transport knows it by.
        :param authentication: What the client sends to connect.
        :raises RecordsError: The credentials are wrong.
        """
        calls_per_second = self.settings.calls_per_second
        connection = Connection(id, headers, calls_per_second, self.connections)
        login = self.logins.admit(connection)
        self.bus.start()
        self.logins.tell("connect", connection)
        recovery = self.recovery
        pid = recovery.enter(connection, authentication) if recovery else None
        self.connections.add(connection)
        self.logins.watcher.start(self.transport.start_task)
        self.logins.begin(connection, login)

        if recovery is not None:
            recovery.begin(connection)

        return pid

    def disconnect(self, id: str) -> None:
        """Remove a connection, if it is there."""
        connection = self.connections.remove(id)

        if connection is not None:
            if self.recovery is not None:
                self.recovery.leave(connection)

            self.logins.tell("disconnect", connection)

    def log_in(
        self, connection: Connection, service: AuthenticationService, result: Record
    ) -> None:
        """Log a connection in.

        :param result: The result of its ``create``.
        """
        self.logins.log_in(connection, service, result)

        if self.recovery is not None:
            self.recovery.log_in(connection)

    def _send_in_order(self, name: str, record: Record, connection: Connection) -> None:
        """Send an event to a connection, after the events before."""
        transport = self.transport
        transport.run_in_order(lambda: transport.send_event(name, record, [connection]))

    def _handle(self, messages: Sequence[Record], id: str | None) -> None:
        """Send events of any worker to the connections of this one."""
        self.transport.run_in_order(lambda: self._send(messages, id))

    def _send(self, messages: Sequence[Record], id: str | None) -> None:
        published = [message for message in messages if message["channels"]]

        with self.app.app_context():
            for message in messages:
                self.logins.check_after(message)

            if self.recovery is not None and published:
                self.recovery.send(published, id)
            else:
                deliveries = self._audience.deliveries(published)

                for message, groups in zip(published, deliveries, strict=True):
                    self.send_to_groups(message, groups)

    def deliveries(
        self,
        messages: Sequence[Record],
        connections: Sequence[Connection] | None = None,
    ) -> list[list[Delivery]]:
        """Return what connections get of each event, by their present logins.

        :param connections: Those that may get them. All by default.
        """
        with self.app.app_context():
            return self._audience.deliveries(messages, connections)

    def send_to_groups(
        self, message: Record, groups: Sequence[Delivery], offset: str | None = None
    ) -> None:
        """Send an event to connections.

        :param message: The message of the event.
        :param groups: What each connection gets.
        :param offset: The place of the event in the log, if there is one.
        """
        name = f"{message['service']} {message['event']}"

        for record, connections in groups:
            if connections:
                self.events_sent += len(connections)
                self.transport.send_event(name, record, connections, offset)

    def _handle_loss(
        self, entries: Sequence[tuple[str, list[Record]]], id: str | None
    ) -> None:
        """Let clients load anew, since some worker has not received all events.

        :param entries: The events that came since.
        """
        recovery = self.recovery
        assert recovery is not None
        connections = list(self.connections.values())

        def begin_anew() -> None:
            recovery.log.begin(entries or [(id, [])])
            recovery.restart(connections)

        if connections:
            count = len(connections)
            logger.warning("Events are lost. %s clients connect again.", count)

        self.transport.run_in_order(begin_anew)


def _methods_of(records: FlaskRecords) -> set[str]:
    """Return the names of the methods of all services.

    :raises RuntimeError: Socket.IO reserves the name of a method.
    """
    services = records.services.values()
    names = set(METHODS).union(*(service.custom_methods for service in services))

    for name in names.intersection(RESERVED):
        raise RuntimeError(
            f"'{name}' can't be a custom method: Socket.IO reserves the name."
        )

    return names


def _shared_bus(url: str, settings: Settings) -> Bus:
    """Return the bus of several workers.

    :param url: The URL of Redis.
    :raises RuntimeError: The URL is invalid, or the package of its client is missing.
    """
    try:
        from .bus.redis import RedisBroker
        from .bus.shared import SharedBus
    except ImportError as error:
        raise RuntimeError(
            "RECORDS_REALTIME['message_queue'] needs: pip install"
            " 'flask-record-services[redis]'."
        ) from error

    bounds, limits = settings.event_log, {}

    if bounds is not None:
        limits = {"max_age": bounds.seconds, "max_entries": bounds.events}

    try:
        broker = RedisBroker(url, settings.channel, **limits)
    except ValueError as error:
        raise RuntimeError(
            f"RECORDS_REALTIME['message_queue'] is not a valid URL: {error}"
        ) from error

    return SharedBus(broker, is_recorded=bounds is not None)
