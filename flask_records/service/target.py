"""The optional parts of a service's object."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from types import FunctionType

from ..names import names_of
from ..query.field_rules import FieldRules, NO_RULES
from ..signals import METHODS
from .schemas import ANYTHING

if t.TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from flask import Flask

    from ..context import Params
    from ..query import Fields, Matching
    from ..typing import Record
    from ..validation import Beside
    from .schemas import Schemas
    from .service import Service


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

    computed_fields: Collection[str]
    """The fields that functions of the application compute, of any values."""

    text_fields: Collection[str]
    """The fields whose integers clients get as text."""

    sends_events: bool
    """``False`` to send an event to clients only if a function publishes it."""

    model: type[t.Any]
    """The mapped class, by which relationships find the service."""

    field_rules: FieldRules
    """The rules for the fields that a user may see or write."""

    own_methods: Collection[Callable[..., t.Any]]
    """The functions of the class that return records of the model and no others."""

    def begin(self, method: str) -> None:
        """Prepare for a call, in its transaction, before its hooks run, but
        for those at the beginning that are slow.
        """

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a call on many records before any of its hooks runs."""

    def fields_for(self, params: Params) -> Fields:
        """Return the fields that a caller knows of."""

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets, or what all clients
        do, as far as no rule hides it.
        """

    schemas: Mapping[str, t.Any]
    """The classes that calls are checked by, by method."""

    def beside_schema(
        self, method: str, body: Record, params: Params, *, is_many: bool
    ) -> Beside:
        """Return the fate of values of a client whose names a schema does not have."""

    client_fields: Fields
    """The fields that clients know of, as far as no rule hides them."""

    def check(self, app: Flask, methods: Collection[str]) -> None:
        """Refuse options that can't work with an application and its database."""

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return what decides which records, stored or in JSON, meet a query."""

    def relations_of(
        self, records: Sequence[Record], names: Sequence[str], params: Params
    ) -> list[Record]:
        """Return relationships of records in JSON, as far as a caller sees them."""

    def services_of(self, names: Sequence[str]) -> list[Service]:
        """Return the services that show relationships."""


def refuse_class(path: str, target: t.Any) -> None:
    """Refuse a class in the place of an object of it, and a model.

    :param path: The path of the service.
    :raises TypeError: The object is one of these.
    """
    class_ = target if isinstance(target, type) else type(target)
    name = class_.__name__
    methods = [vars(base).get(each) for base in class_.__mro__ for each in METHODS]
    cure = None

    if isinstance(target, type) and any(isinstance(m, FunctionType) for m in methods):
        cure = f"{name}(...)"
    elif not any(methods) and hasattr(class_, "__mapper__"):
        cure = f"SQLAlchemyService({name})"

    if cure is not None:
        raise TypeError(
            f"The service '{path}' needs an object with one or more of the methods"
            f" {', '.join(METHODS)}: add('{path}', {cure})."
        )


SETS: t.Final[Mapping[str, Callable[[t.Any], Iterable[t.Any]]]] = {
    "hidden": partial(names_of, "hidden"),
    "relationships": partial(names_of, "relationships"),
    "computed_fields": partial(names_of, "computed_fields"),
    "text_fields": partial(names_of, "text_fields"),
    "own_methods": iter,
}
"""The capabilities that are sets, and readers of what an object gives."""


def _do_nothing(*arguments: t.Any) -> None:
    """Stand in for a step that an object does not take."""


def _no_schemas(params: Params | None) -> Schemas:
    """Stand in for the schemas of an object that has none."""
    return ANYTHING


def _no_services(names: Sequence[str]) -> list[Service]:
    """Stand in for the services of an object that has no relationships."""
    return []


@dataclass(frozen=True)
class Capabilities:
    """The parts of a :class:`Target`, read once: when an application is set up, or at
    the first use, but for the events.
    """

    id: str = "id"
    hidden: frozenset[str] = frozenset()
    relationships: frozenset[str] = frozenset()
    computed_fields: frozenset[str] = frozenset()
    text_fields: frozenset[str] = frozenset()
    sends_events: bool = True
    model: type[t.Any] | None = None
    own_methods: frozenset[Callable[..., t.Any]] = frozenset()
    field_rules: FieldRules = NO_RULES
    begin: Callable[[str], None] = _do_nothing
    check: Callable[[Flask, Collection[str]], None] = _do_nothing
    check_multi: Callable[[str, Params, int], None] = _do_nothing
    fields_for: Callable[[Params], Fields] | None = None
    schemas_for: Callable[[Params | None], Schemas] = _no_schemas
    beside_schema: Callable[..., Beside] | None = None
    client_fields: Fields | None = None
    matching: Callable[[Sequence[t.Any]], Matching] | None = None
    relations_of: (
        Callable[[Sequence[Record], Sequence[str], Params], list[Record]] | None
    ) = None
    services_of: Callable[[Sequence[str]], list[Service]] = _no_services

    @classmethod
    def of(cls, target: t.Any) -> t.Self:
        """Return the capabilities of an object."""
        values: dict[str, t.Any] = {}

        for field in fields(cls):
            # A property that needs an application is not known yet.
            with suppress(AttributeError, RuntimeError):
                values[field.name] = getattr(target, field.name)

        # A method of this name is a method of the service.
        if callable(values.get("hidden")):
            del values["hidden"]

        for name, read in SETS.items():
            if name in values:
                values[name] = frozenset(read(values[name]))

        return cls(**values)
