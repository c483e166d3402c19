"""Events in the form in which workers hand them to each other."""

from __future__ import annotations

import json
import typing as t

from ..http.formatter import dumps

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..signals import Event
    from ..typing import Record


def message_of(event: Event, channels: Collection[str]) -> Record:
    """Return the message of an event, which holds nothing but JSON: ``service``,
    ``event``, ``record`` and ``channels``, and ``stored`` if there is more to decide by
    than what is sent.

    :param event: The event.
    :param channels: The channels that it is published to.
    :raises TypeError: The record has no form in JSON.
    """
    text = dumps(event.record)
    message = {
        "service": event.service.path,
        "event": event.name,
        "record": json.loads(text),
        "channels": sorted(channels),
    }

    if event.service.readable is not None and event.stored is not event.record:
        stored = dumps(event.stored)

        if stored != text:
            message["stored"] = json.loads(stored)

    return message
