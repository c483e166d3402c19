"""Tokens that are not valid any more, before they expire."""

from __future__ import annotations

import hashlib
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from ..adapter import SQLAlchemyService
from ..adapter.session import first_value
from ..adapter.sources import session_of_app
from ..context import Params
from ..errors import Unavailable
from ..service import Service
from ..service.events import Transports
from ..signals import CallSignals

if t.TYPE_CHECKING:
    from ..adapter.sources import SessionSource
    from ..typing import Record


FORGOTTEN: t.Final = 100
"""How many expired marks are removed at a time."""


class RevocationStore(t.Protocol):
    """Keeps marks: tokens of a key that were issued before some second are revoked."""

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Keep a mark.

        :param key: What the mark is about.
        :param issued_before: Seconds since 1970.
        :param expires: The time, in seconds since 1970, when it can be forgotten.
        """

    def latest(self, *keys: str) -> int:
        """Return the latest ``issued_before`` of one key or two, or 0.

        :param keys: What the marks are about.
        """


class Revocations:
    """Tokens that were removed, and users whose older tokens are not valid any more
    since they have changed the password.

    :param store: Where this is kept.
    :param users: What tells the users from others of the same identifier.
    """

    def __init__(self, store: RevocationStore, users: str) -> None:
        self._store = store
        self._users = users

    def revoke_token(self, payload: Record) -> None:
        """Refuse one token from now on.

        :param payload: What it says.
        """
        until = int(payload["exp"]) + 1
        self._store.put(_key("jti", payload["jti"]), int(payload["iat"]) + 1, until)

    def revoke_user(self, id: t.Any, lifetime: int) -> None:
        """Refuse all tokens of a user that were issued until now.

        :param id: His identifier.
        :param lifetime: How many seconds a token is valid.
        """
        # Tokens tell whole seconds: those of this one could have been issued before.
        key = self._key_of_user(id)
        later = max(int(time.time()), self._store.latest(key)) + 1
        self._store.put(key, later, later + lifetime + 1)

    def is_revoked(self, payload: Record) -> bool:
        """Return whether a token was removed, or is older than the user's password.

        :param payload: What it says.
        """
        keys = _key("jti", payload["jti"]), self._key_of_user(payload["sub"])
        return bool(payload["iat"] < self._store.latest(*keys))

    def issued_before(self, id: t.Any) -> int:
        """Return the second from which on new tokens of a user are valid.

        :param id: His identifier.
        """
        return self._store.latest(self._key_of_user(id))

    def _key_of_user(self, id: t.Any) -> str:
        return _key("sub", f"{self._users}:{id}")


class RevokedTokenMixin:
    """The columns of a model for :class:`TableRevocations`."""

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(sa.String(64), index=True)
    issued_before: Mapped[int] = mapped_column(sa.BigInteger)
    expires: Mapped[int] = mapped_column(sa.BigInteger, index=True)


class TableRevocations:
    """Keeps marks in a table of the application's database, in the transaction of the
    call.

    :param model: A model with the columns of :class:`RevokedTokenMixin`.
    :param session: Where sessions come from, as for :class:`.SQLAlchemyService`.
    """

    def __init__(
        self, model: type[t.Any], *, session: SessionSource = session_of_app
    ) -> None:
        records = SQLAlchemyService(model, session=session, multi=["remove"])
        # It has no path in any application: only this class calls it.
        self._records = Service("revoked tokens", records, CallSignals(), Transports())
        self._model = model
        self._session = session
        self._latest = sa.select(sa.func.max(model.issued_before)).where(
            sa.or_(model.key == sa.bindparam("one"), model.key == sa.bindparam("other"))
        )

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Keep a mark, and forget those that have expired."""
        self._forget_expired()
        mark = {"key": key, "issued_before": issued_before, "expires": expires}
        self._records._create(mark)

    def _forget_expired(self) -> None:
        # Removed by their identifiers: a condition would lock what others insert.
        expired = {"expires": {"$lt": int(time.time())}, "$limit": FORGOTTEN}
        marks = t.cast("list[Record]", self._records._find(Params(query=expired)))

        if marks:
            ids = [mark["id"] for mark in marks]
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

    def latest(self, *keys: str) -> int:
        """Return the latest ``issued_before`` of one key or two, or 0."""
        # Each call with a token asks this, and so does without hooks and a query.
        found = first_value(
            self._session,
            self._model,
            self._latest,
            {"one": keys[0], "other": keys[-1]},
        )
        return found or 0


class RedisRevocations:
    """Keeps marks in Redis, for several machines.

    :param client: A ``redis.Redis``.
    :param prefix: What the names of keys begin with.
    """

    def __init__(self, client: t.Any, *, prefix: str = "records:revoked:") -> None:
        self._client = client
        self._prefix = prefix

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Keep a mark until it expires.

        :raises Unavailable: Redis does not answer.
        """
        name = self._prefix + key
        # Another service may keep it for longer.
        seconds = max(expires - int(time.time()), self._run("ttl", name), 1)
        self._run("set", name, max(issued_before, self.latest(key)), ex=seconds)

    def latest(self, *keys: str) -> int:
        """Return the latest ``issued_before`` of some keys, or 0.

        :raises Unavailable: Redis does not answer.
        """
        marks = self._run("mget", [self._prefix + key for key in keys])
        return max(int(mark or 0) for mark in marks)

    def _run(self, command: str, *args: t.Any, **options: t.Any) -> t.Any:
        from redis import RedisError

        try:
            return getattr(self._client, command)(*args, **options)
        except RedisError as error:
            # Nobody can say whether the token is still valid.
            raise Unavailable("Logins can't be checked at the moment.") from error


def _key(kind: str, value: t.Any) -> str:
    return hashlib.sha256(f"{kind}:{value}".encode()).hexdigest()
