"""Names of fields that clients may not see, in the records of calls in Python."""

from __future__ import annotations

import dataclasses
import datetime as dt
import typing as t
import uuid
from copy import copy
from decimal import Decimal

from ..pagination import Page, without
from ..query.field_rules import FieldRules, NO_RULES

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..typing import Record

PLAIN: t.Final = frozenset(
    {str, int, float, bool, type(None), bytes, Decimal, uuid.UUID}
    | {dt.datetime, dt.date, dt.time, dt.timedelta}
)
"""The usual types of values that hold no records."""


NOBODY: t.Final = object()
"""Stands for a user who sees no hidden field."""


class HiddenName(str):
    """The name of a field that not every client may see. It equals the plain text, and
    is the key of the field in a record that a call in Python returns.

    Copies of a record, such as ``{**record}``, have the same names. A field that is
    set by its plain name, such as ``{"email": record["email"]}``, is not hidden.
    Pickle keeps the name, and forgets who may see the field.
    """

    __slots__ = ("rules", "user")

    rules: FieldRules | None
    """The rules for the field, or ``None`` if no client sees it."""

    user: t.Any
    """The user for whom the rules have shown the field already."""

    def __new__(
        cls, name: str, rules: FieldRules | None = None, user: t.Any = NOBODY
    ) -> t.Self:
        new = super().__new__(cls, name)
        new.rules, new.user = rules, user
        return new

    def __reduce__(self) -> tuple[t.Any, ...]:
        return HiddenName, (str(self),)

    def is_shown_to(self, user: t.Any) -> bool:
        """Return ``True`` if a user may see the field, whatever the record is."""
        if user is NOBODY:
            return False

        return self.user is user or (
            self.rules is not None and self.rules.shows(self, user)
        )


@dataclasses.dataclass(frozen=True)
class Marks:
    """Marks the fields of records that not every client may see."""

    hidden: Collection[str] = frozenset()
    """The names of the fields that no client sees."""

    rules: FieldRules = NO_RULES
    """The rules for other fields."""

    user: t.Any = NOBODY
    """The user to whom the rules have been applied already, if it is one."""

    def __bool__(self) -> bool:
        return bool(self.hidden or self.rules.visible)

    def mark(self, result: t.Any, sent: t.Any) -> t.Any:
        """Return the result of a call in Python with a :class:`HiddenName` for each
        field that not every client may see.

        :param result: A record, a list of records, a page, or anything else.
        :param sent: The same, as a client would see it: hooks may leave out fields, or
            give them other values.
        """
        if isinstance(result, Page):
            data = sent.data if isinstance(sent, Page) else None
            return dataclasses.replace(result, data=self.mark(result.data, data))

        if isinstance(result, list):
            is_same = isinstance(sent, list) and len(sent) == len(result)
            others = sent if is_same else result
            return [self.mark(*pair) for pair in zip(result, others, strict=True)]

        if not isinstance(result, dict):
            return result

        names = {name: HiddenName(name) for name in self.hidden if name in result}

        if isinstance(sent, dict) and sent is not result:
            differing = [name for name in result if _differs(result, sent, name)]
            names |= {name: HiddenName(name) for name in differing}

        for name in self.rules.visible:
            if name in result and name not in names:
                names[name] = HiddenName(name, self.rules, self.user)

        if not names:
            return result

        return {names.get(name, name): value for name, value in result.items()}


def without_hidden(value: t.Any, user: t.Any = NOBODY) -> t.Any:
    """Return a value without the fields that a user may not see, at any depth: in
    mappings, lists, tuples, pages and other dataclasses. A value without such fields is
    returned as it is.

    :param user: The user, ``None`` for an anonymous client, or nobody by default.
    """
    if type(value) in PLAIN:
        return value

    if isinstance(value, dict):
        return _mapping(value, user)

    if isinstance(value, (list, tuple)):
        return _sequence(value, user)

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, user)

    return value


@dataclasses.dataclass(frozen=True)
class EventParts:
    """Selects the parts of records that events have."""

    unsent: Collection[str]
    """The names of the fields that no event has."""

    rules: FieldRules
    """The rules for other fields, which differ by receiver."""

    def for_events(self, record: t.Any) -> t.Any:
        """Return a record as receivers in Python get it: the fields that not every
        client may see have names that remember it.
        """
        record = self.for_clients(record)
        return Marks(rules=self.rules).mark(record, record)

    def for_clients(self, value: t.Any) -> t.Any:
        """Return a record as it is sent to clients, each of which gets those fields of
        it that the rules show. In other records inside of it, there are none of these.
        """
        value = without(value, self.unsent)

        if self.rules.visible and isinstance(value, dict):
            value = {self._own(name): item for name, item in value.items()}

        return without_hidden(value)

    def _own(self, name: t.Any) -> t.Any:
        is_own = type(name) is HiddenName and name.rules is self.rules
        return str(name) if is_own else name


def _mapping(value: dict[t.Any, t.Any], user: t.Any) -> dict[t.Any, t.Any]:
    has_hidden = HiddenName in map(type, value)

    # Most records hold nothing that needs a closer look.
    if not has_hidden and PLAIN.issuperset(map(type, value.values())):
        return value

    shown = {
        (str(name) if type(name) is HiddenName else name): without_hidden(item, user)
        for name, item in value.items()
        if type(name) is not HiddenName or name.is_shown_to(user)
    }
    is_same = not has_hidden and are_same(shown.values(), value.values())
    return value if is_same else shown


def _sequence(value: t.Any, user: t.Any) -> t.Any:
    items = [without_hidden(item, user) for item in value]

    if are_same(items, value):
        return value

    if isinstance(value, list):
        return items

    # A named tuple takes its values apart.
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _dataclass(value: t.Any, user: t.Any) -> t.Any:
    changed: Record = {}

    for field in dataclasses.fields(value):
        item = getattr(value, field.name, None)
        shown = without_hidden(item, user)

        if shown is not item:
            changed[field.name] = shown

    if not changed:
        return value

    value = copy(value)

    for name, item in changed.items():
        # It may be frozen.
        object.__setattr__(value, name, item)

    return value


def are_same(values: t.Any, others: t.Any) -> bool:
    """Return ``True`` for the same objects in the same order."""
    return all([one is other for one, other in zip(values, others, strict=True)])


def _differs(result: Record, sent: Record, name: str) -> bool:
    """Return ``True`` if a client does not see a field, or sees another value."""
    if name not in sent:
        return True

    value, shown = result[name], sent[name]
    return value is not shown and value != shown
