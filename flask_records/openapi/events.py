"""The events of a service that clients may get."""

from __future__ import annotations

import typing as t

from ..signals import EVENTS
from .answers import reference

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..service import Service
    from ..service.schemas import Schema
    from ..service.schemas import Schemas

METHODS: t.Final = {event: method for method, event in EVENTS.items()}
"""The method that sends each event."""

SUMMARIES: t.Final = {
    "created": "A record was created",
    "updated": "A record was replaced",
    "patched": "A record was changed",
    "removed": "A record was removed",
}


class EventMessage(t.NamedTuple):
    """An event, as clients get it."""

    id: str
    """The name of the event in names of parts of a document."""

    name: str
    """The name that clients get it under."""

    summary: str
    """A line about it."""

    record: Schema
    """The data."""


def events_of(service: Service, schemas: Schemas, name: str) -> Iterator[EventMessage]:
    """Yield the events of a service that clients may get.

    :param schemas: The schemas of the caller.
    :param name: The name of the service in names of schemas.
    """
    for event in event_names(service, schemas):
        usual: Schema = {} if event not in METHODS else reference("schemas", name)
        yield EventMessage(
            id=f"{name}{event[0].upper()}{event[1:]}",
            name=f"{service.path} {event}",
            summary=SUMMARIES.get(event, f"The event {event}"),
            record=schemas.events.get(event, usual),
        )


def event_names(service: Service, schemas: Schemas) -> Iterator[str]:
    """Yield the names of the events of a service that clients may get.

    :param schemas: The schemas of the caller.
    """
    for event in (*METHODS, *service.custom_events):
        is_custom = event not in METHODS
        is_sent = METHODS.get(event) in service.methods or event in schemas.events
        is_published = service.sends_events or service.publishers.of(event) is not None

        if is_published and (is_custom or is_sent):
            yield event
