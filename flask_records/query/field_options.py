"""The options of a service that concern its fields."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ..problems import Problem
from .computed_fields import ComputedField
from .converters import Converters


class Constraint(t.NamedTuple):
    """A rule of the database, as errors tell it."""

    fields: tuple[str, ...]
    """The names of the fields that the rule is about."""

    problem: Problem
    """A phrase that follows the names, such as ``must be positive``."""


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """Options of the fields of a model, for one kind of caller."""

    id: str | None = None
    """The name of the identifier field. The primary key by default."""

    hidden: Collection[str] = ()
    """Fields that do not exist for the caller. They can still be written."""

    readonly: Collection[str] = ()
    """Fields that a client can't write."""

    readonly_ignored: bool = False
    """``True`` to leave out what a client sends for fields that no client can write."""

    refused: Collection[str] = ()
    """Fields that rules keep this client from writing."""

    write_once: Collection[str] = ()
    """Fields that a client can write in create only."""

    listed: Collection[str] | None = None
    """The only fields that clients know of, besides the identifier. All by default."""

    exclude: Collection[str] = ()
    """Names of the model that are no fields at all."""

    client_ids: bool = False
    """``True`` if a client can write keys that the database counts up."""

    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    """Rules of the database, by their names there."""

    conditional: Collection[str] = ()
    """Fields that the caller sees or writes in some records only."""

    converters: Converters = field(default_factory=dict)
    """Conversions of the application, by type or by the name of a field."""

    computed: Mapping[str, ComputedField] = field(default_factory=dict)
    """Fields of answers that functions compute, by name."""

    def is_listed(self, name: str) -> bool:
        """Return ``True`` for a field that clients may know of."""
        return self.listed is None or name in self.listed or name == self.id

    def is_readonly(self, name: str) -> bool:
        """Return ``True`` for a field that clients can't write."""
        is_refused = name in self.readonly or name in self.refused
        return is_refused or not self.is_listed(name)

    def is_ignored(self, name: str) -> bool:
        """Return ``True`` for a field that is left out of a body that can't write it.
        Rules and guards say what a client did wrong.
        """
        is_ruled = name in self.refused or name in self.conditional
        return self.readonly_ignored and not is_ruled

    def restricted(
        self,
        hidden: Collection[str],
        refused: Collection[str],
        conditional: Collection[str],
    ) -> FieldOptions:
        """Return the options for clients that see and write fewer fields."""
        return replace(
            self,
            hidden=frozenset(self.hidden).union(hidden),
            refused=refused,
            conditional=conditional,
        )

    def for_application(self) -> FieldOptions:
        """Return the options for the application, which knows of all fields."""
        return replace(self, hidden=(), listed=None)

    def named(self, ids: Iterable[str]) -> Iterable[tuple[str, Iterable[str]]]:
        """Yield the options that name fields, with the names.

        :param ids: The name of the identifier field, unless it is made of several.
        """
        yield "id", ids
        yield "hidden", self.hidden
        yield "readonly", self.readonly
        yield "write_once", self.write_once
        yield "fields", self.listed or ()
        yield "converters", [key for key in self.converters if isinstance(key, str)]
        yield "constraints", [n for each in self.constraints.values() for n in each[0]]


def constraints_of(option: Mapping[str, t.Any]) -> dict[str, Constraint]:
    """Return the rules of an option.

    :raises TypeError: The option has another form.
    """
    if not isinstance(option, Mapping):
        raise TypeError(CONSTRAINTS_FORM.format(value=option))

    return {name: _constraint(value) for name, value in option.items()}


def _constraint(value: t.Any) -> Constraint:
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    names, problem = value if is_pair else (None, None)
    names = (names,) if isinstance(names, str) else names

    if not isinstance(names, (tuple, list)) or not isinstance(problem, str):
        raise TypeError(CONSTRAINTS_FORM.format(value=value))

    if not isinstance(problem, Problem):
        problem = Problem(problem, "constraint")

    return Constraint(tuple(names), problem)


CONSTRAINTS_FORM: t.Final = """\
'constraints' maps names of the database to a field, or a list of them, and a phrase: \
{{"ck_price_positive": ("price", "must be positive")}}, not {value!r}.\
"""

DEFAULTS: t.Final = FieldOptions()
"""The options of a service that names none."""
