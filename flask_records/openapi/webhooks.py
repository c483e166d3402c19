"""The events of services, as webhooks of OpenAPI."""

from __future__ import annotations

import typing as t

from .answers import JSON
from .calls import name_of
from .events import events_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..service import Service
    from ..service.schemas import Schemas

ABOUT: t.Final = (
    "Sent over Socket.IO to the clients that may see it, and not by HTTP: see the"
    " AsyncAPI document."
)


def webhooks_of(
    service: Service, schemas: Schemas
) -> Iterator[tuple[str, dict[str, t.Any]]]:
    """Yield the events of a service that clients may get, by name. OpenAPI has no other
    place for what a server sends by itself.

    :param schemas: The schemas of the caller.
    """
    for event in events_of(service, schemas, name_of(service)):
        content = {JSON: {"schema": event.record}}
        yield (
            event.name,
            {
                "post": {
                    "operationId": event.id,
                    "tags": [service.path],
                    "summary": event.summary,
                    "description": ABOUT,
                    "requestBody": {"required": True, "content": content},
                    "responses": {"default": {"description": "There is no answer."}},
                }
            },
        )
