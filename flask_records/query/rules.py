"""Rules: the records that a user reaches, and the fields that it sees and writes."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from inspect import iscoroutinefunction

from ..settings import mapping_of
from . import operators
from .operators import AND, NOT, OR, PAGING, POPULATE
from .readers import items_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Record, Rule

P = t.TypeVar("P", "FromUser", "FromRecord")

LISTS: t.Final = (list, tuple, set, frozenset)

GROUPS: t.Final = (AND, OR)
"""The groups of conditions that a value of the user may be in."""

JOINED: t.Final = operators.GROUPS.keys() - {NOT}
"""The groups of conditions that are lists."""

UNCONDITIONAL: t.Final = frozenset({*PAGING, POPULATE})
"""The special parameters that are not conditions."""

NO_RECORD: t.Final[Mapping[str, t.Any]] = {OR: []}
"""The condition that no record meets."""

FIELDS: t.Final = '{"salary": {"userId": FromUser("id")}}'
"""Rules of fields, for errors."""

RULE: t.Final = "The rule of '{name}' in '{option}'"

WRONG_ANSWER: t.Final = """\
{rule} returned {answer}. Return True for all records, False for none, or a query, \
such as {{"userId": user["id"]}}.\
"""

WRONG_PLACE: t.Final = """\
{option} has FromUser in another place than the value of a field, or of '$in', at the \
top or in '$or' and '$and': {query!r}. For such queries, use a function of the user.\
"""


@dataclass(frozen=True)
class FromUser:
    """Stands for a value of the user, in a query that is a rule.

    A record meets ``{"userId": FromUser("id")}`` if its ``userId`` is the user's
    ``id``, and ``{"teamId": FromUser("teamIds")}`` if its ``teamId`` is in this list of
    the user. Without a user, or if the user's value is null, no record does.

    :param field: The name of a field of the user.
    """

    field: str

    def value_of(self, user: t.Any) -> t.Any:
        """Return the value that a user has, or the list of all.

        :param user: The user, or ``None``.
        :raises TypeError: The user is not a mapping, or the value holds others.
        :raises KeyError: The user has no such field.
        """
        try:
            value = [] if user is None else user[self.field]
        except KeyError as error:
            raise KeyError(f"{self!r} names a field that users do not have.") from error

        values = list(value) if isinstance(value, LISTS) else [value]

        # A mapping would be read as operators.
        if any([isinstance(each, (Mapping, *LISTS)) for each in values]):
            raise TypeError(f"{self!r} must be a value, or a list of values.")

        values = [each for each in values if each is not None]
        return values[0] if len(values) == 1 else values


@dataclass(frozen=True)
class FromRecord:
    """Stands for a value of the record itself, in a query that is a rule: a record
    meets ``{"category.teamId": FromRecord("teamId")}`` if its category has the same
    ``teamId``. Null equals nothing.

    :param field: The name of a field of the record.
    :raises ValueError: It is a path.
    """

    field: str

    def __post_init__(self) -> None:
        if "." in self.field:
            raise ValueError(f"{self!r} is a path. Name a field of the record itself.")


@dataclass(frozen=True)
class Change:
    """The rule of ``update`` or ``patch`` in two parts, for a method that makes of a
    record what the rule does not reach any more: drafts are submitted, records are
    given away.

    :param of: The rule for the records that are changed.
    :param to: The rule for what they may become, ``True`` for anything. ``readable`` is
        not asked then.
    """

    of: Rule
    to: Rule


class UserRule:
    """A rule: a function of the user, or of ``None``, a value that it may return, or
    a query in which :class:`FromUser` stands for values. It is a function itself.

    :param option: The option that has the rule, for errors.
    :raises TypeError: It is neither, or an empty query, or a value of the user is where
        a rule can't have one.
    """

    def __init__(self, rule: Rule, option: str) -> None:
        self.option = option
        """The option that has the rule."""
        self.query = rule if isinstance(rule, Mapping) else None
        """The query, with :class:`FromUser` in it, of a rule that is one."""
        self._rule = rule

        if self.query is not None:
            if any(placeholders(self(None), FromUser)):
                raise TypeError(WRONG_PLACE.format(option=option, query=rule))

            self._check_answer(rule)
        elif not isinstance(rule, bool) and (
            iscoroutinefunction(rule) or not callable(rule)
        ):
            raise TypeError(
                f"{option} must be a function of the user, not async, or a query."
            )

    def __call__(self, user: t.Any) -> t.Any:
        """Return the answer for a user, or for a caller without one."""
        if self.query is not None:
            return _fill(self.query, user)

        return self._rule(user) if callable(self._rule) else self._rule

    def condition(self, user: t.Any) -> Record | None:
        """Return the query of the records that meet it for a user: ``None`` if all do,
        :data:`NO_RECORD` if none does.

        :raises TypeError: The answer is neither ``True``, ``False``, ``None`` nor a
            query with conditions. It never stands for all records.
        """
        answer = self(user)

        if answer is True:
            return None

        if answer is False or answer is None:
            return t.cast("Record", NO_RECORD)

        return self._check_answer(answer)

    def _check_answer(self, answer: t.Any) -> Record:
        if not _is_condition(answer):
            wrong = f"a value of {type(answer).__name__} without conditions"
            raise TypeError(WRONG_ANSWER.format(rule=self.option, answer=wrong))

        return t.cast("Record", answer)


class FieldRules:
    """The rules for the fields of a service. Each is a query, or a function of the
    user, or of ``None``, that returns ``True`` for all records, a query for some, or
    ``False`` for none. ``None`` is for none, too.

    :raises TypeError: A rule is neither.
    """

    def __init__(
        self,
        visible: Mapping[str, Rule] | None = None,
        writable: Mapping[str, Rule] | None = None,
    ) -> None:
        visible = mapping_of("visible", visible, FIELDS)
        self.shown_to_all = frozenset(n for n, rule in visible.items() if rule is True)
        """The fields that all users may see, which need no rule."""
        hiding = {n: rule for n, rule in visible.items() if n not in self.shown_to_all}
        self.visible = _rules("visible", hiding)
        """The rules for the fields that a user may see."""
        self.writable = _rules("writable", mapping_of("writable", writable, FIELDS))
        """The rules for the fields that a user may write."""

    def conditions(
        self, option: t.Literal["visible", "writable"], user: t.Any
    ) -> dict[str, Record]:
        """Return the queries of the records in which a user sees or writes a field, by
        field name. Fields visible in all records are left out. Each rule is called
        once.

        :param user: The user, or ``None``.
        :raises TypeError: A rule returns something else.
        """
        rules: Mapping[str, UserRule] = getattr(self, option)
        conditions = {name: rule.condition(user) for name, rule in rules.items()}
        return {name: each for name, each in conditions.items() if each is not None}


def rule_of(rule: Rule, option: str) -> UserRule:
    """Return a rule, which may be one already.

    :param option: The option that has the rule, for errors.
    :raises TypeError: It is not a rule.
    """
    return rule if isinstance(rule, UserRule) else UserRule(rule, option)


def both(query: Mapping[str, t.Any], condition: Mapping[str, t.Any]) -> Record:
    """Return the query of the records that meet two queries. The condition is at the
    top, where objects that know no ``$and`` find it.
    """
    # Names that are in both can't stand beside each other, and paths of one query are
    # about the same related record.
    firsts = {name.partition(".")[0] for name in condition}
    shared = {name for name in query if name.partition(".")[0] in firsts}

    if not shared:
        return {**query, **condition}

    inner = {name: query[name] for name in query if name in {*shared, AND}}
    rest = {name: query[name] for name in query if name not in inner}
    return {**rest, **condition, AND: [inner, *condition.get(AND, ())]}


def names_in(condition: t.Any) -> frozenset[str]:
    """Return the names of the fields in a condition.

    :param condition: A query.
    """
    names = {each.field for each in placeholders(condition, FromRecord)}
    parts = [condition]

    # The loop visits the parts that it appends, too.
    for part in parts:
        items = items_of(part)

        if items is not None:
            parts += items
        elif isinstance(part, Mapping):
            groups = {name for name in part if name.startswith("$")}
            names |= part.keys() - groups
            parts += [part[name] for name in groups - UNCONDITIONAL]

    return frozenset(names)


def placeholders(query: t.Any, class_: type[P]) -> Iterator[P]:
    """Yield the objects of a class that stand for values in a query."""
    if isinstance(query, class_):
        yield query
    elif isinstance(query, Collection) and not isinstance(query, (str, bytes)):
        for each in query.values() if isinstance(query, Mapping) else query:
            yield from placeholders(each, class_)


def _is_condition(query: t.Any) -> bool:
    """Return ``True`` for a query of conditions alone, in all parts of it: an empty
    part of ``$or`` would stand for all records.
    """
    if not query or not isinstance(query, Mapping):
        return False

    if not all(isinstance(name, str) for name in query):
        return False

    if not UNCONDITIONAL.isdisjoint(query):
        return False

    for group in JOINED.intersection(query):
        items = items_of(query[group])

        if items is None or (not items and group != OR):
            return False

        if not all(map(_is_condition, items)):
            return False

    return True


def _fill(query: t.Any, user: t.Any) -> t.Any:
    """Return a copy of a query with the values of a user in the places where a rule may
    have them.
    """
    if not isinstance(query, Mapping):
        return query

    def value_of(value: t.Any) -> t.Any:
        return value.value_of(user) if isinstance(value, FromUser) else value

    filled: Record = {}

    for name, value in query.items():
        if name in GROUPS and (items := items_of(value)):
            filled[name] = [_fill(each, user) for each in items]
        # A name that is not text is refused later.
        elif str(name).startswith("$"):
            filled[name] = value
        elif isinstance(value, Mapping):
            lists = {n: value_of(each) for n, each in value.items() if n == "$in"}
            filled[name] = {**value, **lists}
        else:
            filled[name] = value_of(value)

    return filled


def _rules(option: str, rules: Mapping[str, Rule]) -> Mapping[str, UserRule]:
    return {
        name: UserRule(rule, RULE.format(name=name, option=option))
        for name, rule in rules.items()
    }


NO_RULES: t.Final = FieldRules()
"""The rules of a service that has none."""
