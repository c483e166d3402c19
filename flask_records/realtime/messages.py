"""Events on their way from a call to the connections that may see them."""

from __future__ import annotations

import json
import logging
import typing as t
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..authentication.tokens import ENDING
from ..errors import Unavailable
from ..http.formatter import dumps
from ..names import READS
from ..query.bounds import json_size
from ..service.results import open_event, without
from ..service.rights import Rights, Visibility

if t.TYPE_CHECKING:
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.context import Params
    from ..service.events import Event
    from ..typing import Record
    from .connections import Connection, Connections

    Delivery: t.TypeAlias = tuple[t.Any, Sequence[Connection]]
    """The data of an event, and the connections that get it."""

    Views: t.TypeAlias = Mapping[Visibility, Sequence[Connection]]

logger = logging.getLogger(__package__)

ANONYMOUS: t.Final = "anonymous"
"""The channel of connections without a login."""

AUTHENTICATED: t.Final = "authenticated"
"""The channel of connections with a login."""

MAX_SIZE: t.Final = 64 * 1024
"""The bytes of an event with a whole record, and of the events of one entry of the log.
"""

MAX_VALUE: t.Final = 1000
"""About the bytes of the values of a record that is not whole."""

PARTIAL: t.Final = "$partial"
"""The word in a record that is not whole."""


@dataclass(frozen=True, eq=False)
class Message:
    """An event. It never has a user's password, and only those hidden fields that a
    rule names which is a query.
    """

    service: str
    """The path of the service."""

    event: str
    """The name of the event."""

    record: t.Any
    """The record."""

    channels: list[str]
    """The names of the channels that get it."""

    rule_values: Record = field(default_factory=dict)
    """Values that are not in the record, which rules need."""

    @property
    def stored(self) -> t.Any:
        """The record with the values that rules are asked about."""
        if self.rule_values and isinstance(self.record, dict):
            return {**self.record, **self.rule_values}

        return self.record

    def to_json(self) -> bytes:
        """Return the event as JSON. A large record goes without its long values, and
        with the word :data:`PARTIAL`.

        :raises TypeError: The record has no form in JSON.
        """
        text = dumps(vars(self))

        if len(text) <= MAX_SIZE or not isinstance(self.record, dict):
            return text

        event = json.loads(text)

        for part in ("record", "rule_values"):
            values = event[part].items()
            event[part] = {k: v for k, v in values if json_size(v) <= MAX_VALUE}

        event["record"][PARTIAL] = True
        return dumps(event)


class Recipients:
    """Selects the connections that get events of one service in one transaction. A rule
    is called once for each user at most.
    """

    def __init__(
        self,
        records: FlaskRecords,
        service: Service,
        messages: Sequence[Message],
        connections: Connections,
    ) -> None:
        self.undecided: list[Connection] = []
        """The connections that may have missed an event, as the database is away."""
        self._records = records
        self._service = service
        self._messages = messages
        self._connections = connections
        past_records = [message.stored for message in messages]
        self._rights = Rights(service, past_records, are_past=True)
        self._is_public = service.sends_events and not service.public.isdisjoint(READS)
        self._accepted: dict[t.Any, bool] = {}
        self._views: dict[tuple[str, ...], Views] = {}

    def deliveries(self) -> list[list[Delivery]]:
        """Return what connections get of each event."""
        # All rules are asked before a record is sent.
        views = [self._views_of(tuple(each.channels)) for each in self._messages]
        return [self._deliveries(*pair) for pair in enumerate(views)]

    def _deliveries(self, index: int, views: Views) -> list[Delivery]:
        """Return what connections get of an event, once for all who get the same."""
        groups: dict[frozenset[str], list[Connection]] = defaultdict(list)

        for visibility, connections in views.items():
            if visibility.is_seen[index]:
                groups[visibility.hidden[index]] += connections

        record = self._messages[index].record
        return [(without(record, each), groups[each]) for each in groups]

    def _views_of(self, channels: tuple[str, ...]) -> Views:
        """Return the members of channels who may read the service, by what they see."""
        views = self._views.get(channels)

        if views is None:
            members = self._connections.members(*channels)

            if not self._is_public:
                members = [each for each in members if self._login_of(each) is not None]

            views = self._views[channels] = self._by_visibility(members)

        return views

    def _by_visibility(self, connections: list[Connection]) -> Views:
        if not self._service.has_rules:
            number = len(self._messages)
            everything = Visibility((True,) * number, (frozenset(),) * number)
            return {everything: connections} if connections else {}

        views: dict[Visibility, list[Connection]] = defaultdict(list)

        for connection in connections:
            try:
                visibility = self._rights.of(self._login_of(connection))
            except Unavailable:
                self.undecided.append(connection)
            else:
                views[visibility].append(connection)

        return views

    def _login_of(self, connection: Connection) -> Params | None:
        """Return the login of a connection, if the service accepts it. In a call with
        another one, nobody is logged in, either.
        """
        login = connection.valid_login

        if login is None:
            return None

        # Most logins are of one kind, and to ask takes longer than to compare.
        credentials = login.authentication or {}
        kind = id(login.authenticator), credentials.get("strategy")

        if kind not in self._accepted:
            access = self._records.accesses[self._service.path]
            is_accepted = not self._service.sends_events or access.accepts(login)
            self._accepted[kind] = is_accepted

        return login if self._accepted[kind] else None


def message_of(records: FlaskRecords, event: Event) -> Message | None:
    """Return the message of an event, or ``None`` if nothing depends on it."""
    service = event.service
    authentications = records.authentications.values()
    asking = [auth for auth in authentications if auth.lookup.has(service)]
    is_login = service.target in authentications
    channels = _channels_of(records, event)

    if not channels and not asking and not is_login:
        return None

    passwords = {auth.password for auth in asking}
    record, rule_values = [without(part, passwords) for part in open_event(event)]

    if is_login and not channels:
        record = _token_of(record)

    return Message(service.path, event.name, record, channels, rule_values)


def _channels_of(records: FlaskRecords, event: Event) -> list[str]:
    """Return the channels that get an event: those that the publisher of its service or
    of the extension names, or else ``authenticated``.
    """
    service = event.service
    publishers = service.publish.order(event.name)

    if not publishers and not service.sends_events:
        return []

    publishers = publishers or records.publish.order(event.name)

    if not publishers:
        is_read = any(name in service.methods for name in READS)
        return [AUTHENTICATED] if is_read or service.public else []

    try:
        return _names(publishers[-1](event.name, event.record, event.context))
    except Exception:
        # The call is committed and cannot fail any more.
        logger.exception("Publishing '%s %s' failed.", service.path, event.name)
        return []


def _names(result: t.Any) -> list[str]:
    """Return the names of channels that a publisher has returned."""
    names = [result] if isinstance(result, str) else result or ()

    if isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "A publisher returns names of channels. To send other data to some of them,"
            " emit a second event."
        )

    return sorted(names)


def _token_of(record: t.Any) -> Record:
    login = record.get("authentication") if isinstance(record, dict) else None
    payload = (login or {}).get("payload") or {}
    ids = {name: payload[name] for name in ENDING if name in payload}
    return {"authentication": {"payload": ids}}
