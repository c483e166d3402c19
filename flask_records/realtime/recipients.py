"""The connections that get the events of one service, by what they may see."""

from __future__ import annotations

import json
import time
import typing as t
from collections import defaultdict

from ..pagination import without
from ..query import UserRule
from ..service.rights import EVERYTHING, hide, Rights, show, Visibility
from ..signals import READS
from .owners import Extent, Owners
from .populated import NO_RELATIONS, Populated

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ..context import Params
    from ..extension import FlaskRecords
    from ..service import Service
    from ..typing import Record
    from .connection import Connection
    from .connections import Connections


class Delivery(t.NamedTuple):
    """The data of an event for some connections."""

    record: t.Any
    """The record, or the part of it that they may see."""

    connections: Sequence[Connection]
    """The connections."""


class View(t.NamedTuple):
    """Connections that see the same of an event."""

    visibility: Visibility
    """The part of the records that they may see."""

    login: Params | None
    """The login of one of them."""

    connections: Sequence[Connection]
    """The connections."""

    channel: str | None = None
    """The channel whose data they get, if it is not the record."""


class Part(t.NamedTuple):
    """The members of channels who are not in others."""

    channels: tuple[str, ...]
    """The names of the channels, one of which they are in."""

    others: tuple[str, ...] = ()
    """The names of those that they are not in."""

    def has(self, connection: Connection) -> bool:
        """Return whether a connection is among them."""
        names = connection.channels
        return not names.isdisjoint(self.channels) and names.isdisjoint(self.others)


class Recipients:
    """Finds the connections that get events of one service in one transaction.

    :param records: The extension with the services.
    :param messages: The events.
    :param connections: All connections of this worker.
    :param only: Those that may get the events. All by default.
    """

    def __init__(
        self,
        records: FlaskRecords,
        service: Service,
        messages: Sequence[Record],
        connections: Connections,
        only: Collection[Connection] | None = None,
    ) -> None:
        self._records = records
        self._service = service
        self._messages = messages
        self._connections = connections
        self._only = None if only is None else dict.fromkeys(only)
        stored = [message.get("stored", message["record"]) for message in messages]
        self._rights = Rights(service, stored)
        self._owners = Owners(self._rights, connections)
        self._populated = Populated(records, service, messages, self._rights)
        self._is_public = service.sends_events and not service.public.isdisjoint(READS)
        self._accepted: dict[t.Any, bool] = {}
        self._members: dict[Part, Sequence[Connection]] = {}
        self._views: dict[Part, Sequence[View]] = {}
        self._now = time.time()

    def deliveries(self) -> list[list[Delivery]]:
        """Return what connections get of each event."""
        views = [list(self._views_of(index)) for index in range(len(self._messages))]
        views = [
            [view for view in each if view.visibility.may_see(index)]
            for index, each in enumerate(views)
        ]
        return [list(self._deliveries(*pair)) for pair in enumerate(views)]

    def _deliveries(self, index: int, views: Sequence[View]) -> Iterator[Delivery]:
        """Yield what connections get of an event, once for all who get the same."""
        message = self._messages[index]
        groups: dict[tuple[str | None, frozenset[str], str], list[Sequence[Connection]]]
        groups = defaultdict(list)

        for visibility, login, connections, channel in views:
            text = self._populated.of(login, index) if channel is None else NO_RELATIONS
            groups[channel, visibility.hidden(index), text].append(connections)

        for (channel, hidden, text), parts in groups.items():
            data = message["record"] if channel is None else message["data"][channel]
            shown = without(data, hidden)

            if text != NO_RELATIONS:
                shown = {**shown, **json.loads(text)}

            connections = [c for part in parts for c in part] if parts[1:] else parts[0]

            if connections:
                yield Delivery(shown, connections)

    def _views_of(self, index: int) -> Iterator[View]:
        """Yield the connections that may see an event, by what they see."""
        message = self._messages[index]
        channels, data = tuple(message["channels"]), message.get("data")

        if not data:
            yield from self._views_in(Part(channels), index)
            return

        # A member of several channels gets the data of the first.
        for place, name in enumerate(channels):
            part = Part((name,), channels[:place])
            channel = name if name in data else None

            for view in self._views_in(part, index):
                yield view._replace(channel=channel)

    def _views_in(self, part: Part, index: int) -> Sequence[View]:
        found = self._found(index)

        if found is None:
            if part not in self._views:
                self._views[part] = self._seen(self._members_of(part))

            return self._views[part]

        some, visibility = found
        chosen = [each for each in some if self._is_considered(each, part)]
        views = self._seen(self._may_read(chosen))

        if visibility is None:
            return views

        others = self._members_of(part)

        if some:
            others = [each for each in others if each not in some]

        return [*views, *self._seen(others, visibility)]

    def _found(
        self, index: int
    ) -> tuple[Mapping[Connection, None], Visibility | None] | None:
        """Return the connections whose rights to an event have to be asked for, and
        the visibility for all others, if they may see it. ``None`` to ask for all.
        """
        readable = self._service.readable
        rules = self._service.capabilities.field_rules.visible
        some: dict[Connection, None] = {}
        hidden = []

        if readable is not None:
            found = self._found_by(readable, index)

            if not isinstance(found, Extent):
                return found, None

            if found is Extent.UNDECIDED:
                return None

            some.update(self._owners.undecided(t.cast(UserRule, readable)))

        for name, rule in rules.items():
            found = self._found_by(rule, index)

            if found is Extent.UNDECIDED:
                return None

            some.update(self._owners.undecided(t.cast(UserRule, rule)))

            if not isinstance(found, Extent):
                some.update(found)
                hidden.append(name)

        return some, Visibility(show, dict.fromkeys(hidden, hide))

    def _found_by(self, rule: t.Any, index: int) -> Mapping[Connection, None] | Extent:
        is_query = isinstance(rule, UserRule)
        return self._owners.of(rule, index) if is_query else Extent.UNDECIDED

    def _seen(
        self, connections: Sequence[Connection], visibility: Visibility | None = None
    ) -> list[View]:
        """Return connections by what they see.

        :param visibility: The part of the records that all of them may see, if it is
            known.
        """
        if not self._service.has_rules:
            visibility = EVERYTHING

        if visibility is not None and not self._populated:
            return [View(visibility, None, connections)]

        views: dict[tuple[Visibility, t.Any], View] = {}
        now, rights_of = self._now, self._rights.of

        for connection in connections:
            login = connection.login_at(now)
            seen = visibility or rights_of(login)
            key = seen, self._populated.key(login)
            view = views.get(key)

            if view is None:
                view = views[key] = View(seen, login, [])

            t.cast("list[Connection]", view.connections).append(connection)

        return list(views.values())

    def _members_of(self, part: Part) -> Sequence[Connection]:
        """Return the members of channels who may read the service."""
        members = self._members.get(part)

        if members is None:
            members = self._may_read(self._candidates(part))
            self._members[part] = members

        return members

    def _candidates(self, part: Part) -> list[Connection]:
        if self._only is not None:
            return [each for each in self._only if part.has(each)]

        members = self._connections.members(*part.channels)

        if not part.others:
            return members

        return [each for each in members if part.has(each)]

    def _is_considered(self, connection: Connection, part: Part) -> bool:
        is_among = self._only is None or connection in self._only
        return is_among and part.has(connection)

    def _may_read(self, connections: list[Connection]) -> list[Connection]:
        """Return the connections whose login the service accepts."""
        if self._is_public:
            return connections

        accepted, now = self._accepted, self._now
        readers = []

        for connection in connections:
            login = connection.login_at(now)

            # Most logins are of one kind, and to ask takes longer than to compare.
            credentials = (login and login.authentication) or {}
            kind = login and (id(login.authenticator), credentials.get("strategy"))

            if kind not in accepted:
                accepted[kind] = self._is_accepted(login)

            if accepted[kind]:
                readers.append(connection)

        return readers

    def _is_accepted(self, login: Params | None) -> bool:
        service = self._service
        return login is not None and (
            not service.sends_events or self._records.accepts(service, login)
        )
