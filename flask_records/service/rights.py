"""The rights of users: the services they call, the records and fields they see."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..database.database_errors import unavailable
from ..errors import BadRequest, Forbidden, NotFound, RecordsError, Unavailable
from ..names import METHODS, READS
from ..query.matching import key_of_query
from ..query.operators import OR
from ..query.rules import both, Change, names_in, NO_RECORD, rule_of, UserRule
from ..settings import mapping_of
from .capabilities import check_methods
from .context import names_of_bodies, Params, restrict

if t.TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from ..query.matching import Test
    from ..typing import Record, Rule
    from .context import HookContext
    from .service import Service

logger = logging.getLogger(__package__)

NO_FIELDS: t.Final[frozenset[str]] = frozenset()

NOT_OF_RECORDS: t.Final = "The method has no records: return True or False."

DEFAULT: t.Final = """\
 Give '{path}' a rule of its own, records.add("{path}", ..., {option}), or True in its \
place.\
"""
"""The cure for a service that a default rule does not fit."""

OWN: t.Final = '{"patch": {"userId": FromUser("id")}}'
"""Rules of methods, for errors."""


class DefaultRules:
    """The rules of the services over models that have none of their own."""

    def __init__(
        self, readable: Rule | None, allow: Mapping[str, Rule | Change] | None
    ) -> None:
        allow = mapping_of("allow", allow, OWN)
        check_methods("allow", "FlaskRecords", allow, METHODS)
        name = "The default 'readable'"
        self._readable = None if readable is None else rule_of(readable, name)
        self._allow = {n: _default(n, rule) for n, rule in allow.items()}

    def __bool__(self) -> bool:
        return self._readable is not None or bool(self._allow)

    def beside(
        self,
        methods: Collection[str],
        readable: Rule | None,
        allow: Mapping[str, Rule | Change] | None,
    ) -> tuple[Rule | None, Mapping[str, Rule | Change]]:
        """Return the rules of a service, with the default ones that it does not have.
        A default ``readable`` is the default for create, too.
        """
        defaults = self._allow

        if readable is None and self._readable is not None:
            readable = self._readable
            defaults = {"create": readable, **defaults}

        defaults = {n: rule for n, rule in defaults.items() if n in methods}
        return readable, {**defaults, **mapping_of("allow", allow, OWN)}


def _default(method: str, rule: Rule | Change) -> Rule | Change:
    name = f"The default rule of '{method}' in 'allow'"

    if isinstance(rule, Change):
        return Change(rule_of(rule.of, name), rule_of(rule.to, name))

    return rule_of(rule, name)


class AccessRules:
    """The rules of a service: ``readable`` and ``allow``."""

    def __init__(
        self,
        service: Service,
        readable: Rule | None,
        allow: Mapping[str, Rule | Change] | None,
    ) -> None:
        self._service, path = service, service.path
        self._rules: dict[str, UserRule] = {}
        self.readable: UserRule | None = None
        """The rule for the records that a user may see."""

        if readable is not None:
            self.readable = self._add(f"'readable' of '{path}'", readable)

        allow = mapping_of("allow", allow, OWN)
        check_methods("allow", path, allow, service.methods)
        self.allow: dict[str, UserRule] = {}
        """The rules for those who may call a method, by method."""
        self._results: dict[str, UserRule] = {}

        for method, rule in allow.items():
            name = f"The rule of '{method}' in 'allow' of '{path}'"

            if isinstance(rule, Change):
                if method not in ("update", "patch"):
                    raise TypeError(f"{name} is a Change, which no '{method}' makes.")

                self._results[method] = self._add(f"'to' of {name}", rule.to)
                rule = rule.of

            if method in service.custom_methods and isinstance(rule, Mapping):
                raise TypeError(f"{name} is a query. {NOT_OF_RECORDS}")

            self.allow[method] = self._add(name, rule)

    def _add(self, name: str, rule: Rule) -> UserRule:
        self._rules[name] = rule_of(rule, name)
        return self._rules[name]

    def _readable_by(self, user: t.Any) -> Record | None:
        return None if self.readable is None else self.readable.condition(user)

    def _query_of(self, method: str, user: t.Any) -> Record | None:
        """Return the query of the records that a user may reach by a method, or create:
        :data:`.NO_RECORD` if it may not call it, ``None`` for all.
        """
        if method not in self.allow:
            return None

        rule = self.allow[method]
        condition = rule.condition(user)
        is_custom = method in self._service.custom_methods

        if is_custom and condition not in (None, NO_RECORD):
            raise TypeError(f"{rule.option} returned a query. {NOT_OF_RECORDS}")

        return condition

    def may_call(self, method: str, user: t.Any) -> bool:
        """Return ``True`` if a user may call a method, at least for some records."""
        return self._query_of(method, user) is not NO_RECORD

    def query_for(self, user: t.Any) -> Record | None:
        """Return the query of the records that a user may see by ``readable`` and one
        of the methods that read, ``None`` for all.
        """
        readable = self._readable_by(user)
        reads = [method for method in READS if method in self._service.methods]
        queries = [self._query_of(method, user) for method in reads]

        if readable is NO_RECORD or None in queries or not reads:
            return readable

        some = [query for query in queries if query is not NO_RECORD]
        allowed: Record = {OR: some} if some else t.cast("Record", NO_RECORD)
        return both(readable, allowed) if some and readable is not None else allowed

    def limit(self, context: HookContext) -> list[Record]:
        """Limit a call of a client to the records that it may reach. Return the queries
        that the records have to meet that it creates, or leaves changed.
        """
        method, user = context.method, context.params.user
        allowed = self._query_of(method, user)

        if allowed is NO_RECORD:
            raise Forbidden(f"You may not call '{method}' of '{context.path}'.")

        if method == "create":
            return [] if allowed is None else [allowed]

        readable = self._readable_by(user)

        if readable is NO_RECORD and self._service.capabilities.model is None:
            raise Forbidden(f"You may not see records of '{context.path}'.")

        conditions = [each for each in (readable, allowed) if each]
        context.params._state.is_limited = bool(conditions)

        for condition in conditions:
            restrict(context.params, condition)

        if method in self._results:
            becoming = self._results[method].condition(user)
            return [] if becoming is None else [becoming]

        return conditions if method in ("update", "patch") else []

    def pick_dependent(
        self, context: HookContext, conditions: Sequence[Record]
    ) -> Sequence[Record]:
        """Return the conditions on what an update or a patch of a model writes."""
        method, client_names = context.method, context.params._state.client_fields
        decides = self._service.capabilities.decides
        data_names = names_of_bodies(context.data)
        return [
            each
            for each in conditions
            if decides(method, data_names, client_names, names_in(each))
        ]

    def check_written(self, context: HookContext, conditions: Sequence[Record]) -> None:
        """Refuse records that a client may not create, or leave as they are now."""
        service, method, result = self._service, context.method, context.result
        records = result if isinstance(result, list) else [result]

        for condition in conditions:
            try:
                may_write = service.capabilities.are_met(records, condition)
            except BadRequest as error:
                raise RuntimeError(
                    f"A rule for '{method}' of '{context.path}' is not right: {error}"
                ) from error

            if may_write is None and "get" not in service.methods:
                raise RuntimeError(
                    f"'{context.path}' needs 'get', which asks the rule of '{method}'."
                )

            if may_write is None:
                may_write = all(Rights(service, records).test(method, condition))

            if not may_write:
                verb = "create this" if method == "create" else f"{method} it like this"
                raise Forbidden(f"You may not {verb} in '{context.path}'.")

    def check(self) -> None:
        """Refuse queries that do not fit the fields, and personal records without a
        rule.
        """
        path, capabilities = self._service.path, self._service.capabilities

        if capabilities.is_personal and self.readable is None:
            raise ValueError(
                f"Users of '{path}' would see what belongs to others. Give it a rule,"
                f' records.add("{path}", ..., readable={{"userId": FromUser("id")}}).'
            )

        model, problems = getattr(capabilities.model, "__name__", ""), []

        queries = [(n, each) for n, each in self._rules.items() if each.query]

        for name, rule in queries:
            is_default = rule.option != name
            own = "allow={...}" if "allow" in name else "readable=..."
            cure = DEFAULT.format(path=path, option=own) if is_default else ""

            try:
                capabilities.check_rule(rule(None))
            except BadRequest as error:
                text = f"{rule.option} does not fit '{model}': {error.message}{cure}"
                problems.append(text)

        if problems:
            raise ValueError("\n".join(problems))

    @cached_property
    def hidden_fields(self) -> frozenset[str]:
        """The hidden fields that rules name, whose values travel with events."""
        parts = self._service.capabilities
        rules = (*parts.field_rules.visible.values(), *self._rules.values())
        names = [names_in(rule.query) for rule in rules if rule.query]
        return parts.hidden & parts.deciding_names(frozenset().union(*names))


# Users with equal rights have the same object, which makes it a fast key.
@dataclass(frozen=True, eq=False)
class Visibility:
    """The part of some records that users with equal rights may see."""

    is_seen: tuple[bool, ...]
    """For each record, ``True`` if the user may see it."""

    hidden: tuple[frozenset[str], ...]
    """For each record, the fields that rules hide from the user."""


class Rights:
    """Applies the rules of a service to records. Each rule is called once for each
    user, and each condition decided once for all. What can't be checked is not shown.

    :param are_past: ``True`` for the records of events, which may have changed since:
        the database decides with their values, and its outage is raised.
    """

    def __init__(
        self,
        service: Service,
        records: Sequence[t.Any],
        *,
        are_past: bool = False,
    ) -> None:
        self._service = service
        self._records = records
        self._are_past = are_past
        self._outage: Unavailable | None = None
        self._users: dict[t.Any, tuple[t.Any, Visibility]] = {}
        self._visibilities: dict[tuple[t.Any, ...], Visibility] = {}
        self._results: dict[Hashable, tuple[bool, ...]] = {}
        self._matching = service.capabilities.matching()

    def of(self, login: Params | None) -> Visibility:
        """Return what a user, or anonymous clients, may see of the records."""
        user = login.user if login else None
        key = (id(login.authenticator), login.user_id) if login else None
        entry = self._users.get(key)

        # Users of a strategy may have no identifier, or more than their record has.
        if entry is not None and entry[0] == user:
            return entry[1]

        # The database is not asked again once it was away.
        if self._outage is not None:
            raise self._outage

        is_seen, hidden = self._find_seen(user), self.find_hidden(user)
        visibility = self._visibilities.setdefault(
            (is_seen, hidden), Visibility(is_seen, hidden)
        )
        self._users[key] = user, visibility
        return visibility

    def find_hidden(self, user: t.Any) -> tuple[frozenset[str], ...]:
        """Return the fields that rules hide from a user in each record."""
        rules, number = self._service.capabilities.field_rules, len(self._records)

        if not rules.visible or not number:
            return (NO_FIELDS,) * number

        try:
            conditions = rules.conditions("visible", user)
            visible = {n: self.test("visible", each) for n, each in conditions.items()}
        except Exception as error:
            self._fail("visible", error)
            return (frozenset(rules.visible),) * number

        return tuple(
            frozenset([name for name, each in visible.items() if not each[index]])
            for index in range(number)
        )

    def test(self, rule: str, query: Record) -> tuple[bool, ...]:
        """Return for each record whether it meets a query, which a rule returned."""
        # An object may not look at it.
        if query is NO_RECORD:
            return (False,) * len(self._records)

        key = key_of_query(query)

        if key not in self._results:
            test = self._matching.test(query) if self._matching else lambda record: None
            results = [self._is_met(rule, query, test, each) for each in self._records]
            self._results[key] = tuple(results)

        return self._results[key]

    def _find_seen(self, user: t.Any) -> tuple[bool, ...]:
        number = len(self._records)

        try:
            query = self._service.rules.query_for(user)
            return (True,) * number if query is None else self.test("readable", query)
        except Exception as error:
            self._fail("readable", error)
            return (False,) * number

    def _is_met(self, rule: str, query: Record, test: Test, record: t.Any) -> bool:
        try:
            result = test(record)
            return self._is_found(query, record) if result is None else result
        except RecordsError as error:
            self._raise_outage(error)
        except Exception as error:
            self._fail(rule, error)

        return False

    def _is_found(self, query: Record, record: t.Any) -> bool:
        """Return ``True`` if the database has the record, and it meets a query."""
        name = self._service.capabilities.id

        if not isinstance(record, dict) or name not in record:
            return False

        query = dict(query)

        if self._are_past:
            # A later event may be of a record that this one must not show.
            names = self._service.capabilities.deciding_names(names_in(query))
            values = [(n, record[n]) for n in names if n in record]
            # A query can't compare objects and lists.
            compared = {n: v for n, v in values if not isinstance(v, (dict, list))}
            query = both(query, compared)

        try:
            self._service._get(record[name], Params(query=query))
            return True
        except NotFound:
            return False

    def _fail(self, rule: str, error: Exception) -> None:
        """Log the error of a rule, which shows nothing."""
        self._raise_outage(error)
        path = self._service.path
        logger.error("The '%s' rule of '%s' failed.", rule, path, exc_info=error)

    def _raise_outage(self, error: Exception) -> None:
        if self._are_past:
            outage = error if isinstance(error, Unavailable) else unavailable(error)

            if outage is not None:
                self._outage = outage
                raise outage
