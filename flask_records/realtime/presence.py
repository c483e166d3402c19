"""The users who are in channels, over all workers."""

from __future__ import annotations

import datetime as dt
import logging
import re
import threading
import time
import typing as t
import uuid
from dataclasses import dataclass
from dataclasses import field
from fnmatch import translate

from ..service.events import Event
from .attendance import Attendance
from .roster import Roster
from .watcher import Watcher

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..context import Params
    from ..service import Service
    from ..typing import Record
    from .connection import Connection
    from .server import Server

T = t.TypeVar("T")

logger = logging.getLogger(__package__)

INTERVAL: t.Final = 0.1
"""The seconds between two looks at what has changed."""

HEARTBEAT: t.Final = 3
"""The seconds between two signs of life of a worker."""

TIMEOUT: t.Final = 10
"""The seconds without a sign of life after which a worker is taken for killed."""

START: t.Final = 0.5
"""The seconds that the others have to tell a worker that starts."""

MAX_RECORDS: t.Final = 1000
"""The number of records in a message."""

ALL: t.Final = "*"
"""Asks all workers."""


@dataclass(frozen=True)
class PresenceOptions:
    """The options of a presence service."""

    channels: Collection[str]
    """The names of the channels, or patterns with ``*``."""

    show: Callable[[t.Any], Record] | None = None
    """Returns the fields of a user that the records have."""

    grace: float = 5
    """The seconds that a user without connections stays."""

    users: str | None = None
    """The path of the users. Those of the first authentication service by default."""


@dataclass
class Colleague:
    """Another worker."""

    heard_at: float
    """The time of its last message."""

    version: int = 0
    """The number of its last change that this worker knows."""

    is_asked: bool = False
    """``True`` while it is to be asked for all."""

    parts: list[Record] = field(default_factory=list)
    """The records of all that have come so far."""


class Presence:
    """Knows the users in channels, over all workers.

    Each worker numbers what it tells of its own connections. All workers hear it in the
    same order, and the one whose message changes who is there sends the event. A worker
    that missed a message asks the other to tell all again, and sends the events of what
    it missed to its own connections only.
    """

    def __init__(
        self, server: Server, service: Service, options: PresenceOptions
    ) -> None:
        self.roster = Roster()
        """The records of all workers. Use it with :attr:`lock`."""
        self.lock = threading.Lock()
        """Held while the records change."""
        self._server = server
        self._service = service
        self._options = options
        self._followed = re.compile("|".join(map(translate, options.channels)))
        self._topic = f"presence {service.path}"
        self._attendance = Attendance(options.grace)
        self._colleagues: dict[str, Colleague] = {}
        self._id = ""
        self._version = 0
        self._beats_at = 0.0
        self._is_asked = False
        self._ready_at = 0.0
        self._events: list[tuple[str, list[Record], bool]] = []
        self._starting = threading.Lock()
        self._watcher = Watcher(self._is_needed, self._check, INTERVAL)
        server.bus.on(self._topic, self._hear)

    def update(self, connection: Connection) -> None:
        """Look where a connection is, after any change of it."""
        with self.lock:
            records = self._records_of(connection)
            self._attendance.set(connection.id, records, time.monotonic())

        if records:
            self.start()

    def channels_of(self, params: Params) -> list[str]:
        """Return the channels that a caller is in. Use it with :attr:`lock`."""
        channels = self.roster.channels
        return [c for c in channels if self.roster.get(f"{c}:{params.user_id}")]

    def start(self) -> None:
        """Begin to tell other workers, and to hear from them."""
        with self._starting:
            if not self._id:
                # The worker may be a copy of the process that has loaded it.
                self._id = uuid.uuid4().hex
                self._server.bus.start()
                self._ready_at = time.monotonic() + START
                self._send({"ask": ALL})

        self._watch()

    def wait_until_ready(self) -> None:
        """Wait until other workers have told who is there, if this one has just
        started.
        """
        self.start()
        delay = self._ready_at - time.monotonic()

        if delay > 0 and self._server.settings.message_queue is not None:
            self._server.transport.sleep(delay)

    def _watch(self) -> None:
        transport = self._server.transport
        self._watcher.start(transport.start_task, transport.sleep)

    def _is_needed(self) -> bool:
        return bool(self._attendance or self.roster or self._events or self._is_asked)

    def _records_of(self, connection: Connection) -> dict[str, Record]:
        login = connection.login_at(time.time())

        if login is None or login.user_id is None:
            return {}

        if connection.id not in self._server.connections:
            return {}

        if login.authenticator.users_path != self._users_path():
            return {}

        channels = [c for c in connection.channels if self._followed.match(c)]
        return {r["id"]: r for r in (self._record(c, login) for c in channels)}

    def _users_path(self) -> str:
        users = self._options.users
        return users or self._server.records.authentication().users_path

    def _record(self, channel: str, login: t.Any) -> Record:
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
        return {
            **self._shown(login.user),
            "id": f"{channel}:{login.user_id}",
            "channel": channel,
            "userId": login.user_id,
            "since": f"{now.isoformat(timespec='milliseconds')}Z",
        }

    def _shown(self, user: t.Any) -> Record:
        try:
            return self._options.show(user) if self._options.show else {}
        except Exception:
            logger.exception("The 'show' function of '%s' failed.", self._service.path)
            return {}

    def _check(self) -> None:
        """Tell other workers what has changed, and send the events."""
        now = time.monotonic()

        with self.lock:
            joined, left = self._attendance.changes(now)
            told = self._attendance.told if self._is_asked else None
            self._is_asked = False
            silent = self._silent(now)
            asked = [id for id, each in self._colleagues.items() if each.is_asked]

            for id in asked:
                self._colleagues[id].is_asked = False

        if joined or left:
            self._tell(joined, left)

        if told is not None:
            self._tell_all(told)

        if now >= self._beats_at and self._attendance:
            self._send({})

        for id in silent:
            self._send({"gone": id})

        for id in asked:
            self._send({"ask": id})

        self._send_events()

    def _silent(self, now: float) -> list[str]:
        """Forget the workers that were killed, and return those that had users."""
        silent = [
            id
            for id, colleague in self._colleagues.items()
            if now - colleague.heard_at > TIMEOUT
        ]

        for id in silent:
            del self._colleagues[id]

        return [id for id in silent if self.roster.ids_of(id)]

    def _tell(self, joined: Sequence[Record], left: Sequence[str]) -> None:
        for some in _parts(joined):
            self._version += 1
            self._send({"joined": some})

        for ids in _parts(left):
            self._version += 1
            self._send({"left": ids})

    def _tell_all(self, records: Sequence[Record]) -> None:
        parts = list(_parts(records)) or [[]]

        for number, part in enumerate(parts, 1):
            self._send({"all": part, "is_last": number == len(parts)})

    def _send(self, body: Record) -> None:
        self._beats_at = time.monotonic() + HEARTBEAT
        head = {"from": self._id, "version": self._version}
        self._server.bus.send(self._topic, {**head, **body})

    def _hear(self, body: Record, id: str | None = None) -> None:
        """Take a message of any worker, this one included."""
        if not self._id:
            # It asks all others when it starts.
            return

        with self.lock:
            self._take(body)
            is_needed = self._is_needed()

        if is_needed:
            self._watch()

    def _take(self, body: Record) -> None:
        sender, is_own = body["from"], body["from"] == self._id
        created: list[Record] = []
        removed: list[Record] = []
        is_here = "all" in body

        if not is_own:
            self._notice(sender, body)

        if "joined" in body:
            created = self.roster.add(sender, body["joined"])
        elif "left" in body:
            removed = self.roster.remove(sender, body["left"])
        elif "gone" in body:
            removed = self._drop(body["gone"])
        elif "ask" in body:
            self._is_asked |= not is_own and body["ask"] in (ALL, self._id)
        elif is_here and not is_own:
            created, removed = self._replace(sender, body)

        if is_own or is_here:
            changes = ("removed", removed), ("created", created)
            self._events += [(*each, is_here) for each in changes if each[1]]

    def _drop(self, worker: str) -> list[Record]:
        if worker == self._id:
            # It was silent for too long, and is there nevertheless.
            self._attendance.tell_again()

        return self.roster.remove(worker, self.roster.ids_of(worker))

    def _replace(self, sender: str, body: Record) -> tuple[list[Record], list[Record]]:
        colleague = self._colleagues[sender]
        colleague.parts += body["all"]

        if not body["is_last"]:
            return [], []

        records, colleague.parts = colleague.parts, []
        return self.roster.replace(sender, records)

    def _notice(self, sender: str, body: Record) -> None:
        """Note that another worker is there, and whether a message of it was missed."""
        colleague = self._colleagues.setdefault(sender, Colleague(0))
        colleague.heard_at = time.monotonic()
        is_change = "joined" in body or "left" in body

        if body.get("is_last") or body["version"] == colleague.version + is_change:
            colleague.version = body["version"]
        elif "all" not in body:
            colleague.is_asked = True

    def _send_events(self) -> None:
        with self.lock:
            events, self._events = self._events, []

        with self._server.app.app_context():
            for name, records, is_here in events:
                if is_here:
                    made = [Event(self._service, name, r, r, None) for r in records]
                    self._server.deliver_here(made)
                else:
                    self._service.announce_all(name, records)


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the parts of a list, none of which is too large for a message."""
    for start in range(0, len(items), MAX_RECORDS):
        yield items[start : start + MAX_RECORDS]
