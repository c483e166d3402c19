"""The connections whose users may see a record, found without asking each of them."""

from __future__ import annotations

import enum
import typing as t
from collections.abc import Mapping

from ..query.user_rules import AllOf, Constant, Owned
from ..query.value_keys import UNKNOWN

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..query import Field, Matching, UserRule
    from ..query.user_rules import Term
    from ..service.rights import Condition, Rights
    from .connection import Connection
    from .connections import Connections


class Extent(enum.Enum):
    """Answers that name no connections."""

    ALL = enum.auto()
    """All connections, except that the rule may fail for those that are undecided."""

    UNDECIDED = enum.auto()
    """Each connection has to be asked."""


Found: t.TypeAlias = Mapping["Connection", None] | Extent
"""An extent, or the only connections that may meet a rule."""


class Owners:
    """Finds the connections that rules with :class:`.FromUser` let see the records of
    events. Their rules have to confirm it.

    :param rights: The rights to the records.
    """

    def __init__(self, rights: Rights, connections: Connections) -> None:
        self._rights = rights
        self._matching = rights.matching
        self._connections = connections
        self._constants: dict[int, Condition] = {}
        self._checked: set[UserRule] = set()

    def of(self, rule: UserRule, index: int) -> Found:
        """Return the connections whose users may meet a rule.

        :param index: The index of the record.
        """
        if self._matching is None:
            return Extent.UNDECIDED

        try:
            self._check(rule, self._matching)
            return self._of(rule.term, index)
        except Exception:
            # The rule fails for each user, too, and tells why.
            return Extent.UNDECIDED

    def undecided(self, rule: UserRule) -> Mapping[Connection, None]:
        """Return the connections that have to be asked, whatever the record."""
        undecided: dict[Connection, None] = {}

        for owned in rule.owned:
            field = self._field(owned)

            if field is not None:
                undecided |= self._connections.undecided(field, owned.value)

        return undecided

    def _check(self, rule: UserRule, matching: Matching) -> None:
        """Refuse a rule that is not understood."""
        if rule not in self._checked:
            matching.test(rule(None))
            self._checked.add(rule)

    def _of(self, term: Term, index: int) -> Found:
        if isinstance(term, Constant):
            return Extent.ALL if self._constant(term)(index) else {}

        if isinstance(term, Owned):
            return self._owners(term, index)

        parts = [self._of(each, index) for each in term.terms]
        return _all_of(parts) if isinstance(term, AllOf) else _any_of(parts)

    def _constant(self, term: Constant) -> Callable[[int], bool]:
        condition = self._constants.get(id(term))

        if condition is None:
            condition = self._rights.condition("readable", term.query)
            self._constants[id(term)] = condition

        return condition

    def _owners(self, term: Owned, index: int) -> Found:
        matching, field = self._matching, self._field(term)
        key = matching.key(field, index) if matching and field else UNKNOWN

        if field is None or key is UNKNOWN:
            return Extent.UNDECIDED

        return self._connections.owners(field, term.value, key)

    def _field(self, owned: Owned) -> Field | None:
        return self._matching.field(owned.field) if self._matching else None


def _all_of(parts: Sequence[Found]) -> Found:
    """Return the connections that may be in all parts."""
    some = [part for part in parts if not isinstance(part, Extent)]

    if some:
        return min(some, key=len)

    return Extent.UNDECIDED if Extent.UNDECIDED in parts else Extent.ALL


def _any_of(parts: Sequence[Found]) -> Found:
    """Return the connections that may be in one of the parts."""
    for extent in (Extent.ALL, Extent.UNDECIDED):
        if extent in parts:
            return extent

    found: dict[Connection, None] = {}

    for part in parts:
        found.update(t.cast("Mapping[Connection, None]", part))

    return found
