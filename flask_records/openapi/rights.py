"""The services, methods and events that one caller may use."""

from __future__ import annotations

import typing as t
from copy import copy

from ..globals import current_records
from ..signals import EVENTS
from ..signals import READS

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from ..context import Params
    from ..service import Service
    from ..service.schemas import Schemas

METHODS: t.Final = {event: method for method, event in EVENTS.items()}
"""The method that sends each event."""


class DescribedService(t.NamedTuple):
    """A service, as a description shows it to one caller."""

    service: Service
    """The service with the methods of the description, not for calls."""

    schemas: Schemas
    """The schemas of the caller."""

    events: tuple[str, ...]
    """The names of the events that clients get."""


def services_for(params: Params, *, only_usable: bool) -> Iterator[DescribedService]:
    """Yield the services that a description for a caller names.

    :param params: The params of the caller, with its login.
    :param only_usable: Leave out the methods that need a login which the caller does
        not have, the events of services that the caller may not read, and services
        without any method left.
    """
    for service in current_records.services.values():
        schemas = service.capabilities.schemas_for(params)
        events = tuple(_event_names(service, schemas))

        if not only_usable:
            yield DescribedService(service, schemas, events)
            continue

        accepts = current_records.accepts(service, params)
        methods = [
            method for method in service.methods if accepts or method in service.public
        ]
        # Others make changes that the caller may not make.
        gets_events = accepts or not service.public.isdisjoint(READS)

        if methods:
            narrowed = _with_methods(service, methods)
            yield DescribedService(narrowed, schemas, events if gets_events else ())


def _with_methods(service: Service, methods: Iterable[str]) -> Service:
    """Return a copy of a service that has some of its methods."""
    narrowed = copy(service)
    narrowed.methods = tuple(methods)
    names = frozenset(methods)
    narrowed.custom_methods = tuple(n for n in service.custom_methods if n in names)
    return narrowed


def _event_names(service: Service, schemas: Schemas) -> Iterator[str]:
    """Yield the names of the events of a service that clients may get."""
    for event in (*METHODS, *service.custom_events):
        is_custom = event not in METHODS
        is_sent = METHODS.get(event) in service.methods or event in schemas.events
        is_published = service.sends_events or service.publishers.of(event) is not None

        if is_published and (is_custom or is_sent):
            yield event
