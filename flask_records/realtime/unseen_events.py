"""Services whose events reach no client."""

from __future__ import annotations

import logging
import typing as t

from ..signals import EVENTS

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..service import Service

logger = logging.getLogger(__package__)

UNSEEN: t.Final = (
    "No client gets events of '%s': only its 'get' could tell which records meet"
    " 'readable', and it has none. Add 'get' to its object and to 'methods', or leave"
    " 'readable' out and publish events to channels."
)


def warn_about_services(services: Iterable[Service]) -> None:
    """Log a warning for each service whose rule nothing can apply to its events."""
    for service in services:
        if _has_events(service) and not _can_apply_rule(service):
            logger.warning(UNSEEN, service.path)


def _has_events(service: Service) -> bool:
    is_written = not EVENTS.keys().isdisjoint(service.methods)
    return service.sends_events and (is_written or bool(service.custom_events))


def _can_apply_rule(service: Service) -> bool:
    has_matching = service.capabilities.matching is not None
    return service.readable is None or has_matching or "get" in service.methods
