"""Rules for the fields that a user may see or write."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .user_rules import condition_of, NO_RECORD, rule_of

if t.TYPE_CHECKING:
    from collections.abc import Hashable

    from ..typing import FieldFunction, FieldRule, Record


@dataclass(frozen=True)
class Permissions:
    """The fields that one user may see and write, as far as there are rules."""

    hidden: frozenset[str]
    """The fields that the user sees in no record."""

    shown_if: Mapping[str, Record]
    """The queries of the records in which the user sees a field, by the field."""

    readonly: frozenset[str]
    """The fields that the user writes to no record."""

    written_if: Mapping[str, Record]
    """The queries of the records to which the user writes a field, by the field."""

    @cached_property
    def key(self) -> Hashable:
        """The part that does not depend on the values in the queries."""
        return self.hidden, self.readonly, self.conditional

    @cached_property
    def conditional(self) -> frozenset[str]:
        """The fields that depend on the record."""
        return frozenset(self.shown_if) | frozenset(self.written_if)


@dataclass(frozen=True)
class FieldRules:
    """The rules of a service. Each is a function of the user, or of ``None``, that
    returns ``True`` for all records, a query for some, or ``False`` for none. ``None``
    is for none, too.
    """

    visible: Mapping[str, FieldFunction]
    """The rules for the fields that a user may see."""

    writable: Mapping[str, FieldFunction]
    """The rules for the fields that a user may write."""

    @classmethod
    def of_options(
        cls,
        visible: Mapping[str, FieldRule] | None,
        writable: Mapping[str, FieldRule] | None,
    ) -> t.Self:
        """Return the rules of options, each a function or a query.

        :raises TypeError: A rule is neither.
        """
        return cls(_functions("visible", visible), _functions("writable", writable))

    def __bool__(self) -> bool:
        return bool(self.visible or self.writable)

    def of(self, user: t.Any) -> Permissions:
        """Return what the rules say for a user. Each is called once.

        :param user: The user, or ``None``.
        :raises TypeError: A rule returns something else.
        """
        hidden, shown_if = _split("visible", self.visible, user)
        readonly, written_if = _split("writable", self.writable, user)
        return Permissions(hidden, shown_if, readonly, written_if)

    def shows(self, name: str, user: t.Any) -> bool:
        """Return ``True`` if a user sees a field in all records.

        :param name: The name of a field with a rule.
        """
        return _condition("visible", name, self.visible[name](user)) is None


NO_RULES: t.Final = FieldRules({}, {})
"""The rules of a service that has none."""


def _functions(
    option: str, rules: Mapping[str, FieldRule] | None
) -> Mapping[str, FieldFunction]:
    return {
        name: rule_of(rule, f"The rule of '{name}' in '{option}'")
        for name, rule in (rules or {}).items()
    }


def _split(
    option: str, rules: Mapping[str, FieldFunction], user: t.Any
) -> tuple[frozenset[str], Mapping[str, Record]]:
    """Return the fields that are refused to a user, and the queries of others."""
    conditions = {n: _condition(option, n, rule(user)) for n, rule in rules.items()}
    refused = frozenset([n for n, each in conditions.items() if each is NO_RECORD])
    queries = {n: each for n, each in conditions.items() if each is not None}
    return refused, {n: each for n, each in queries.items() if each is not NO_RECORD}


def _condition(option: str, name: str, answer: t.Any) -> Record | None:
    return condition_of(answer, f"The rule of '{name}' in '{option}'")
