"""The object of a service: its methods and its optional parts."""

from __future__ import annotations

import typing as t
from types import MappingProxyType

from ..names import METHODS
from ..query.rules import FieldRules, NO_RULES
from ..settings import names_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import sqlalchemy as sa
    from flask import Flask

    from ..context import Params
    from ..openapi.schemas import Schemas
    from ..problems import Problem
    from ..query import Matching, Scope

    BodyCheck: t.TypeAlias = Callable[[Mapping[str, t.Any]], dict[str, Problem]]

NO_MODEL: t.Final = "This service is not over a model, whose records it could count."


class Capabilities:
    """The optional parts of a service's object, with what holds for an object that has
    none of them. A class whose objects have more derives from this one; of other
    objects, :class:`PlainObject` reads those parts that the documentation names.
    """

    sends_events: bool = True
    """``False`` to send an event to clients only if a function publishes it."""

    public_by_default: Collection[str] = ()
    """The methods that need no token if the application names none."""

    model: type[t.Any] | None = None
    """The mapped class of the records, by which relationships find the service."""

    limits: Mapping[str, str] = MappingProxyType({})
    """The default limits of calls, by the names that follow the path of the service:
    methods, or names by which the object counts.
    """

    field_rules: FieldRules = NO_RULES
    """The rules for the fields that a user may see or write."""

    @property
    def id(self) -> str:
        """The name of the identifier field."""
        return "id"

    @property
    def hidden(self) -> frozenset[str]:
        """The fields that no client sees."""
        return frozenset()

    @property
    def relationships(self) -> frozenset[str]:
        """The fields that events leave out, since not every user may see their
        values.
        """
        return frozenset()

    def is_own(self, method: str) -> bool:
        """Return ``True`` if a method gives records of the model and no others."""
        return False

    def scope_for(self, params: Params | None) -> Scope | None:
        """Return the fields of a model that a caller may name, or that clients may, as
        far as no rule hides them.
        """
        return None

    def check(self, app: Flask, methods: Collection[str]) -> None:
        """Refuse options that can't work with an application and its database."""

    def begin(self, method: str) -> None:
        """Prepare for a call, in its transaction, before its hooks run, but for those
        at the beginning that are slow.
        """

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a call on many records before any of its hooks runs."""

    def body_check(self, method: str, params: Params) -> BodyCheck:
        """Return a function that returns the problems of the values in a client's body
        that no hook should meet.
        """
        return lambda body: {}

    def matching(self, records: Sequence[t.Any]) -> Matching | None:
        """Return what decides which records, stored or in JSON, meet a query."""
        return None

    def deciding_names(self, names: Collection[str]) -> frozenset[str]:
        """Return the names of the fields that conditions on names depend on."""
        return frozenset(names)

    def statement(self, params: Params) -> sa.Select[t.Any]:
        """Return the ``select`` of the records of a model that meet a query.

        :raises TypeError: There is no model.
        """
        raise TypeError(NO_MODEL)

    def count(self, params: Params) -> int:
        """Return the number of the records of a model that meet a query.

        :raises TypeError: There is no model.
        """
        raise TypeError(NO_MODEL)

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets, or what all clients
        do, as far as no rule hides it.
        """
        # They are needed for documents only.
        from ..openapi.schemas import ANYTHING

        return ANYTHING


class PlainObject(Capabilities):
    """The optional parts of any object: ``id``, ``hidden`` and ``schemas_for``.

    :param target: The object.
    """

    def __init__(self, target: t.Any) -> None:
        self._target = target
        hidden = getattr(target, "hidden", ())
        # A method of this name is a method of the service.
        self._hidden = frozenset(() if callable(hidden) else names_of("hidden", hidden))

    @property
    def id(self) -> str:
        """The name of the identifier field."""
        return t.cast(str, getattr(self._target, "id", "id"))

    @property
    def hidden(self) -> frozenset[str]:
        """The fields that no client sees."""
        return self._hidden

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of what a caller sends and gets."""
        own = getattr(self._target, "schemas_for", super().schemas_for)
        return t.cast("Schemas", own(params))


def capabilities_of(target: t.Any) -> Capabilities:
    """Return the optional parts of an object."""
    return target if isinstance(target, Capabilities) else PlainObject(target)


def refuse_class(path: str, target: t.Any) -> None:
    """Refuse a class in the place of an object.

    :param path: The path of the service.
    :raises TypeError: It is a class.
    """
    if isinstance(target, type):
        name, is_model = target.__name__, hasattr(target, "__mapper__")
        cure = f"SQLAlchemyService({name})" if is_model else f"{name}(...)"
        raise TypeError(
            f"The service '{path}' needs an object in place of the class {name}:"
            f" add('{path}', {cure})."
        )


def methods_of(path: str, target: t.Any, names: Collection[str]) -> tuple[str, ...]:
    """Return the names of the methods of an object that can be called, those of the six
    first.

    :param path: The path of the service.
    :param names: The methods that can be called. Those of the six that the object does
        not have are left out.
    :raises TypeError: There is none.
    :raises ValueError: The object does not have a method beyond the six.
    """
    custom = [name for name in names if name not in METHODS]
    own = [name for name in METHODS if _has(target, name)]
    check_methods("methods", path, [n for n in custom if not _has(target, n)], own)
    own = [name for name in own if name in names]

    if not own and not custom:
        raise TypeError(
            f"The service '{path}' has none of the methods {', '.join(METHODS)}."
        )

    return (*own, *custom)


def public_methods(
    path: str, public: bool | Collection[str], names: Collection[str]
) -> frozenset[str]:
    """Return the names of the methods that need no token.

    :param path: The path of the service.
    :param public: All, none, or those named.
    :param names: The names that it may have.
    :raises ValueError: There is no such method.
    """
    if isinstance(public, bool):
        return frozenset(names if public else ())

    named = names_of("public", public)
    check_methods("public", path, named, names)
    return frozenset(named)


def check_methods(
    option: str, path: str, names: Collection[str], methods: Collection[str]
) -> None:
    """Refuse names of an option that are not methods.

    :param option: The name of the option.
    :param path: The path of the service.
    :param methods: The names of the methods.
    :raises ValueError: There is one.
    """
    for name in names:
        if name not in methods:
            raise ValueError(
                f"'{option}' of '{path}' names '{name}', which is not a method. The"
                f" methods are: {', '.join(methods)}, and those of the object that"
                " 'methods' names."
            )


def _has(target: t.Any, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(target, name, None))
