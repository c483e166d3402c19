"""The object of a service: its methods, and the optional parts of its behaviour."""

from __future__ import annotations

import typing as t
from functools import cached_property
from types import MappingProxyType

from ..names import METHODS
from ..query.rules import FieldRules, FromRecord, NO_RULES, placeholders
from ..settings import names_of
from .schemas import ANYTHING, Schemas

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from flask import Flask

    from ..problems import Problem
    from ..query import Matching, Scope
    from ..typing import Record
    from .context import Params

    BodyCheck: t.TypeAlias = Callable[[Mapping[str, t.Any]], dict[str, Problem]]


class Capabilities:
    """The optional parts of a service's object, as an object has them by default."""

    sends_events: bool = True
    """``False`` to send an event to clients only if a function publishes it."""

    public_by_default: Collection[str] = ()
    """The methods that need no token if the application names none."""

    model: type[t.Any] | None = None
    """The mapped class of the records, by which relationships find the service."""

    limits: Mapping[str, str] = MappingProxyType({})
    """The default limits of calls, by what follows the path of the service."""

    is_read_only: bool = False
    """``True`` if its own methods can't write."""

    is_personal: bool = False
    """``True`` if each record is of one user, so that ``readable`` has to name it."""

    field_rules: FieldRules = NO_RULES
    """The rules for the fields that a user may see or write."""

    @cached_property
    def id(self) -> str:
        """The name of the identifier field."""
        return "id"

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The fields that no client sees."""
        return frozenset()

    @cached_property
    def relationships(self) -> frozenset[str]:
        """The fields that events leave out: not every user may see their values."""
        return frozenset()

    def ping(self, places: set[Hashable]) -> None:
        """Read from its database, and add that to the places that have answered."""

    def is_own(self, method: str) -> bool:
        """Return ``True`` if a method gives records of the model and no others."""
        return False

    def scope_for(self, params: Params | None) -> Scope | None:
        """Return the fields of a model that a caller may name, if it has a model."""
        return None

    def check(self, app: Flask, methods: Collection[str]) -> None:
        """Refuse options that can't work with an application and its database."""

    def check_rule(self, query: Record) -> None:
        """Refuse a rule, as a query without a user, that does not fit the fields.

        :raises BadRequest: A part of the query is not understood.
        :raises ValueError: The service can't compare fields.
        """
        if any(placeholders(query, FromRecord)):
            raise ValueError(
                "A rule has FromRecord, which is for services over models."
            )

    def begin(self, *, writes: bool) -> None:
        """Prepare for a call, in its transaction, before its hooks but for slow ones.

        :param writes: ``False`` if it reads, or runs no code of the application.
        """

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a call on many records before any of its hooks runs."""

    def body_check(self, method: str, params: Params) -> BodyCheck:
        """Return a function that returns the problems of a client's body."""
        return lambda body: {}

    def decides(
        self,
        method: str,
        data_names: Collection[str],
        client_names: Collection[str],
        names: Collection[str],
    ) -> bool:
        """Return ``True`` if an update or a patch of some names, some of them from a
        client, may decide whether a record meets a condition on names.
        """
        is_known = method == "patch" and names
        return not is_known or not frozenset(names).isdisjoint(data_names)

    def are_met(self, records: Sequence[t.Any], condition: Record) -> bool | None:
        """Return whether written records meet a condition, ``None`` to ask ``get``."""
        return None

    def matching(self) -> Matching | None:
        """Return what decides which records, stored or in JSON, meet a query."""
        return None

    def deciding_names(self, names: Collection[str]) -> frozenset[str]:
        """Return the names of the fields that conditions on names depend on."""
        return frozenset(names)

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas for a caller, or for all clients together."""
        return ANYTHING


def capabilities_of(target: t.Any) -> Capabilities:
    """Return the optional parts of an object. One of any class has ``id``, ``hidden``
    and ``schemas_for``.
    """
    if isinstance(target, Capabilities):
        return target

    parts, hidden = Capabilities(), getattr(target, "hidden", ())
    # A method of this name is a method of the service.
    names = () if callable(hidden) else names_of("hidden", hidden)
    own = {n: getattr(target, n) for n in ("id", "schemas_for") if hasattr(target, n)}
    vars(parts).update(own, hidden=frozenset(names))
    return parts


def methods_of(path: str, target: t.Any, names: Collection[str]) -> tuple[str, ...]:
    """Return the methods of an object that can be called: of the six, then others."""
    if isinstance(target, type):
        name, is_model = target.__name__, hasattr(target, "__mapper__")
        cure = f"SQLAlchemyService({name})" if is_model else f"{name}(...)"
        raise TypeError(
            f"The service '{path}' needs an object in place of the class {name}:"
            f" add('{path}', {cure})."
        )

    custom = [name for name in names if name not in METHODS]
    own = [name for name in METHODS if _has(target, name)]
    check_methods("methods", path, [n for n in custom if not _has(target, n)], own)
    own = [name for name in own if name in names]

    if not own and not custom:
        raise TypeError(
            f"The service '{path}' has none of the methods {', '.join(METHODS)}."
        )

    return (*own, *custom)


def check_methods(
    option: str, path: str, names: Collection[str], methods: Collection[str]
) -> None:
    """Refuse names of an option that are not methods."""
    for name in names:
        if name not in methods:
            raise ValueError(
                f"'{option}' of '{path}' names '{name}', which is not a method. The"
                f" methods are: {', '.join(methods)}, and methods of the object that"
                " 'methods' names."
            )


def _has(target: t.Any, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(target, name, None))
