"""Events of what the application writes through the session by itself."""

from __future__ import annotations

import logging
import typing as t
from functools import partial
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from ..database.commit_followers import follow_commit
from ..database.database import is_written_by_service
from ..service.context import HookContext, Params
from ..service.globals import current_extensions

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..service import Service
    from ..typing import Id

    Key: t.TypeAlias = tuple[Service, Id, bool]
    """A record, and ``True`` if it was removed. Another one may take its place."""

REMOVED: t.Final = "removed"

logger = logging.getLogger(__package__)

_keys: WeakKeyDictionary[orm.SessionTransaction, set[Key]] = WeakKeyDictionary()
"""The records whose events a transaction has sent, or that it has made and removed."""


class SessionEvents:
    """Sends the events of what forms, commands and jobs write through the ORM.

    :param services: The services, by path.
    :param session: A session or its source.
    """

    def __init__(self, services: Mapping[str, Service], session: t.Any) -> None:
        self._services = services
        sa.event.listen(session, "before_flush", self._before_flush)
        sa.event.listen(session, "after_flush", self._after_flush)

    def _before_flush(self, session: orm.Session, *args: t.Any) -> None:
        # Deleted records can't be read later.
        with session.no_autoflush:
            self._follow(session, REMOVED, session.deleted)

    def _after_flush(self, session: orm.Session, context: t.Any) -> None:
        # A collection belongs to the records at its other end.
        patched = [
            instance
            for instance in session.dirty
            if session.is_modified(instance, include_collections=False)
        ]
        self._follow(session, "created", session.new)
        self._follow(session, "patched", patched)

    def _follow(
        self, session: orm.Session, event: str, instances: Iterable[t.Any]
    ) -> None:
        """Let the events of instances follow the commit."""
        root = t.cast("orm.SessionTransaction", session.get_transaction())

        for instance in instances:
            if is_written_by_service(session, instance):
                continue

            for service in self._services_of(instance):
                id = _identifier(service, instance)
                record = _read(service, id) if event == REMOVED else None
                keys = _keys.setdefault(root, set())
                follower = partial(_tell, event, service, id, record, keys)
                follow_commit(session, follower)

    def _services_of(self, instance: t.Any) -> list[Service]:
        """Return the services over the model of an instance that have events, in an
        application that has these services.
        """
        records = current_extensions().get("records")

        if records is None or records.services is not self._services:
            return []

        return [
            service
            for service in self._services.values()
            if isinstance(instance, service.capabilities.model or ())
            and service.has_events
        ]


def _tell(event: str, service: Service, id: Id, record: t.Any, keys: set[Key]) -> None:
    """Send an event that is committed, unless its record has had one."""
    key = service, id, event == REMOVED

    if key in keys or (service, id, False) in keys:
        return

    record = record or _read(service, id)

    if record is not None:
        service.emit(event, record)

    # A record that is removed by now was changed before: another event.
    if record is not None or event == "created":
        keys.add(key)


def _identifier(service: Service, instance: t.Any) -> Id:
    """Return the identifier of an instance, as calls in Python take it."""
    scope, name = service.capabilities.scope_for(None), service.capabilities.id
    parts = [name] if scope is None else [f.name for f in scope.fields.identifying]
    values = tuple([getattr(instance, name) for name in parts])
    return values if len(values) > 1 else values[0]


def _read(service: Service, id: Id) -> t.Any:
    """Return a record as the service shows it, or ``None`` if it does not."""
    context = HookContext(service, "get", Params(), id)

    try:
        service.call(context)
    except Exception as error:
        logger.debug("'%s' has no event of %r: %s", service.path, id, error)
        return None

    return context.sent
