"""The events of a service that clients may get."""

from __future__ import annotations

import typing as t

from .answers import reference
from .calls import name_of
from .rights import METHODS

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..service.schemas import Schema
    from .rights import DescribedService

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


def events_of(described: DescribedService) -> Iterator[EventMessage]:
    """Yield the events of a service that clients get."""
    service, schemas, events = described
    name = name_of(service)

    for event in events:
        usual: Schema = {} if event not in METHODS else reference("schemas", name)
        yield EventMessage(
            id=f"{name}{event[0].upper()}{event[1:]}",
            name=f"{service.path} {event}",
            summary=SUMMARIES.get(event, f"The event {event}"),
            record=schemas.events.get(event, usual),
        )
