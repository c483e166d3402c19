"""The connections that get an event."""

from __future__ import annotations

import logging
import typing as t
from collections import defaultdict
from collections.abc import Mapping

from ..signals import READS
from .recipients import Recipients

if t.TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record
    from .connection import Connection
    from .connections import Connections
    from .recipients import Delivery

logger = logging.getLogger(__package__)

ANONYMOUS: t.Final = "anonymous"
"""The channel of connections without a login."""

AUTHENTICATED: t.Final = "authenticated"
"""The channel of connections with a login."""


class Audience:
    """Selects the connections that get an event and may see its record."""

    def __init__(self, records: FlaskRecords, connections: Connections) -> None:
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

    def deliveries(
        self,
        messages: Sequence[Record],
        connections: Collection[Connection] | None = None,
    ) -> list[list[Delivery]]:
        """Return what connections of this worker get of each event of a transaction.
        A rule is called once for each user at most.

        :param connections: Those that may get them. All by default.
        """
        deliveries: list[list[Delivery]] = [[] for _ in messages]
        indices_of = defaultdict(list)

        for index, message in enumerate(messages):
            if message["channels"]:
                indices_of[message["service"]].append(index)

        for path, indices in indices_of.items():
            service = self._records.services.get(path)

            if service is not None:
                own = [messages[i] for i in indices]
                recipients = Recipients(
                    self._records, service, own, self._connections, connections
                )
                selected = recipients.deliveries()

                for index, groups in zip(indices, selected, strict=True):
                    deliveries[index] = groups

        return deliveries


def _publications(published: t.Any, record: t.Any) -> Mapping[str, t.Any]:
    """Return what each channel gets.

    :param published: What a publisher returned: names, one of them, or data by name.
    :param record: The record of the event, which is the data by default.
    """
    if isinstance(published, Mapping):
        return published

    names = [published] if isinstance(published, str) else sorted(published or ())
    return dict.fromkeys(names, record)
