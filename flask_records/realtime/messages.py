"""Events in the form that workers exchange."""

from __future__ import annotations

import json
import typing as t

from ..http.formatter import dumps
from ..pagination import without

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..extension import FlaskRecords
    from ..service.events import Event
    from ..typing import Record


class Messages:
    """Makes messages of events.

    A message is JSON with ``service``, ``event``, ``record`` and ``channels``, with
    ``data`` by channel where it is not the record, with ``populate`` if the record has
    relationships, which are looked up for each receiver, and with ``stored`` if a rule
    of the service needs more than the record. It never has a user's password. If it
    leaves the process, it has only those hidden fields that such a rule names.
    """

    def __init__(self, records: FlaskRecords, *, is_shared: bool) -> None:
        self._records = records
        self._is_shared = is_shared

    def of(self, event: Event, publications: Mapping[str, t.Any]) -> Record | None:
        """Return the message of an event, or ``None`` if nothing depends on it.

        :param publications: What each channel gets.
        :raises TypeError: The record cannot be JSON.
        """
        service = event.service
        authentications = self._records.authentications.values()
        asking = [auth for auth in authentications if auth.lookup.has(service)]
        is_login = service.target in authentications

        if not publications and not asking and not is_login:
            return None

        passwords = {auth.password for auth in asking}
        record = without(service.event_parts.for_clients(event.record), passwords)

        if is_login and not publications:
            record = _token_of(record)

        text = dumps(record)
        message = {
            "service": service.path,
            "event": event.name,
            "record": json.loads(text),
            "channels": list(publications),
        }
        if event.populate:
            message["populate"] = list(event.populate)

        data = {
            channel: without(service.event_parts.for_clients(value), passwords)
            for channel, value in publications.items()
            if value is not event.record
        }

        if data:
            message["data"] = json.loads(dumps(data))

        if service.has_rules and event.stored is not event.record:
            stored = dumps(self._stored(event, passwords))

            if stored != text:
                message["stored"] = json.loads(stored)

        return message

    def _stored(self, event: Event, passwords: Collection[str]) -> t.Any:
        """Return the record for the rules of the service."""
        stored, record, service = event.stored, event.record, event.service

        if not self._is_shared:
            return stored

        if not isinstance(stored, dict):
            return without(record, passwords)

        # A hook may have removed other fields than the hidden ones.
        names = record if isinstance(record, dict) else ()
        shown = {service.capabilities.id, *names}
        visible = service.visible(stored)
        hidden = {name: stored[name] for name in service.hidden_in_rule & stored.keys()}
        sent = {name: visible[name] for name in visible if name in shown}
        return without({**sent, **hidden}, passwords)


def _token_of(record: t.Any) -> Record:
    """Return the part of a login's event that identifies its token."""
    login = record.get("authentication") if isinstance(record, dict) else None
    payload = (login or {}).get("payload") or {}
    return {"authentication": {"payload": {"jti": payload.get("jti")}}}
