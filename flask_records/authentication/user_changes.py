"""Changes of users that end their tokens."""

from __future__ import annotations

import logging
import typing as t

from ..context import NO_RESULT
from ..context import Params
from ..errors import RecordsError
from ..globals import current_records
from ..transaction import after_commit
from ..transaction import before_commit
from ..transaction import Transaction

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..context import HookContext
    from ..typing import Id
    from ..typing import Record
    from .revocation import Revocations
    from .users import Users

logger = logging.getLogger(__package__)

METHODS: t.Final = ("update", "patch", "remove")
"""The methods that can end tokens."""

PAGING: t.Final = frozenset({"$limit", "$skip", "$sort", "$select", "$populate"})
"""The parts of a query that do not tell which records match."""


class UserChanges:
    """Refuses the tokens that were issued before for users that are removed, or whose
    passwords change, through any service over their model. It is a before hook of all
    services.

    :param users: The users of an authentication service.
    :param revocations: Keeps the revoked tokens.
    """

    def __init__(self, users: Users, revocations: Revocations) -> None:
        self._users = users
        self._revocations = revocations

    def __call__(self, method: str, context: HookContext) -> None:
        """Revoke tokens when the call is committed.

        :param method: The name of the method.
        :param context: The call of any service.
        """
        if not self._users.has(context.service):
            return

        # Hooks may change the result.
        context.keeps_method_result = True
        user_ids = None if self._tells_user_ids(context) else self._user_ids(context)
        before_commit(lambda: self._revoke_changed(context, user_ids))

    def revoke(self, ids: Iterable[Id]) -> None:
        """Refuse the tokens of users that were issued until the commit.

        :param ids: The identifiers of the users.
        """
        before_commit(lambda: self._revoke(ids))

        if Transaction.current_or_none() is not None:
            after_commit(lambda: self._revoke_again(ids))

    def _revoke_changed(
        self, context: HookContext, user_ids: dict[t.Any, Id] | None
    ) -> None:
        if context.method != "remove" and not self._is_password_changed(context):
            return

        ids = self._changed_ids(context, user_ids)
        self._revoke(ids)

        # A new password ends the tokens of logins that are under way by itself.
        if context.method == "remove":
            after_commit(lambda: self._revoke_again(ids))

    def _is_password_changed(self, context: HookContext) -> bool:
        name = self._users.password
        # An update makes null of what it does not name, unless that is hidden.
        hidden = context.service.capabilities.hidden
        is_lost = context.method == "update" and name not in hidden
        return is_lost or any(name in body for body in context.bodies)

    def _changed_ids(
        self, context: HookContext, user_ids: dict[t.Any, Id] | None
    ) -> list[Id]:
        kept = context.method_result
        result = context.result if kept is NO_RESULT else kept
        records = result if isinstance(result, list) else [result]
        name = _id_name(context)
        ids = [one[name] for one in records if isinstance(one, dict) and name in one]

        if user_ids is None:
            # A before hook may have given a result without an identifier.
            is_unknown = not ids and context.id is not None
            return [self._users.canonical_id(context.id)] if is_unknown else ids

        is_unknown = context.id is not None or len(ids) < len(records)
        changed = user_ids if is_unknown else ids
        return [user_ids[id] for id in changed if id in user_ids]

    def _tells_user_ids(self, context: HookContext) -> bool:
        """Return whether the result has the identifiers that tokens tell."""
        name = self._users.id
        hidden = context.service.capabilities.hidden
        return _id_name(context) == name and name not in hidden

    def _user_ids(self, context: HookContext) -> dict[t.Any, Id]:
        """Return the identifiers of the users that a call may change, by those that its
        service has for them.
        """
        name, user_id = _id_name(context), self._users.id
        query = {k: v for k, v in context.params.query.items() if k not in PAGING}

        if context.id is not None:
            query = {name: context.id}

        query["$select"] = [name, user_id]

        try:
            found = context.service._find(Params(query=query, paginate=False))
        except RecordsError:
            # The call itself will be refused.
            return {}

        return {one[name]: one[user_id] for one in t.cast("list[Record]", found)}

    def _revoke(self, ids: Iterable[Id]) -> None:
        lifetime = self._lifetime()

        for id in ids:
            self._revocations.revoke_user(id, lifetime)

    def _revoke_again(self, ids: Iterable[Id]) -> None:
        """Revoke what was issued between the mark and the commit."""
        try:
            self._revoke(ids)
        except Exception:
            # The call is committed, and the marks before it are there.
            logger.exception("Tokens could not be revoked again after the commit.")

    def _lifetime(self) -> int:
        """Return the longest lifetime of a token of these users."""
        return max(
            one.settings.tokens.lifetime
            for one in current_records.authentications.values()
            if one.users_path == self._users.path
        )


def _id_name(context: HookContext) -> str:
    return context.service.capabilities.id
