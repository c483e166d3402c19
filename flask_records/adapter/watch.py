"""Events of what the application writes through the session by itself."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from flask import current_app, has_app_context
from sqlalchemy import orm

from ..context import HookContext, Params
from ..transaction import Conclusion, Transaction
from .host_commits import HostCommits
from .writing import is_written_by_service

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..service import Service
    from ..typing import Id

REMOVED: t.Final = "removed"

NOT_WATCHABLE: t.Final = """\
{target!r} can't be watched. Give a session, such as 'db.session', a model, or a list \
of models.\
"""

logger = logging.getLogger(__package__)

_told: WeakKeyDictionary[orm.SessionTransaction, set[tuple[Service, Id]]] = (
    WeakKeyDictionary()
)
"""The records whose events a transaction has sent, or that it has made and removed."""


class Change(t.NamedTuple):
    """A record that the application has written."""

    event: str
    """The name of the event."""

    service: Service
    """A service over its model."""

    id: Id
    """Its identifier."""

    record: t.Any
    """The record, and the record as it is stored, if it is removed."""


class Watch:
    """Sends the events of what forms, commands and jobs write through the ORM.

    :param services: The services, by path.
    :param models: The models to watch, or ``None`` for those of all services.
    """

    def __init__(
        self, services: Mapping[str, Service], models: tuple[type, ...] | None = None
    ) -> None:
        self._services = services
        self._models = models

    def listen(self, sessions: t.Any) -> None:
        """Listen to sessions.

        :param sessions: Any target of the events of a session.
        """
        sa.event.listen(sessions, "before_flush", self._before_flush)
        sa.event.listen(sessions, "after_flush", self._after_flush)

    def _before_flush(self, session: orm.Session, *args: t.Any) -> None:
        # They can't be read later.
        with session.no_autoflush:
            self._follow(
                session, list(self._changes(session, session.deleted, REMOVED))
            )

    def _after_flush(self, session: orm.Session, context: t.Any) -> None:
        changed = [each for each in session.dirty if _is_changed(session, each)]
        self._follow(
            session,
            [
                *self._changes(session, session.new, "created"),
                *self._changes(session, changed, "patched"),
            ],
        )

    def _changes(
        self, session: orm.Session, instances: Iterable[t.Any], event: str
    ) -> Iterator[Change]:
        if not self._is_served():
            return

        for instance in instances:
            if is_written_by_service(session, instance):
                continue

            for service in self._services_of(instance):
                id = _id_of(service, instance)
                record = _read(service, id) if event == REMOVED else None
                yield Change(event, service, id, record)

    def _is_served(self) -> bool:
        """Return ``True`` in an application that has the services."""
        records = current_app.extensions.get("records") if has_app_context() else None
        return records is not None and records.services is self._services

    def _services_of(self, instance: t.Any) -> Iterator[Service]:
        if self._models is not None and not isinstance(instance, self._models):
            return

        for service in self._services.values():
            model = service.capabilities.model

            if model is not None and isinstance(instance, model) and service.has_events:
                yield service

    def _follow(self, session: orm.Session, changes: list[Change]) -> None:
        if changes:
            root = t.cast("orm.SessionTransaction", session.get_transaction())
            told = _told.setdefault(root, set())
            conclusion = Conclusion({}, [lambda: _tell(changes, told)], {})
            HostCommits.of(session).add(session, conclusion)


def watch(services: Mapping[str, Service], target: t.Any) -> None:
    """Send the events of what the application writes.

    :param services: The services, by path.
    :param target: A session or its source, a model, or a list of models.
    :raises TypeError: It is none of these.
    """
    sources = (orm.scoped_session, orm.sessionmaker, orm.Session)

    if isinstance(target, sources):
        Watch(services).listen(target)
        return

    models = tuple(target) if isinstance(target, Iterable) else (target,)

    if not models or not all(isinstance(model, type) for model in models):
        raise TypeError(NOT_WATCHABLE.format(target=target))

    Watch(services, models).listen(orm.Session)


def _tell(changes: list[Change], told: set[tuple[Service, Id]]) -> None:
    """Send the events of changes that are committed, one for each record."""
    # Transports get the events of one commit together.
    with Transaction(writes=False):
        for event, service, id, record in changes:
            if (service, id) in told:
                continue

            record = record or _read(service, id)

            if record is not None:
                service.announce(event, *record)

            # A record that is removed by now was changed before: another event.
            if record is not None or event == "created":
                told.add((service, id))


def _is_changed(session: orm.Session, instance: t.Any) -> bool:
    # A collection belongs to the records at its other end.
    return session.is_modified(instance, include_collections=False)


def _id_of(service: Service, instance: t.Any) -> Id:
    """Return the identifier of an instance, as text if it has several parts."""
    find_fields = service.capabilities.fields_for
    fields = None if find_fields is None else find_fields(Params())

    if fields is None or fields.composite is None:
        return t.cast("Id", getattr(instance, service.capabilities.id))

    names = [part.name for part in fields.identifying]
    return fields.composite.text({name: getattr(instance, name) for name in names})


def _read(service: Service, id: Id) -> tuple[t.Any, t.Any] | None:
    """Return a record as the service shows it, and as it is stored, or ``None`` if the
    service does not show it.
    """
    context = HookContext(service, "get", Params(), id, keeps_stored=True)

    try:
        service.call(context)
    except Exception as error:
        logger.debug("'%s' has no event of %r: %s", service.path, id, error)
        return None

    return context.sent, context.stored
