"""Access tokens of users."""

from __future__ import annotations

import time
import typing as t

from ..errors import NotAuthenticated
from .token_ids import create_token_id, is_token_id_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import Record
    from .revocation import Revocations
    from .tokens import Tokens
    from .users import Users


class UserTokens:
    """Issues tokens to users, and finds the users of tokens."""

    def __init__(self, users: Users, revocations: Revocations | None) -> None:
        self._users = users
        self._revocations = revocations

    def create(
        self, tokens: Tokens, user: Record | None, hashes: Mapping[str, str | None]
    ) -> tuple[str, Record]:
        """Return a new token and its claims.

        :param hashes: The password hashes that were just verified, by users. The token
            depends on this one, since the password may have been changed since.
        :raises NotAuthenticated: There is no user.
        """
        if user is None:
            raise NotAuthenticated("A token is issued for a user only.")

        subject = user[self._users.id]
        # Before the user is read: a removal in between ends this token.
        mark = self._revocations.mark_of(subject) if self._revocations else 0

        if str(subject) in hashes:
            hash = hashes[str(subject)]
        else:
            hash = self._users.credentials(subject).get(self._users.password)

        token_id = create_token_id(self._users.path, hash, mark)
        return tokens.create_token(subject, token_id=token_id)

    def user_of(self, payload: Record) -> Record:
        """Return the user that a token was issued for, as clients see them.

        :param payload: The claims of the token, verified now or some minutes ago.
        :raises NotAuthenticated: The token has expired or was revoked, its user is
            gone, or the password was changed since.
        """
        if payload["exp"] <= time.time():
            raise NotAuthenticated("jwt expired")

        if self._revocations and self._revocations.is_revoked(payload):
            raise NotAuthenticated("jwt revoked")

        user, stored = self._users.load(payload["sub"])
        id = user[self._users.id]

        # A database takes more than one text for the same number.
        if str(id) != str(payload["sub"]):
            raise NotAuthenticated("invalid token")

        # Hooks may have changed the record, or returned an older one.
        if not self._has_password_of(payload, stored) and not self._has_password_of(
            payload, self._users.credentials(id)
        ):
            raise NotAuthenticated("jwt revoked")

        return user

    def _has_password_of(self, payload: Record, user: Record) -> bool:
        hash = user.get(self._users.password)
        return is_token_id_of(str(payload["jti"]), self._users.path, hash)
