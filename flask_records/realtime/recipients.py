"""The connections that get the events of a transaction, by what they may see."""

from __future__ import annotations

import typing as t
from collections import defaultdict

from ..errors import Unavailable
from ..names import READS
from ..service.results import without
from ..service.rights import Rights, Visibility

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.context import Params
    from .connections import Connection, Connections
    from .messages import Message

    Delivery: t.TypeAlias = tuple[t.Any, Sequence[Connection]]
    """The data of an event, and the connections that get it."""

    Views: t.TypeAlias = Mapping[Visibility, Sequence[Connection]]


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
        stored = [message.stored for message in messages]
        self._rights = Rights(service, stored, are_past=True)
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
            if visibility.seen[index]:
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
