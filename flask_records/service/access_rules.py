"""The rules for who may call a service, and which records they reach."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..context import Params
from ..errors import BadRequest, Forbidden
from ..names import READS
from ..query import (
    both,
    condition_of,
    names_in,
    NO_RECORD,
    restrict,
    rule_of,
    UserRule,
)
from .rights import Rights

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..context import HookContext
    from ..typing import FieldRule, Readable, ReadableFunction, Record
    from .service import Service


class AccessRules:
    """The rules of a service: ``readable`` and ``allow``.

    :param readable: The rule for the records that a user may see.
    :param allow: The rules for those who may call a method, by method.
    :raises ValueError: There is no such method.
    :raises TypeError: A rule is neither a function nor a query, or it is a query of a
        custom method, which nothing applies to records.
    """

    def __init__(
        self,
        service: Service,
        readable: Readable | None,
        allow: Mapping[str, FieldRule] | None,
    ) -> None:
        self._service = service
        self.readable: ReadableFunction | None = (
            None if readable is None else rule_of(readable, self._name("readable"))
        )
        """The query of the records that a user may see, as a function of the user."""
        self.allow: Mapping[str, ReadableFunction] = {
            method: self._allowing(method, rule)
            for method, rule in (allow or {}).items()
        }
        """The rules for who may call a method, as functions of the user."""

    def readable_by(self, user: t.Any) -> Record | None:
        """Return the query of the records that a user may see, or ``None`` for all.

        :param user: The user, or ``None``.
        :raises TypeError: The rule returned neither ``True``, ``False`` nor a query.
        """
        if self.readable is None:
            return None

        return condition_of(self.readable(user), self._name("readable"))

    def allowed_to(self, method: str, user: t.Any) -> Record | None:
        """Return the query of the records that a user may reach by a method, or that it
        may create, :data:`.NO_RECORD` if it may not call it, and ``None`` for all.

        :param user: The user, or ``None``.
        :raises TypeError: The rule returned neither ``True``, ``False`` nor a query.
        """
        rule = self.allow.get(method)

        if rule is None:
            return None

        name = self._name("allow", method)
        condition = condition_of(rule(user), name)
        is_custom = method in self._service.custom_methods

        if is_custom and condition not in (None, NO_RECORD):
            raise TypeError(f"{name} returned a query. Return True or False.")

        return condition

    def may_call(self, method: str, user: t.Any) -> bool:
        """Return ``True`` if a user may call a method, be it for some records only."""
        return self.allowed_to(method, user) is not NO_RECORD

    def seen_by(self, user: t.Any) -> Record | None:
        """Return the query of the records that a user may see by ``readable`` and by
        one of the methods that read, or ``None`` for all.

        :param user: The user, or ``None``.
        """
        readable = self.readable_by(user)
        reads = [method for method in READS if method in self._service.methods]
        queries = [self.allowed_to(method, user) for method in reads]

        if not queries or None in queries or readable is NO_RECORD:
            return readable

        some = [query for query in queries if query and query is not NO_RECORD]

        if not some:
            return t.cast("Record", NO_RECORD)

        allowed = some[0] if len(some) == 1 else {"$or": some}
        return allowed if readable is None else both(readable, allowed)

    def limit(self, context: HookContext) -> Record | None:
        """Limit a call of a client to the records that it may reach. Return the query
        that a new record has to meet, if there is one.

        :raises Forbidden: The client may not call the method.
        """
        method, user = context.method, context.params.user
        allowed = self.allowed_to(method, user)

        if allowed is NO_RECORD:
            raise Forbidden(f"You may not call '{method}' of '{context.path}'.")

        if method == "create":
            return allowed

        for condition in (self.readable_by(user), allowed):
            if condition:
                restrict(context.params, condition)

        return None

    def check_created(self, context: HookContext, condition: Record) -> None:
        """Refuse records that a client may not create.

        :raises Forbidden: There is one.
        """
        result = context.result
        records = result if isinstance(result, list) else [result]

        try:
            may_create = Rights(self._service, records).condition("allow", condition)
        except BadRequest as error:
            name = self._name("allow", context.method)
            raise RuntimeError(f"{name} is not right: {error}") from error

        if not all([may_create(index) for index in range(len(records))]):
            raise Forbidden(f"You may not create this in '{context.path}'.")

    def check(self) -> None:
        """Refuse rules that are queries and name what is no field of the model.

        :raises ValueError: There is one.
        """
        scope = self._service.capabilities.scope_for(Params())

        if scope is None:
            return

        for option, rule in self._queries.items():
            for name in names_in(rule.query) - scope.names:
                raise ValueError(
                    f"{option} names '{name}', which is not a field of"
                    f" '{scope.fields.model.__name__}'."
                )

    @cached_property
    def hidden_fields(self) -> frozenset[str]:
        """The hidden fields that rules name which are queries. Their values travel with
        events, beside the record.
        """
        parts = self._service.capabilities
        visible = parts.field_rules.visible.values()
        rules = [rule for rule in visible if isinstance(rule, UserRule)]
        names = [names_in(rule.query) for rule in (*rules, *self._queries.values())]
        return parts.hidden & frozenset().union(*names)

    @property
    def _queries(self) -> dict[str, UserRule]:
        """The rules that are queries, by their names."""
        rules = {self._name("readable"): self.readable}
        rules |= {self._name("allow", n): rule for n, rule in self.allow.items()}
        return {n: rule for n, rule in rules.items() if isinstance(rule, UserRule)}

    def _allowing(self, method: str, rule: FieldRule) -> ReadableFunction:
        service, option = self._service, self._name("allow")

        if method not in service.methods:
            raise ValueError(
                f"{option} names '{method}', which is none of its methods:"
                f" {', '.join(service.methods)}."
            )

        if method in service.custom_methods and not callable(rule):
            raise TypeError(
                f"{option} has a query for '{method}', which is no method of records."
                " Give a function that returns True or False."
            )

        return rule_of(rule, self._name("allow", method))

    def _name(self, option: str, method: str | None = None) -> str:
        """Return the name of an option, or of one of its rules, for errors."""
        rule = "" if method is None else f"The rule of '{method}' in "
        return f"{rule}'{option}' of '{self._service.path}'"
