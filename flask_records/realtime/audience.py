"""Who gets an event."""

from __future__ import annotations

import logging
import typing as t

from ..context import HookContext
from ..context import Params
from ..errors import NotFound
from ..errors import RecordsError
from ..signals import READS
from .connection import Connection

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..extension import FlaskRecords
    from ..service import Service
    from ..typing import Publisher
    from ..typing import Record

logger = logging.getLogger(__package__)

ANONYMOUS: t.Final = "anonymous"
"""The channel of the connections that nobody has logged in with."""

AUTHENTICATED: t.Final = "authenticated"
"""The channel of those that somebody has."""


class Audience:
    """Decides who gets an event: whom it is published to, and who may see the record.

    :param records: The extension with the services.
    :param connections: The connections of this worker.
    """

    def __init__(
        self, records: FlaskRecords, connections: Mapping[str, Connection]
    ) -> None:
        self._records = records
        self._connections = connections

    def channels(
        self, service: Service, event: str, record: t.Any, context: HookContext | None
    ) -> set[str]:
        """Return the channels that an event is published to: by the function of the
        service, of all services, or those who have logged in.

        :param service: The service that sends it.
        :param event: Its name.
        :param record: What is sent.
        :param context: The call that caused it, if there was one.
        """
        publisher = _publisher(service.publishers, event)

        if publisher is None and not service.sends_events:
            return set()

        publisher = publisher or _publisher(self._records.publishers, event)

        if publisher is None:
            is_read = any(name in service.methods for name in READS)
            return {AUTHENTICATED} if is_read or service.public else set()

        try:
            named = publisher(event, record, context)
            channels = {named} if isinstance(named, str) else set(named or ())
            ", ".join(channels)
        except Exception:
            # The call is committed. Who should have it is not known.
            logger.exception("Publishing '%s %s' failed.", service.path, event)
            return set()

        return channels

    def connections(self, message: Record) -> list[Connection]:
        """Return the connections of this worker that get an event.

        :param message: The event, as workers tell it each other.
        """
        service = self._records.services.get(message["service"])

        if service is None or not message["channels"]:
            return []

        channels = set(message["channels"])
        seen: dict[t.Any, bool] = {}
        return [
            connection
            for connection in list(self._connections.values())
            if not channels.isdisjoint(connection.channels)
            and self._may_read(service, connection)
            and self._may_see(service, connection, message, seen)
        ]

    def _may_read(self, service: Service, connection: Connection) -> bool:
        """Return whether a connection could ask the service for records."""
        if not service.public.isdisjoint(READS) and service.sends_events:
            return True

        if not connection.is_logged_in:
            return False

        return not service.sends_events or self._records.accepts(
            service, connection.login
        )

    def _may_see(
        self,
        service: Service,
        connection: Connection,
        message: Record,
        seen: dict[t.Any, bool],
    ) -> bool:
        """Return whether the record is one that the user of a connection may see."""
        if service.readable is None:
            return True

        login = connection.login if connection.is_logged_in else Params()
        key = (id(login.authenticator), login.user_id)

        if key not in seen:
            seen[key] = _is_readable(service, login.user, message["facts"])

        return seen[key]


def _publisher(
    publishers: Mapping[str | None, Publisher], event: str
) -> Publisher | None:
    return publishers.get(event) or publishers.get(None)


def _is_readable(service: Service, user: t.Any, record: t.Any) -> bool:
    """Return whether a record is one that a user may see. What can't be told is not."""
    assert service.readable is not None

    try:
        condition = service.readable(user)

        if not condition:
            return True

        matches = getattr(service.target, "matches", None)
        found = matches(record, condition) if matches else None
        return _is_stored(service, condition, record) if found is None else found
    except RecordsError:
        return False
    except Exception:
        logger.exception("Nobody gets an event of '%s'.", service.path)
        return False


def _is_stored(service: Service, condition: Record, record: t.Any) -> bool:
    """Ask the service itself whether a record meets a condition."""
    name = getattr(service.target, "id", "id")

    if not isinstance(record, dict) or name not in record:
        return False

    try:
        service._get(record[name], Params(query=dict(condition)))
    except NotFound:
        return False

    return True
