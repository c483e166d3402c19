"""The events of services, as webhooks of OpenAPI."""

from __future__ import annotations

import typing as t

from .answers import JSON
from .events import events_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .rights import DescribedService

ABOUT: t.Final = (
    "Sent over Socket.IO to the clients that may see it, and not by HTTP: see the"
    " AsyncAPI document."
)


def webhooks_of(described: DescribedService) -> Iterator[tuple[str, dict[str, t.Any]]]:
    """Yield the events of a service that clients get, by name. OpenAPI has no other
    place for what a server sends by itself.
    """
    for event in events_of(described):
        content = {JSON: {"schema": event.record}}
        yield (
            event.name,
            {
                "post": {
                    "operationId": event.id,
                    "tags": [described.service.path],
                    "summary": event.summary,
                    "description": ABOUT,
                    "requestBody": {"required": True, "content": content},
                    "responses": {"default": {"description": "There is no answer."}},
                }
            },
        )
