"""Tokens that are revoked before they expire."""

from __future__ import annotations

import hashlib
import time
import typing as t

from .token_ids import mark_of
from .tokens import MAX_TIME

if t.TYPE_CHECKING:
    from ..typing import Record

CLOCK_TOLERANCE: t.Final = 5
"""The seconds that the clock of another server that issues tokens may be ahead."""

RETENTION: t.Final = 60 * 60
"""The seconds that marks are kept after their tokens, which a machine whose clock is
behind accepts for longer.
"""


class RevocationStore(t.Protocol):
    """Stores marks. A mark revokes the tokens with a key that were issued under a lower
    one. It is the time of the revocation in seconds, or higher than the previous mark.
    """

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark. Of several for one key, the highest counts, until the latest
        of their ``expires``, in whatever order they are stored.

        :param key: The key of the tokens.
        :param issued_before: The mark.
        :param expires: The time, in seconds since 1970, when the mark can be deleted.
        """

    def latest(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""


class Revocations:
    """The revoked tokens of the users of an authentication service: single ones, and
    all of a user that were issued before some second.

    :param store: Stores the marks.
    :param users: The path of the users, which are not those of another path.
    """

    def __init__(self, store: RevocationStore, users: str) -> None:
        self._store = store
        self._users = users

    def revoke_token(self, payload: Record) -> None:
        """Revoke one token.

        :param payload: Its claims.
        """
        until = int(payload["exp"]) + RETENTION
        self._store.put(_key("jti", payload["jti"]), MAX_TIME, until)

    def revoke_user(self, id: t.Any, lifetime: int) -> None:
        """Revoke all tokens of a user that were issued until now.

        :param id: The identifier of the user.
        :param lifetime: The lifetime of a token in seconds.
        """
        now = int(time.time())
        mark = max(now, self.mark_of(id)) + 1
        self._store.put(self._key_of_user(id), mark, mark + lifetime + RETENTION)

    def is_revoked(self, payload: Record) -> bool:
        """Return whether a token was revoked.

        :param payload: Its claims.
        """
        keys = _key("jti", payload["jti"]), self._key_of_user(payload["sub"])
        issued_under = mark_of(str(payload["jti"]))

        # One of another server tells no mark, only the time of its clock.
        if issued_under is None:
            issued_under = max(payload["iat"] - CLOCK_TOLERANCE, 0)

        return bool(issued_under < self._store.latest(*keys))

    def mark_of(self, id: t.Any) -> int:
        """Return the mark that tokens of a user are issued under from now on, 0 if none
        was revoked.

        :param id: The identifier of the user.
        """
        return self._store.latest(self._key_of_user(id))

    def _key_of_user(self, id: t.Any) -> str:
        return _key("sub", f"{self._users}:{id}")


def _key(kind: str, value: t.Any) -> str:
    return hashlib.sha256(f"{kind}:{value}".encode()).hexdigest()
