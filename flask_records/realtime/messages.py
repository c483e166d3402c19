"""Events in the form in which workers hand them to each other."""

from __future__ import annotations

import json
import typing as t

from ..http.formatter import dumps
from ..pagination import without

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..authentication import AuthenticationService
    from ..extension import FlaskRecords
    from ..signals import Event
    from ..typing import Record


class Messages:
    """Makes messages of events, which hold nothing but JSON.

    A message has ``service``, ``event``, ``record`` and ``channels``, and ``stored`` if
    there is more to decide by than what is sent. No message has a user's password. One
    that leaves the process has those hidden fields only that a ``readable`` rule names.

    :param records: The extension with the services.
    :param is_shared: Whether messages leave the process.
    """

    def __init__(self, records: FlaskRecords, *, is_shared: bool) -> None:
        self._records = records
        self._is_shared = is_shared

    def of(self, event: Event, channels: Collection[str]) -> Record | None:
        """Return the message of an event, or ``None`` if it concerns nobody.

        :param event: The event.
        :param channels: The channels that it is published to.
        :raises TypeError: The record has no form in JSON.
        """
        service = event.service
        users = [one for one in self._authentications if one.lookup.has(service)]
        is_login = service.target in self._authentications

        if not channels and not users and not is_login:
            return None

        passwords = {one.password for one in users}
        record = without(event.record, passwords)

        if is_login and not channels:
            record = _token_of(record)

        text = dumps(record)
        message = {
            "service": service.path,
            "event": event.name,
            "record": json.loads(text),
            "channels": sorted(channels),
        }

        if service.readable is not None and event.stored is not event.record:
            stored = dumps(self._stored(event, passwords))

            if stored != text:
                message["stored"] = json.loads(stored)

        return message

    @property
    def _authentications(self) -> Collection[AuthenticationService]:
        return self._records.authentications.values()

    def _stored(self, event: Event, passwords: Collection[str]) -> t.Any:
        """Return what tells who may see a record."""
        stored, record, service = event.stored, event.record, event.service

        if not self._is_shared:
            return stored

        if not isinstance(stored, dict):
            return without(record, passwords)

        # A hook may have left out more than what is hidden.
        shown = {getattr(service.target, "id", "id")}.union(_names(record))
        visible = service.visible(stored)
        hidden = {name: stored[name] for name in service.hidden_in_rule & stored.keys()}
        known = {name: visible[name] for name in visible if name in shown}
        return without({**known, **hidden}, passwords)


def _names(record: t.Any) -> Collection[str]:
    return record.keys() if isinstance(record, dict) else ()


def _token_of(record: t.Any) -> Record:
    """Return the part of the event of a login that tells which one it is."""
    login = record.get("authentication") if isinstance(record, dict) else None
    payload = (login or {}).get("payload") or {}
    return {"authentication": {"payload": {"jti": payload.get("jti")}}}
