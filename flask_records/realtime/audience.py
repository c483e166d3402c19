"""The connections that get an event."""

from __future__ import annotations

import logging
import typing as t
from collections import defaultdict

from ..signals import READS
from .connection import Connection
from .rights import Rights

if t.TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from ..context import Params
    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.events import Event
    from ..typing import Record

logger = logging.getLogger(__package__)

ANONYMOUS: t.Final = "anonymous"
"""The channel of connections without a login."""

AUTHENTICATED: t.Final = "authenticated"
"""The channel of connections with a login."""


class Audience:
    """Selects the connections that get an event and may see its record."""

    def __init__(
        self, records: FlaskRecords, connections: Mapping[str, Connection]
    ) -> None:
        self._records = records
        self._connections = connections

    def channels(self, event: Event) -> set[str]:
        """Return the channels of an event: those that the publisher of its service or
        of the extension names, or else ``authenticated``.
        """
        service = event.service
        publisher = service.publishers.of(event.name)

        if publisher is None and not service.sends_events:
            return set()

        publisher = publisher or self._records.publishers.of(event.name)

        if publisher is None:
            is_read = any(name in service.methods for name in READS)
            return {AUTHENTICATED} if is_read or service.public else set()

        try:
            names = publisher(event.name, event.record, event.context)
            channels = {names} if isinstance(names, str) else set(names or ())
            # This raises if a name is not text.
            ", ".join(channels)
        except Exception:
            # The call is committed and cannot fail any more.
            logger.exception("Publishing '%s %s' failed.", service.path, event.name)
            return set()

        return channels

    def recipients(self, messages: Sequence[Record]) -> list[list[Connection]]:
        """Return the connections of this worker that get each event of a transaction.
        A ``readable`` rule is called once for each user.
        """
        recipients: list[list[Connection]] = [[] for _ in messages]
        indices_of = defaultdict(list)

        for index, message in enumerate(messages):
            if message["channels"]:
                indices_of[message["service"]].append(index)

        for path, indices in indices_of.items():
            service = self._records.services.get(path)

            if service is not None:
                selected = self._recipients(service, [messages[i] for i in indices])

                for index, connections in zip(indices, selected, strict=True):
                    recipients[index] = connections

        return recipients

    def _recipients(
        self, service: Service, messages: Sequence[Record]
    ) -> list[list[Connection]]:
        """Return the connections that get each event of one service."""
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
            [
                connection
                for connection, may_see in readers
                if not channels.isdisjoint(connection.channels) and may_see(index)
            ]
            for index, channels in enumerate(published)
        ]

    def _may_read(self, service: Service, login: Params | None) -> bool:
        """Return whether the service accepts the login of a user."""
        return login is not None and (
            not service.sends_events or self._records.accepts(service, login)
        )
