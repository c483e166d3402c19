"""The connections of one application in one worker, and the events that they get."""

from __future__ import annotations

import json
import logging
import threading
import time
import typing as t
from functools import partial
from itertools import chain
from secrets import token_urlsafe

from ..database.transaction import Transaction
from ..http.formatter import dumps
from ..names import METHODS
from .calls import RESERVED
from .connections import Connection, Connections, LOAD_ANEW
from .log import Log, MemoryLog
from .logins import Logins
from .messages import MAX_SIZE, Message, message_of, Recipients
from .protocol import ClientEvent

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record
    from .asgi.worker import Worker
    from .extension import Realtime
    from .messages import Delivery
    from .settings import Settings

logger = logging.getLogger(__package__)

READ_TIMEOUT: t.Final = 1
"""The seconds that a thread waits for events at a time."""

HEAD_START: t.Final = 0.005
"""The seconds that events wait for the answers to those who wrote."""

MAX_WAITING: t.Final = 1000
"""The number of times that events may wait to be sent before answers wait for them."""

DELAY: t.Final = 0.002
"""The seconds between two looks at the events that wait."""

MAX_DELAY: t.Final = 0.1
"""The seconds that an answer waits for earlier events at most."""

MAX_EVENTS: t.Final = 100
"""The maximum number of events of a transaction in one entry of the log."""

DISCONNECTED: t.Final = "disconnected"
"""The event with the reason for which the application disconnects a client."""

LOGGED_OUT: t.Final = "loggedOut"
"""The event that gives a client the reason for the end of its login."""

REASON: t.Final = "The server has ended the connection."
"""The message to a client whose connection the application ends, by default."""


class Server:
    """Follows the log of events, and sends connections those that they may see."""

    worker: Worker | None = None
    """The ASGI server's worker that holds the clients. Without one, clients of tests
    get events within the call.
    """

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
        self.settings = settings
        """The settings of the application."""
        self.logins = Logins(self, realtime.connections)
        """The logins of the connections."""
        queue = settings.message_queue
        self.log: Log = MemoryLog() if queue is None else _shared_log(queue, settings)
        """The events of all workers."""
        self.methods = _methods_of(records)
        """The names of the methods that clients can call."""
        self.is_stopped = False
        """``True`` once the server of the connections has stopped."""
        self._starting = threading.Lock()
        self._following = threading.Lock()
        self._is_followed = False

    def new_connection(self, headers: Headers) -> Connection:
        """Return a connection to :meth:`connect`.

        :param headers: The headers of the client's first request.
        """
        return Connection(token_urlsafe(15), headers, self.connections)

    def connect(self, connection: Connection, accept: Callable[[], None]) -> None:
        """Add a connection, and log it in if its headers have credentials.

        :param accept: Lets the client know that it is connected, to load its data.
        :raises Exception: The credentials are wrong, or can't be checked.
        """
        login = self.logins.admit(connection)
        self._begin_to_follow()
        self.logins.announce("connect", connection)
        self.connections.add(connection)
        accept()
        self.logins.begin(connection, login)

    def disconnect(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        if self.connections.remove(connection):
            self.logins.announce("disconnect", connection)

    def tell(
        self, connections: Sequence[Connection], method: str, *arguments: t.Any
    ) -> None:
        """Call a method of each connection's client."""
        if self.worker is not None:
            self.worker.tell(connections, method, *arguments)
            return

        for connection in connections:
            if connection.client is not None:
                getattr(connection.client, method)(*arguments)

    def log_out(self, connection: Connection, reason: str) -> None:
        """Inform a client that its login is over."""
        self.tell([connection], "log_out", self._own_event(LOGGED_OUT, reason))

    def disconnect_members(self, channel: str, reason: str | None) -> None:
        """Disconnect the members of a channel, on all workers, once the call in
        progress has been committed, or at once.

        :param reason: The reason that the clients get.
        """
        entry = dumps({"disconnect": channel, "reason": reason or REASON})
        # The events of the transaction follow.
        Transaction.after_commit(partial(self._append, [entry], is_last=False))

    def deliver(self, events: Sequence[Event]) -> None:
        """Append the events of a transaction to the log."""
        texts = []

        for event in events:
            try:
                message = message_of(self.records, event)
                texts += [] if message is None else [message.to_json()]
            except Exception:
                # The other events can be sent.
                path = event.service.path
                logger.exception("'%s %s' could not be sent.", path, event.name)

        self._append([b'{"events":[%b]}' % b",".join(part) for part in _parts(texts)])
        # The place in the log is free by now: other transactions must not wait, too.
        self._wait_for_others()

    def _wait_for_others(self) -> None:
        """Let the answer to a call wait while many earlier events do: clients that
        write back to back would be ahead of their own events by seconds.
        """
        end = time.monotonic() + MAX_DELAY

        while (
            self.worker is not None
            and self.worker.waiting > MAX_WAITING
            and time.monotonic() < end
        ):
            time.sleep(DELAY)

    def _append(self, entries: Sequence[bytes], *, is_last: bool = True) -> None:
        self.log.append(entries, is_last=is_last)
        self.catch_up()

    def _begin_to_follow(self) -> None:
        with self._starting:
            if self._is_followed:
                return

            self.log.start()
            self._is_followed = True

        if self.worker is not None:
            for run in (partial(self._follow, self.worker), self.logins.watch):
                threading.Thread(target=run, daemon=True).start()

    def _follow(self, worker: Worker) -> None:
        """Handle the entries of the log until the server stops."""
        threading.current_thread().name = "records-events"

        while not self.is_stopped:
            if entries := self.log.read(READ_TIMEOUT):
                # The interpreter serves one thread at a time: those who wrote are
                # answered first.
                worker.wait_for_answers(HEAD_START)
                self._handle(entries)

    def catch_up(self) -> None:
        """Handle the entries of the log for clients of tests."""
        if self.worker is not None or not self.connections:
            return

        # Entries that a receiver or a rule writes come after their cause.
        if self._following.acquire(blocking=False):
            try:
                while texts := self.log.read(0):
                    self._handle(texts)
            finally:
                self._following.release()

    def _handle(self, texts: Sequence[bytes]) -> None:
        """Handle entries of any worker. Connections end if that fails."""
        try:
            self._handle_entries([json.loads(text) for text in texts])
        except Exception:
            logger.exception("Events could not be sent.")
            self._hang_up(self.connections.all())

    def _handle_entries(self, entries: Sequence[Record]) -> None:
        transactions = [
            [Message(**each) for each in entry.get("events", ())] for entry in entries
        ]

        for entry in entries:
            # Logins that end leave the channels.
            if "disconnect" in entry:
                members = self.connections.members(entry["disconnect"])
                event = self._own_event(DISCONNECTED, entry["reason"])
                self.tell(members, "dismiss", event)

        with self.app.app_context():
            # All entries are sent to the logins of now.
            self.logins.check_after(chain(*transactions))

        for entry, messages in zip(entries, transactions, strict=True):
            with self.app.app_context():
                self._send([message for message in messages if message.channels])

            if "lost" in entry:
                self._hang_up(self.connections.all())

    def _send(self, messages: Sequence[Message]) -> None:
        """Send the events of a transaction to the connections of this worker that may
        see them.
        """
        deliveries: dict[Message, list[Delivery]] = {}

        for path in {message.service: None for message in messages}:
            service = self.records.services.get(path)

            if service is not None:
                own = [message for message in messages if message.service == path]
                recipients = Recipients(self.records, service, own, self.connections)
                deliveries |= zip(own, recipients.deliveries(), strict=True)
                self._hang_up(recipients.undecided)

        for message in messages:
            for record, connections in deliveries.get(message, ()):
                self.events_sent += len(connections)
                event = ClientEvent(message.service, message.event, record)
                self.tell(connections, "send_event", event)

    def _hang_up(self, connections: Sequence[Connection]) -> None:
        """Let clients load anew that may have missed an event."""
        if connections:
            self.tell(connections, "end", LOAD_ANEW)

    def _own_event(self, name: str, reason: str) -> ClientEvent:
        return ClientEvent("", name, {"message": reason}, self.settings.stream_name)


def _parts(texts: Sequence[bytes]) -> list[list[bytes]]:
    """Return events in the parts that go into one entry of the log each."""
    parts: list[list[bytes]] = []
    size = MAX_SIZE

    for text in texts:
        size += len(text)

        if size > MAX_SIZE or len(parts[-1]) == MAX_EVENTS:
            parts.append([])
            size = len(text)

        parts[-1].append(text)

    return parts


def _methods_of(records: FlaskRecords) -> set[str]:
    """Return the names of the methods of all services."""
    services = records.services.values()
    names = set(METHODS).union(*(service.custom_methods for service in services))

    for name in names.intersection(RESERVED):
        raise RuntimeError(
            f"'{name}' can't be a custom method: Socket.IO reserves the name."
        )

    return names


def _shared_log(url: str, settings: Settings) -> Log:
    """Return the log of several workers."""
    try:
        from .redis_log import RedisLog
    except ImportError as error:
        raise RuntimeError(
            "RECORDS_REALTIME['message_queue'] needs: pip install"
            " 'flask-record-services[redis]'."
        ) from error

    return RedisLog(url, settings.channel)
