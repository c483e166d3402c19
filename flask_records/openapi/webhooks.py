"""The events of services, as webhooks of OpenAPI."""

from __future__ import annotations

import typing as t

from .answers import JSON
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

ABOUT: t.Final = "Sent over Socket.IO to the clients that may see it, and not by HTTP."


def webhooks_of(described: DescribedService) -> Iterator[tuple[str, dict[str, t.Any]]]:
    """Yield the events of a service that clients get, by name. OpenAPI has no other
    place for what a server sends by itself.
    """
    service, schemas, events = described
    name = name_of(service)

    for event in events:
        usual: Schema = {} if event not in METHODS else reference("schemas", name)
        content = {JSON: {"schema": schemas.events.get(event, usual)}}
        yield (
            f"{service.path} {event}",
            {
                "post": {
                    "operationId": f"{name}{event[0].upper()}{event[1:]}",
                    "tags": [service.path],
                    "summary": SUMMARIES.get(event, f"The event {event}"),
                    "description": ABOUT,
                    "requestBody": {"required": True, "content": content},
                    "responses": {"default": {"description": "There is no answer."}},
                }
            },
        )
