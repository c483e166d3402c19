"""The records that a user may see, and the fields in them."""

from __future__ import annotations

import logging
import typing as t
from dataclasses import dataclass
from functools import partial

from ..context import Params
from ..errors import NotFound, RecordsError
from ..query import both, names_in, NO_RECORD
from ..query.matching import key_of_query

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from ..query import Matching
    from ..typing import Record
    from .service import Service

    T = t.TypeVar("T")

    MaySee: t.TypeAlias = Callable[[int], bool]
    """Returns whether a user may see the record, or a field of it, at an index."""

    Test: t.TypeAlias = Callable[[int], bool | None]
    """Returns whether the record at an index meets a condition. ``None`` if unknown."""

logger = logging.getLogger(__package__)

ALL: t.Final[frozenset[str]] = frozenset()


# Users with equal rights have the same object, which makes it a fast key.
@dataclass(frozen=True, eq=False)
class Visibility:
    """The part of some records that users with equal rights may see."""

    may_see: MaySee
    """Returns whether they may see the record at an index."""

    fields: Mapping[str, MaySee]
    """Returns the same for each field that they may not see in all records."""

    def hidden(self, index: int) -> frozenset[str]:
        """Return the fields that they may not see in the record at an index."""
        if not self.fields:
            return ALL

        return frozenset(
            [n for n, may_see in self.fields.items() if not may_see(index)]
        )


class Rights:
    """Applies the rules of a service to records: ``readable``, and those for fields.
    Each rule is called once for each user, and each condition decided once for all
    users. A record, or a field, that cannot be checked is not shown.

    :param outage_of: For events, whose records may have changed since: returns the
        error of a database that is away, which is raised. A condition that only the
        database can decide needs the values of the event.
    """

    def __init__(
        self,
        service: Service,
        records: Sequence[t.Any],
        outage_of: Callable[[Exception], Exception | None] | None = None,
    ) -> None:
        self.service = service
        """The service."""
        self.records = records
        """The records."""
        self.is_past = outage_of is not None
        """``True`` if the records are those of events."""
        self._outage_of = outage_of
        self._outage: Exception | None = None
        self._has_rules = service.has_rules
        self._users: dict[t.Any, Visibility] = {}
        self._visibilities: dict[Hashable, Visibility] = {}
        self._conditions: dict[Hashable, Condition] = {}
        self.matching: Matching | None = service.capabilities.matching(records)
        """Decides which of the records meet queries, if something can."""

    def of(self, login: Params | None) -> Visibility:
        """Return what a user may see of the records, or anonymous clients may. It is
        the same object for all users with equal rights.
        """
        if not self._has_rules:
            return EVERYTHING

        key = _key_of(login)
        visibility = self._users.get(key)

        if visibility is None:
            user = login.user if login else None
            seen = partial(self.asked, self.service.rules.seen_by, user)
            may_see = self._by_rule("readable", seen)
            fields = self._fields(user)
            visibility = self._users[key] = self._shared(may_see, fields)

        return visibility

    def fields_for(self, user: t.Any) -> Visibility:
        """Return the fields that a user may see in the records, as if it could see all
        of these.

        :param user: The user, or ``None``.
        """
        return Visibility(show, self._fields(user))

    def asked(self, ask: Callable[[t.Any], T], argument: t.Any) -> T:
        """Return what needs the database, unless it was away before."""
        if self._outage is not None:
            raise self._outage

        return ask(argument)

    def raise_outage(self, error: Exception) -> None:
        """Raise the error of a database that is away, for events."""
        outage = None if self._outage_of is None else self._outage_of(error)

        if outage is not None:
            self._outage = outage
            raise outage

    def _shared(self, may_see: MaySee, fields: dict[str, MaySee]) -> Visibility:
        key = may_see, tuple(fields.items())
        visibility = self._visibilities.get(key)

        if visibility is None:
            visibility = self._visibilities[key] = Visibility(may_see, fields)

        return visibility

    def _fields(self, user: t.Any) -> dict[str, MaySee]:
        rules = self.service.capabilities.field_rules

        if not rules.visible:
            return {}

        try:
            conditions = self.asked(rules.shown_if, user)
        except Exception as error:
            self.raise_outage(error)
            logger.exception("A 'visible' rule of '%s' failed.", self.service.path)
            return dict.fromkeys(rules.visible, hide)

        return {
            name: self._by_rule("visible", partial(_same, condition))
            for name, condition in conditions.items()
        }

    def _by_rule(self, name: str, rule: Callable[[], Record | None]) -> MaySee:
        try:
            query = rule()

            if query is None:
                return show

            return hide if query is NO_RECORD else self.condition(name, query)
        except Exception as error:
            self.raise_outage(error)
            logger.exception("The '%s' rule of '%s' failed.", name, self.service.path)
            return hide

    def condition(self, rule: str, query: Record) -> Condition:
        """Return what decides a query, the same object for equal queries, and for those
        that all records meet alike.

        :param rule: The name of the rule that returned it.
        :raises BadRequest: The query is not understood.
        """
        key = key_of_query(query)
        condition = self._conditions.get(key)

        if condition is None:
            condition = Condition(self, rule, query)
            matching = self.matching
            condition.decide_all(matching.test(query) if matching else _unknown)

            # Few kinds of results are kept for thousands of users.
            if None not in condition.results:
                results = tuple(condition.results)
                condition = self._conditions.setdefault(results, condition)

            self._conditions[key] = condition

        return condition


class Condition:
    """A query that a rule has returned. It tells whether the record at an index meets
    it.

    :param rights: The records.
    :param rule: The name of the rule.
    """

    __slots__ = ("results", "_query", "_rights", "_rule")

    def __init__(self, rights: Rights, rule: str, query: Record) -> None:
        self._query = query
        self.results: list[bool | None] = []
        """The result for each record. ``None`` if only the database can tell."""
        self._rights = rights
        self._rule = rule

    def __call__(self, index: int) -> bool:
        result = self.results[index]

        if result is None:
            # If the look-up raises, it is not repeated.
            look_up = partial(self._rights.asked, self._is_found)
            result = self.results[index] = bool(self._decided(look_up, index))

        return result

    def decide_all(self, test: Test) -> None:
        """Set the result for each record.

        :param test: Tells the result, or that only the database can.
        """
        indices = range(len(self._rights.records))
        self.results = [self._decided(test, index) for index in indices]

    def _decided(self, decide: Test, index: int) -> bool | None:
        try:
            return decide(index)
        except Exception as error:
            self._rights.raise_outage(error)

            if not isinstance(error, RecordsError):
                path = self._rights.service.path
                logger.exception("The '%s' rule of '%s' failed.", self._rule, path)

            return False

    def _is_found(self, index: int) -> bool:
        service, record = self._rights.service, self._rights.records[index]
        name, query = service.capabilities.id, dict(self._query)

        if not isinstance(record, dict) or name not in record:
            return False

        if self._rights.is_past:
            # A later event may be of a record that this one must not show.
            query = both(query, _values_in(record, names_in(query)))

        try:
            service._get(record[name], Params(query=query))
            return True
        except NotFound:
            return False


def _values_in(record: Record, names: Collection[str]) -> Record:
    """Return the values of fields that a query can compare."""
    values = {name: record[name] for name in names if name in record}
    return {n: each for n, each in values.items() if not isinstance(each, (dict, list))}


def _key_of(login: Params | None) -> t.Any:
    return (id(login.authenticator), login.user_id) if login else None


def show(index: int) -> bool:
    """Show any record or field."""
    return True


def hide(index: int) -> bool:
    """Hide any record or field."""
    return False


def _same(condition: Record) -> Record:
    return condition


def _unknown(index: int) -> None:
    return None


EVERYTHING: t.Final = Visibility(show, {})
"""The visibility for a user if there are no rules."""
