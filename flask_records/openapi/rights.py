"""The services and methods that one caller may use."""

from __future__ import annotations

import typing as t
from copy import copy

from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from ..context import Params
    from ..service import Service


def usable_services(services: Iterable[Service], params: Params) -> Iterator[Service]:
    """Yield the services that a caller may use, each with the methods that need no
    login, or accept that of the caller. They are for descriptions, not for calls.

    :param params: The params of the caller, with its login.
    """
    for service in services:
        accepts = current_records.accepts(service, params)
        methods = [
            method for method in service.methods if accepts or method in service.public
        ]

        if methods:
            yield _with_methods(service, methods)


def _with_methods(service: Service, methods: Iterable[str]) -> Service:
    """Return a copy of a service that has some of its methods."""
    narrowed = copy(service)
    narrowed.methods = tuple(methods)
    names = frozenset(methods)
    narrowed.custom_methods = tuple(n for n in service.custom_methods if n in names)
    return narrowed
