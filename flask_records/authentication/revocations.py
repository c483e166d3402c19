"""The access tokens that are revoked before they expire."""

from __future__ import annotations

import time
import typing as t

from ..errors import NotAuthenticated
from .token_stores import digest_of, TableTokens
from .tokens import MAX_TIME

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..query.plans import ExtraValue
    from ..typing import Record
    from .token_stores import TokenStore

T = t.TypeVar("T")

CLOCK_TOLERANCE: t.Final = 5
"""The seconds that the clocks of servers that issue tokens may differ, and that a call
may take after it has revoked the tokens of a user.
"""

RETENTION: t.Final = 60 * 60
"""The seconds that marks are kept after their tokens, which a machine whose clock is
behind accepts for longer.
"""


class Revocations:
    """The revoked tokens of the users of an authentication service: single ones, and
    all of a user that were issued until some time.

    :param store: Stores the marks.
    :param users: The path of the users, which are not those of another path.
    """

    def __init__(self, store: TokenStore, users: str) -> None:
        self._store = store
        self._users = users

    def revoke_token(self, payload: Record) -> None:
        """Revoke one token.

        :param payload: Its claims.
        """
        until = int(payload["exp"]) + RETENTION
        self._store.put_mark(_key("jti", payload["jti"]), MAX_TIME, until)

    def revoke_user(self, id: t.Any, lifetime: int) -> None:
        """Revoke all tokens of a user that were issued until now. Later ones state a
        time of issue that is not before the mark.

        :param id: The identifier of the user.
        :param lifetime: The lifetime of a token in seconds.
        """
        mark = max(int(time.time()) + CLOCK_TOLERANCE, self.mark_of(id) + 1)
        self._store.put_mark(self._key_of_user(id), mark, mark + lifetime + RETENTION)

    def unless_revoked(
        self, payload: Record, load: Callable[[ExtraValue | None], T]
    ) -> T:
        """Return the user of a token.

        :param payload: The claims of the token.
        :param load: Loads the user, and a value from the same database.
        :raises NotAuthenticated: The token was revoked.
        """
        keys = _key("jti", payload["jti"]), self._key_of_user(payload["sub"])

        def refuse(mark: int | None) -> None:
            if payload["iat"] < (mark or 0):
                raise NotAuthenticated("jwt revoked")

        if not isinstance(self._store, TableTokens):
            refuse(self._store.latest_mark(*keys))
            return load(None)

        extra = self._store.extra_value(keys, refuse)
        user = load(extra)

        # The users may be in another database, or be loaded in another way.
        if not extra.is_checked:
            refuse(self._store.latest_mark(*keys))

        return user

    def mark_of(self, id: t.Any) -> int:
        """Return the time from which on tokens of a user are valid, or 0.

        :param id: The identifier of the user.
        """
        return self._store.latest_mark(self._key_of_user(id))

    def _key_of_user(self, id: t.Any) -> str:
        return _key("sub", f"{self._users}:{id}")


def _key(kind: str, value: t.Any) -> str:
    return digest_of(f"{kind}:{value}")
