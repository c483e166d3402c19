"""The records that a user may see, and the fields in them."""

from __future__ import annotations

import logging
import typing as t
from dataclasses import dataclass
from functools import partial

from ..context import Params
from ..errors import NotFound, RecordsError
from ..query import NO_RECORD
from ..query.matching import key_of_query

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from ..query import Matching
    from ..query.field_rules import Permissions
    from ..typing import Record
    from .service import Service

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
    """

    def __init__(self, service: Service, records: Sequence[t.Any]) -> None:
        self._service = service
        self._records = records
        self._has_rules = service.has_rules
        self._users: dict[t.Any, Visibility] = {}
        self._permissions: dict[t.Any, Permissions] = {}
        self._visibilities: dict[Hashable, Visibility] = {}
        self._conditions: dict[Hashable, Condition] = {}
        matching = service.capabilities.matching
        self.matching: Matching | None = matching(records) if matching else None
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
            may_see = self._by_rule(
                "readable", partial(self._service.readable_by, user)
            )
            fields = self._fields(partial(self.permissions_of, login))
            visibility = self._users[key] = self._shared(may_see, fields)

        return visibility

    def permissions_of(self, login: Params | None) -> Permissions:
        """Return what the rules for fields say for a user, or for anonymous clients."""
        key = _key_of(login)
        permissions = self._permissions.get(key)

        if permissions is None:
            user = login.user if login else None
            permissions = self._permissions[key] = self._service.permissions_of(user)

        return permissions

    def hidden_from(self, user: t.Any, index: int) -> frozenset[str]:
        """Return the fields that a user may not see in the record at an index.

        :param user: The user, or ``None``.
        """
        permissions = partial(self._service.permissions_of, user)
        return Visibility(show, self._fields(permissions)).hidden(index)

    def _shared(self, may_see: MaySee, fields: dict[str, MaySee]) -> Visibility:
        key = may_see, tuple(fields.items())
        visibility = self._visibilities.get(key)

        if visibility is None:
            visibility = self._visibilities[key] = Visibility(may_see, fields)

        return visibility

    def _fields(self, ask: Callable[[], Permissions]) -> dict[str, MaySee]:
        rules = self._service.capabilities.field_rules

        if not rules.visible:
            return {}

        try:
            permissions = ask()
        except Exception:
            logger.exception("A 'visible' rule of '%s' failed.", self._service.path)
            return dict.fromkeys(rules.visible, hide)

        fields: dict[str, MaySee] = dict.fromkeys(permissions.hidden, hide)

        for name, condition in permissions.shown_if.items():
            fields[name] = self._by_rule("visible", partial(_same, condition))

        return fields

    def _by_rule(self, name: str, rule: Callable[[], Record | None]) -> MaySee:
        try:
            query = rule()

            if query is None:
                return show

            return hide if query is NO_RECORD else self.condition(name, query)
        except RecordsError:
            return hide
        except Exception:
            logger.exception("The '%s' rule of '%s' failed.", name, self._service.path)
            return hide

    def condition(self, rule: str, query: Record) -> Condition:
        """Return what decides a query, the same object for equal queries, and for those
        that all records meet alike.

        :param rule: The name of the rule that returned it.
        :raises BadRequest: The query is not understood.
        """
        key, make_test = (
            self.matching.keyed(query)
            if self.matching
            else (key_of_query(query), lambda: _unknown)
        )
        condition = self._conditions.get(key)

        if condition is None:
            condition = Condition(rule, self._service, self._records, query)
            condition.decide_all(make_test())

            # Few kinds of results are kept for thousands of users.
            if None not in condition.results:
                results = tuple(condition.results)
                condition = self._conditions.setdefault(results, condition)

            self._conditions[key] = condition

        return condition


class Condition:
    """A query that a rule has returned. It tells whether the record at an index meets
    it.

    :param rule: The name of the rule.
    """

    __slots__ = ("results", "_query", "_rule", "_service", "_records")

    def __init__(
        self, rule: str, service: Service, records: Sequence[t.Any], query: Record
    ) -> None:
        self._query = query
        self.results: list[bool | None] = []
        """The result for each record. ``None`` if only the database can tell."""
        self._rule = rule
        self._service = service
        self._records = records

    def __call__(self, index: int) -> bool:
        result = self.results[index]

        if result is None:
            # If the look-up raises, it is not repeated.
            result = self.results[index] = bool(self._decided(self._is_found, index))

        return result

    def decide_all(self, test: Test) -> None:
        """Set the result for each record.

        :param test: Tells the result, or that only the database can.
        """
        indices = range(len(self._records))
        self.results = [self._decided(test, index) for index in indices]

    def _decided(self, decide: Test, index: int) -> bool | None:
        try:
            return decide(index)
        except RecordsError:
            return False
        except Exception:
            path = self._service.path
            logger.exception("The '%s' rule of '%s' failed.", self._rule, path)
            return False

    def _is_found(self, index: int) -> bool:
        record, name = self._records[index], self._service.capabilities.id

        if not isinstance(record, dict) or name not in record:
            return False

        try:
            self._service._get(record[name], Params(query=dict(self._query)))
            return True
        except NotFound:
            return False


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
