"""The optional parts of a service's object."""

from __future__ import annotations

import typing as t
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import fields

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Sequence

    from flask import Flask

    from ..context import Params
    from ..query import Fields
    from ..query import Matching


class Target(t.Protocol):
    """The optional parts of a service's object. :class:`Capabilities` has defaults."""

    id: str
    """The name of the identifier field."""

    hidden: Collection[str]
    """The fields that no client sees."""

    relationships: Collection[str]
    """The fields that events leave out, since not every user may see their values."""

    events: Collection[str]
    """The names of the custom events."""

    sends_events: bool
    """``False`` to send an event to clients only if a function publishes it."""

    model: type[t.Any]
    """The mapped class, by which relationships find the service."""

    own_methods: Collection[Callable[..., t.Any]]
    """The functions of the class that return records of the model and no others."""

    def begin(self, method: str) -> None:
        """Prepare for a call, in its transaction, before any of its hooks runs."""

    def begin_later(self, method: str) -> None:
        """Do so when the call first needs it, since one of its hooks is slow. What
        :meth:`begin` does, by default.
        """

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a call on many records before any of its hooks runs."""

    def fields_for(self, params: Params) -> Fields:
        """Return the fields that a caller knows of."""

    def check(self, app: Flask, methods: Collection[str]) -> None:
        """Refuse options that can't work with an application and its database."""

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return what decides which records, stored or in JSON, meet a query."""


COLLECTIONS = {
    "hidden": frozenset,
    "relationships": frozenset,
    "own_methods": frozenset,
}
"""The types of the capabilities that an object may give as any collection."""


def _do_nothing(*arguments: t.Any) -> None:
    """Stand in for a step that an object does not take."""


@dataclass(frozen=True)
class Capabilities:
    """The parts of a :class:`Target`, read once: when an application is set up, or at
    the first use, but for the events.
    """

    id: str = "id"
    hidden: frozenset[str] = frozenset()
    relationships: frozenset[str] = frozenset()
    sends_events: bool = True
    model: type[t.Any] | None = None
    own_methods: frozenset[Callable[..., t.Any]] = frozenset()
    begin: Callable[[str], None] = _do_nothing
    begin_later: Callable[[str], None] = _do_nothing
    check: Callable[[Flask, Collection[str]], None] = _do_nothing
    check_multi: Callable[[str, Params, int], None] = _do_nothing
    fields_for: Callable[[Params], Fields] | None = None
    matching: Callable[[Sequence[t.Any]], Matching] | None = None

    @classmethod
    def of(cls, target: t.Any) -> t.Self:
        """Return the capabilities of an object."""
        values: dict[str, t.Any] = {}

        for field in fields(cls):
            # A property that needs an application is not known yet.
            with suppress(AttributeError, RuntimeError):
                values[field.name] = getattr(target, field.name)

        values.setdefault("begin_later", values.get("begin", _do_nothing))

        # A method of this name is a method of the service.
        if callable(values.get("hidden")):
            del values["hidden"]

        for name, type_ in COLLECTIONS.items():
            if name in values:
                values[name] = type_(values[name])

        return cls(**values)
