"""The optional parts of a service's object."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from dataclasses import fields

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Sequence

    from ..context import Params
    from ..query import Fields
    from ..query import Matching


class Target(t.Protocol):
    """Everything that the object of a service may have besides its methods. All of it
    is optional: :class:`Capabilities` has the defaults.
    """

    id: str
    """The name of the identifier field."""

    hidden: Collection[str]
    """The fields that no client sees."""

    relationships: Collection[str]
    """The fields that events leave out, because what a caller sees in them another
    user may not see.
    """

    events: Collection[str]
    """The names of the custom events."""

    sends_events: bool
    """``False`` to send an event to clients only if a function publishes it."""

    model: type[t.Any]
    """The mapped class, by which relationships find the service."""

    def begin(self, method: str) -> None:
        """Prepare for a call before any of its hooks runs, inside of its transaction.

        :param method: The name of the method.
        """

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a call on many records before any of its hooks runs.

        :param method: The name of the method.
        :param number: The number of records.
        """

    def fields_for(self, params: Params) -> Fields:
        """Return the fields that a caller knows of."""

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return what decides which of some records meet a query.

        :param records: The records as they are stored, or as they are in JSON.
        """


MISSING: t.Final = object()
"""Stands for a part that an object does not have."""


def _do_nothing(*arguments: t.Any) -> None:
    """Stand in for a step that an object does not take."""


@dataclass(frozen=True)
class Capabilities:
    """The optional parts of a service's object, as :class:`Target` describes them,
    read once when the service is added.
    """

    id: str = "id"
    hidden: frozenset[str] = frozenset()
    relationships: frozenset[str] = frozenset()
    events: tuple[str, ...] = ()
    sends_events: bool = True
    model: type[t.Any] | None = None
    begin: Callable[[str], None] = _do_nothing
    check_multi: Callable[[str, Params, int], None] = _do_nothing
    fields_for: Callable[[Params], Fields] | None = None
    matching: Callable[[Sequence[t.Any]], Matching] | None = None

    @classmethod
    def of(cls, target: t.Any) -> t.Self:
        """Return the capabilities of an object.

        :param target: The object of a service.
        """
        parts = {field.name: _part(target, field.name) for field in fields(cls)}
        values = {name: part for name, part in parts.items() if part is not MISSING}

        # A method of this name is a method of the service.
        if callable(values.get("hidden")):
            del values["hidden"]

        for name, type_ in COLLECTIONS.items():
            if name in values:
                values[name] = type_(values[name])

        return cls(**values)


COLLECTIONS: t.Final = {
    "hidden": frozenset,
    "relationships": frozenset,
    "events": tuple,
}
"""The types of the capabilities that an object may give as any collection."""


def _part(target: t.Any, name: str) -> t.Any:
    try:
        return getattr(target, name, MISSING)
    except RuntimeError:
        # A property that needs an application is not known when a service is added.
        return MISSING
