"""The connections that get an event."""

from __future__ import annotations

import logging
import typing as t
from collections import defaultdict
from collections.abc import Mapping

from ..pagination import without
from ..service.rights import Rights
from ..signals import READS
from .connection import Connection

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..context import Params
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.events import Event
    from ..service.rights import Visibility
    from ..typing import Record

logger = logging.getLogger(__package__)

ANONYMOUS: t.Final = "anonymous"
"""The channel of connections without a login."""

AUTHENTICATED: t.Final = "authenticated"
"""The channel of connections with a login."""


class Delivery(t.NamedTuple):
    """The data of an event for some connections."""

    record: t.Any
    """The record, or the part of it that they may see."""

    connections: list[Connection]
    """The connections."""


class Audience:
    """Selects the connections that get an event and may see its record."""

    def __init__(
        self, records: FlaskRecords, connections: Mapping[str, Connection]
    ) -> None:
        self._records = records
        self._connections = connections

    def publications(self, event: Event) -> Mapping[str, t.Any]:
        """Return what each channel gets of an event: those that the publisher of its
        service or of the extension names, or else ``authenticated``. The order counts
        for the members of several channels.
        """
        service = event.service
        publisher = service.publishers.of(event.name)

        if publisher is None and not service.sends_events:
            return {}

        publisher = publisher or self._records.publishers.of(event.name)

        if publisher is None:
            is_read = any(name in service.methods for name in READS)
            return {AUTHENTICATED: event.record} if is_read or service.public else {}

        try:
            published = publisher(event.name, event.record, event.context)
            publications = _publications(published, event.record)
            # This raises if a name is not text.
            ", ".join(publications)
        except Exception:
            # The call is committed and cannot fail any more.
            logger.exception("Publishing '%s %s' failed.", service.path, event.name)
            return {}

        return publications

    def deliveries(self, messages: Sequence[Record]) -> list[list[Delivery]]:
        """Return what connections of this worker get of each event of a transaction.
        Each rule is called once for each user.
        """
        deliveries: list[list[Delivery]] = [[] for _ in messages]
        indices_of = defaultdict(list)

        for index, message in enumerate(messages):
            if message["channels"]:
                indices_of[message["service"]].append(index)

        for path, indices in indices_of.items():
            service = self._records.services.get(path)

            if service is not None:
                selected = self._deliveries(service, [messages[i] for i in indices])

                for index, groups in zip(indices, selected, strict=True):
                    deliveries[index] = groups

        return deliveries

    def _deliveries(
        self, service: Service, messages: Sequence[Record]
    ) -> list[list[Delivery]]:
        """Return what connections get of each event of one service."""
        published = [frozenset(message["channels"]) for message in messages]
        channels = frozenset().union(*published)
        stored = [message.get("stored", message["record"]) for message in messages]
        rights = Rights(service, stored)
        is_public = service.sends_events and not service.public.isdisjoint(READS)
        readers = []

        for connection in list(self._connections.values()):
            if channels.isdisjoint(connection.channels):
                continue

            login = connection.login if connection.is_logged_in else None

            if is_public or self._may_read(service, login):
                readers.append((connection, rights.of(login)))

        return [
            list(_grouped(message, index, channels, readers))
            for index, (message, channels) in enumerate(
                zip(messages, published, strict=True)
            )
        ]

    def _may_read(self, service: Service, login: Params | None) -> bool:
        """Return whether the service accepts the login of a user."""
        return login is not None and (
            not service.sends_events or self._records.accepts(service, login)
        )


def _publications(published: t.Any, record: t.Any) -> Mapping[str, t.Any]:
    """Return what each channel gets.

    :param published: What a publisher returned: names, one of them, or data by name.
    :param record: The record of the event, which is the data by default.
    """
    if isinstance(published, Mapping):
        return published

    names = [published] if isinstance(published, str) else sorted(published or ())
    return dict.fromkeys(names, record)


def _grouped(
    message: Record,
    index: int,
    channels: frozenset[str],
    readers: Sequence[tuple[Connection, Visibility]],
) -> Iterator[Delivery]:
    """Yield what readers get of an event, once for all who get the same.

    :param index: The place of the event among those of its service.
    """
    data = message.get("data", {})
    groups: dict[tuple[str | None, frozenset[str]], list[Connection]]
    groups = defaultdict(list)

    for connection, visibility in readers:
        if not channels.isdisjoint(connection.channels) and visibility.may_see(index):
            channel = _first(message["channels"], connection) if data else None
            channel = channel if channel in data else None
            groups[channel, visibility.hidden(index)].append(connection)

    for (channel, hidden), connections in groups.items():
        record = message["record"] if channel is None else data[channel]
        yield Delivery(without(record, hidden), connections)


def _first(channels: Sequence[str], connection: Connection) -> str:
    """Return the first of some channels, one of which the connection is in."""
    return next(each for each in channels if each in connection.channels)
