"""The methods of services and their events, by name."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Method:
    """A method of services, as its callers know it."""

    name: str
    """Its name."""

    verb: str
    """The verb of its HTTP requests. See section 4.1 of the specification."""

    arguments: tuple[str, ...] = ()
    """Its arguments before the params: ``"id"`` and ``"data"``."""

    event: str | None = None
    """The event that it sends. See section 6.1 of the specification."""

    is_for_many: bool = False
    """``True`` if one call can write many records."""

    @cached_property
    def has_id(self) -> bool:
        """``True`` if it takes an identifier."""
        return "id" in self.arguments

    @cached_property
    def has_data(self) -> bool:
        """``True`` if it takes data, as the body of its requests."""
        return "data" in self.arguments

    @cached_property
    def changes_records(self) -> bool:
        """``True`` if it writes records that are there already."""
        return self.has_id and self.event is not None


CUSTOM: t.Final = Method("", "POST", ("data",))
"""The verb and the arguments that all custom methods have."""

METHODS_BY_NAME: t.Final = {
    method.name: method
    for method in (
        Method("find", "GET"),
        Method("get", "GET", ("id",)),
        Method("create", "POST", ("data",), "created", is_for_many=True),
        Method("update", "PUT", ("id", "data"), "updated"),
        Method("patch", "PATCH", ("id", "data"), "patched", is_for_many=True),
        Method("remove", "DELETE", ("id",), "removed", is_for_many=True),
    )
}
"""The six methods of a service."""

METHODS: t.Final = tuple(METHODS_BY_NAME)
"""The names of the six methods."""

READS: t.Final = tuple(n for n, each in METHODS_BY_NAME.items() if each.event is None)
"""The names of the methods that write nothing."""

BODIES: t.Final = tuple(n for n, each in METHODS_BY_NAME.items() if each.has_data)
"""The names of the methods with a body of their own."""

MANY: t.Final = tuple(n for n, each in METHODS_BY_NAME.items() if each.is_for_many)
"""The names of the methods that can write many records."""

EVENTS: t.Final = {
    name: each.event for name, each in METHODS_BY_NAME.items() if each.event is not None
}
"""The event that each method sends, by the name of the method."""


def method_named(name: str) -> Method:
    """Return a method, which may be a custom one."""
    return METHODS_BY_NAME.get(name, CUSTOM)
