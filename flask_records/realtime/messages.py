"""Events in the form that workers exchange."""

from __future__ import annotations

import json
import logging
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..authentication.tokens import ENDING
from ..http.formatter import dumps
from ..names import READS
from ..query.bounds import json_size
from ..service.results import opened, without

if t.TYPE_CHECKING:
    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record

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
    record, rule_values = [without(part, passwords) for part in opened(event)]

    if is_login and not channels:
        record = _token_of(record)

    return Message(service.path, event.name, record, channels, rule_values)


def _channels_of(records: FlaskRecords, event: Event) -> list[str]:
    """Return the channels that get an event: those that the publisher of its service or
    of the extension names, or else ``authenticated``.
    """
    service = event.service
    publishers = service.publish.ordered(event.name)

    if not publishers and not service.sends_events:
        return []

    publishers = publishers or records.publish.ordered(event.name)

    if not publishers:
        is_read = any(name in service.methods for name in READS)
        return [AUTHENTICATED] if is_read or service.public else []

    try:
        return _names(publishers[-1](event.name, event.record, event.context))
    except Exception:
        # The call is committed and cannot fail any more.
        logger.exception("Publishing '%s %s' failed.", service.path, event.name)
        return []


def _names(published: t.Any) -> list[str]:
    """Return the names of channels that a publisher has returned.

    :raises TypeError: It has returned something else.
    """
    names = [published] if isinstance(published, str) else published or ()

    if isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            "A publisher returns names of channels. To send other data to some of them,"
            " emit a second event."
        )

    return sorted(names)


def _token_of(record: t.Any) -> Record:
    """Return the part of a login's event that identifies its token and session."""
    login = record.get("authentication") if isinstance(record, dict) else None
    payload = (login or {}).get("payload") or {}
    ids = {name: payload[name] for name in ENDING if name in payload}
    return {"authentication": {"payload": ids}}
