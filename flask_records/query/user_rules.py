"""Rules as queries, with values of the user."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .syntax import items_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..typing import Record

LISTS: t.Final = (list, tuple, set, frozenset)

NO_RECORD: t.Final[Mapping[str, t.Any]] = {"$or": []}
"""The condition that no record meets."""

WRONG_ANSWER: t.Final = """\
{rule} returned {answer}. Return True for all records, False for none, or a query, \
such as {{"userId": user["id"]}}.\
"""

WRONG_PLACE: t.Final = """\
{option} has {value!r} below '{name}'. It may be the value of a field, or of '$in', at \
the top or in '$or' and '$and'. For other queries, use a function of the user.\
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

    def values_of(self, user: t.Any) -> list[t.Any]:
        """Return the values that a user has.

        :param user: The user, or ``None``.
        :raises TypeError: The user is not a mapping, or the value holds others.
        :raises LookupError: The user has no such field.
        """
        if user is None:
            return []

        if not isinstance(user, Mapping):
            raise TypeError(
                f"{self!r} needs users that are mappings, not {type(user)}."
            )

        if self.field not in user:
            raise LookupError(f"A rule names {self!r}, which this user does not have.")

        value = user[self.field]
        values = list(value) if isinstance(value, LISTS) else [value]

        # A mapping would be read as operators.
        if any([isinstance(each, (Mapping, *LISTS)) for each in values]):
            raise TypeError(f"{self!r} must be a value, or a list of values.")

        return [each for each in values if each is not None]


class Constant(t.NamedTuple):
    """A condition that is the same for all users."""

    query: Record
    """The condition."""


class Owned(t.NamedTuple):
    """A condition that a field has a value of the user."""

    field: str
    """The name of the record's field."""

    value: FromUser
    """The value, or the list of them."""


class AllOf(t.NamedTuple):
    """Conditions all of which have to hold."""

    terms: Sequence[Term]
    """The conditions."""


class AnyOf(t.NamedTuple):
    """Conditions one of which has to hold."""

    terms: Sequence[Term]
    """The conditions."""


Term: t.TypeAlias = Constant | Owned | AllOf | AnyOf

GROUPS: t.Final[Mapping[str, type[AllOf] | type[AnyOf]]] = {"$and": AllOf, "$or": AnyOf}


class UserRule:
    """A rule as a query in which :class:`FromUser` stands for values. It is a function
    of the user like other rules, and others can read it without a user.

    :param query: The query.
    :param option: The option that has the rule, for an error.
    :raises TypeError: A value of the user is where a rule can't have one.
    """

    def __init__(self, query: Mapping[str, t.Any], option: str) -> None:
        self.query = query
        """The query, with :class:`FromUser` in it."""
        self._option = option
        self.term = self._all_of(query)
        """The condition."""

    def __call__(self, user: t.Any) -> Record:
        """Return the query for a user, or for a caller without one."""
        return t.cast("Record", _filled(self.query, user))

    @property
    def owned(self) -> Iterator[Owned]:
        """The conditions with values of the user."""
        terms: list[Term] = [self.term]

        # The loop visits the terms that it appends, too.
        for term in terms:
            if isinstance(term, Owned):
                yield term
            elif not isinstance(term, Constant):
                terms += term.terms

    def _all_of(self, query: Mapping[str, t.Any]) -> Term:
        return AllOf([self._term(name, value) for name, value in query.items()])

    def _term(self, name: str, value: t.Any) -> Term:
        if not _has_placeholder(value):
            return Constant({name: value})

        if isinstance(value, FromUser) and not name.startswith("$"):
            return Owned(name, value)

        if isinstance(value, Mapping) and not name.startswith("$"):
            return AllOf([self._compared(name, *item) for item in value.items()])

        items = items_of(value)

        if name not in GROUPS or not items:
            raise self._misplaced(name, value)

        return GROUPS[name]([self._all_of(item) for item in items])

    def _compared(self, name: str, operator: str, value: t.Any) -> Term:
        if operator == "$in" and isinstance(value, FromUser):
            return Owned(name, value)

        if _has_placeholder(value):
            raise self._misplaced(name, {operator: value})

        return Constant({name: {operator: value}})

    def _misplaced(self, name: str, value: t.Any) -> TypeError:
        return TypeError(
            WRONG_PLACE.format(option=self._option, name=name, value=value)
        )


def rule_of(
    rule: Mapping[str, t.Any] | Callable[[t.Any], t.Any], option: str
) -> Callable[[t.Any], t.Any]:
    """Return a rule as a function of the user.

    :param rule: A query, or a function already.
    :param option: The option that has the rule, for an error.
    :raises TypeError: It is neither, or an empty query, or a value of the user is where
        a rule can't have one.
    """
    if isinstance(rule, Mapping):
        condition_of(rule, option)
        return UserRule(rule, option)

    if not callable(rule):
        raise TypeError(f"{option} must be a function of the user, or a query.")

    return rule


def condition_of(answer: t.Any, rule: str) -> Record | None:
    """Return the condition that the answer of a rule stands for: ``None`` if all
    records meet it, :data:`NO_RECORD` if none does.

    :param answer: ``True`` for all records, ``False`` or ``None`` for none, or a query
        with conditions.
    :param rule: The rule, for an error.
    :raises TypeError: The answer is anything else. It never stands for all records.
    """
    if answer is True:
        return None

    if answer is False or answer is None:
        return t.cast("Record", NO_RECORD)

    if not isinstance(answer, Mapping):
        name = type(answer).__name__
        raise TypeError(WRONG_ANSWER.format(rule=rule, answer=f"a value of {name}"))

    if not answer:
        raise TypeError(WRONG_ANSWER.format(rule=rule, answer="an empty query"))

    return t.cast("Record", answer)


def _has_placeholder(value: t.Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_placeholder, value.values()))

    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return any(map(_has_placeholder, value))

    return isinstance(value, FromUser)


def _filled(value: t.Any, user: t.Any) -> t.Any:
    """Return a copy of a part of a query with the values of a user."""
    if isinstance(value, FromUser):
        values = value.values_of(user)
        return values[0] if len(values) == 1 else values

    if isinstance(value, Mapping):
        return {name: _filled(item, user) for name, item in value.items()}

    if isinstance(value, (list, tuple)):
        return [_filled(item, user) for item in value]

    return value
