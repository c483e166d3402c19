"""Changes of users that end their tokens."""

from __future__ import annotations

import logging
import typing as t

from ..context import NO_RESULT, Params
from ..errors import RecordsError
from ..globals import current_records
from ..transaction import after_commit, before_commit, Transaction

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..context import HookContext
    from ..service import Service
    from ..typing import Id, Record
    from .revocation import Revocations
    from .users import Users

    UserIds: t.TypeAlias = dict[t.Any, Id]

logger = logging.getLogger(__package__)

METHODS: t.Final = ("update", "patch", "remove")
"""The methods that can end tokens."""

PAGING: t.Final = frozenset({"$limit", "$skip", "$sort", "$select", "$populate"})
"""The parts of a query that do not decide which records match."""


class UserChanges:
    """Revokes the tokens of users that are removed, or whose passwords change, through
    any service over their model. It is a before hook of all services.
    """

    def __init__(self, users: Users, revocations: Revocations) -> None:
        self._users = users
        self._revocations = revocations

    def __call__(self, method: str, context: HookContext) -> None:
        """Revoke tokens when the call is committed."""
        if not self._users.has(context.service):
            return

        # Hooks may change the result.
        context.keeps_stored = True
        user_ids = None if self._returns_ids(context.service) else self._ids(context)
        before_commit(lambda: self._revoke_changed(context, user_ids))

    def revoke(self, ids: Iterable[Id]) -> None:
        """Revoke the tokens of users that are issued until the commit."""
        before_commit(lambda: self._revoke(ids))

        if Transaction.current_or_none() is not None:
            after_commit(lambda: self._revoke_again(ids))

    def _revoke_changed(self, context: HookContext, user_ids: UserIds | None) -> None:
        if context.method != "remove" and not self._is_password_changed(context):
            return

        ids = self._changed_ids(context, user_ids)
        self._revoke(ids)

        # A new password itself ends the tokens of logins that are under way.
        if context.method == "remove":
            after_commit(lambda: self._revoke_again(ids))

    def _is_password_changed(self, context: HookContext) -> bool:
        name, hidden = self._users.password, context.service.capabilities.hidden
        # An update sets absent fields to null, unless they are hidden.
        is_reset = context.method == "update" and name not in hidden
        return is_reset or any(name in body for body in context.bodies)

    def _changed_ids(self, context: HookContext, user_ids: UserIds | None) -> list[Id]:
        is_stored = context.stored is not NO_RESULT
        result = context.stored if is_stored else context.result
        records = result if isinstance(result, list) else [result]
        name = context.service.capabilities.id
        ids = [r[name] for r in records if isinstance(r, dict) and name in r]

        # A before hook may have returned records without identifiers.
        if user_ids is None:
            if ids or context.id is None:
                return ids

            return [self._users.canonical_id(context.id)]

        if context.id is None and len(ids) == len(records):
            return [user_ids[id] for id in ids if id in user_ids]

        return list(user_ids.values())

    def _returns_ids(self, service: Service) -> bool:
        """Return whether the records of a service have the identifiers of tokens."""
        capabilities, name = service.capabilities, self._users.id
        return capabilities.id == name and name not in capabilities.hidden

    def _ids(self, context: HookContext) -> UserIds:
        """Return the users' identifiers, by those that the call's service uses."""
        name, user_id = context.service.capabilities.id, self._users.id
        query = {k: v for k, v in context.params.query.items() if k not in PAGING}

        if context.id is not None:
            query = {name: context.id}

        query["$select"] = [name, user_id]

        try:
            records = context.service._find(Params(query=query, paginate=False))
        except RecordsError:
            # The call itself will be refused.
            return {}

        return {r[name]: r[user_id] for r in t.cast("list[Record]", records)}

    def _revoke(self, ids: Iterable[Id]) -> None:
        lifetime = self._lifetime()

        for id in ids:
            self._revocations.revoke_user(id, lifetime)

    def _revoke_again(self, ids: Iterable[Id]) -> None:
        """Revoke tokens that were issued between the first mark and the commit."""
        try:
            self._revoke(ids)
        except Exception:
            # The call is committed, with the first marks.
            logger.exception("Tokens could not be revoked again after the commit.")

    def _lifetime(self) -> int:
        """Return the longest lifetime of a token of these users."""
        return max(
            service.settings.tokens.lifetime
            for service in current_records.authentications.values()
            if service.users_path == self._users.path
        )
