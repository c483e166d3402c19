"""Tokens that are revoked before they expire."""

from __future__ import annotations

import hashlib
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from ..adapter import SQLAlchemyService
from ..adapter.session import Database
from ..adapter.sources import session_of_app
from ..context import Params
from ..errors import Unavailable
from ..query.plans import Plan
from ..service import Service
from ..service.events import Transports
from ..signals import CallSignals
from ..transaction import Transaction

if t.TYPE_CHECKING:
    from ..adapter.sources import SessionSource
    from ..typing import Record

CLEANUP_SIZE: t.Final = 100
"""The number of expired marks that are removed at a time."""


class RevocationStore(t.Protocol):
    """Stores marks. A mark revokes the tokens with a key that were issued before some
    second.
    """

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark.

        :param key: The key of the tokens.
        :param issued_before: The time, in seconds since 1970.
        :param expires: The time, in seconds since 1970, when the mark can be deleted.
        """

    def latest(self, *keys: str) -> int:
        """Return the latest ``issued_before`` of one key or two, or 0."""


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
        until = int(payload["exp"]) + 1
        self._store.put(_key("jti", payload["jti"]), int(payload["iat"]) + 1, until)

    def revoke_user(self, id: t.Any, lifetime: int) -> None:
        """Revoke all tokens of a user that were issued until now.

        :param id: The identifier of the user.
        :param lifetime: The lifetime of a token in seconds.
        """
        # Tokens state whole seconds: those of this second may have been issued before.
        key = self._key_of_user(id)
        later = max(int(time.time()), self._store.latest(key)) + 1
        self._store.put(key, later, later + lifetime + 1)

    def is_revoked(self, payload: Record) -> bool:
        """Return whether a token was revoked.

        :param payload: Its claims.
        """
        keys = _key("jti", payload["jti"]), self._key_of_user(payload["sub"])
        return bool(payload["iat"] < self._store.latest(*keys))

    def issued_before(self, id: t.Any) -> int:
        """Return the first second whose tokens of a user are valid.

        :param id: The identifier of the user.
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
    """Stores marks in a table of the application's database, in the transaction of the
    call.

    :param model: A model with the columns of :class:`RevokedTokenMixin`.
    :param session: The source of sessions, as for :class:`.SQLAlchemyService`.
    """

    def __init__(
        self, model: type[t.Any], *, session: SessionSource = session_of_app
    ) -> None:
        records = SQLAlchemyService(model, session=session, multi=["remove"])
        # It is at no path of an application: only this class calls it.
        self._records = Service("revoked tokens", records, CallSignals(), Transports())
        self._database = Database(session, sa.inspect(model))
        self._latest = sa.select(sa.func.max(model.issued_before)).where(
            sa.or_(model.key == sa.bindparam("one"), model.key == sa.bindparam("other"))
        )

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark, and delete expired ones."""
        self._delete_expired()
        mark = {"key": key, "issued_before": issued_before, "expires": expires}
        self._records._create(mark)

    def _delete_expired(self) -> None:
        # By their identifiers: a condition would lock rows that others insert.
        expired = {"expires": {"$lt": int(time.time())}, "$limit": CLEANUP_SIZE}
        marks = t.cast("list[Record]", self._records._find(Params(query=expired)))

        if marks:
            ids = [mark["id"] for mark in marks]
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

    def latest(self, *keys: str) -> int:
        """Return the latest ``issued_before`` of one key or two, or 0."""
        # Each call with a token runs this statement, without the cost of a service.
        parameters = {"one": keys[0], "other": keys[-1]}

        with Transaction(), self._database.reading() as reading:
            return reading.rows(Plan(self._latest, parameters))[0][0] or 0


class RedisRevocations:
    """Stores marks in Redis, for several machines.

    :param client: A ``redis.Redis``.
    :param prefix: The prefix of the keys.
    """

    def __init__(self, client: t.Any, *, prefix: str = "records:revoked:") -> None:
        self._client = client
        self._prefix = prefix

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark until it expires.

        :raises Unavailable: Redis does not answer.
        """
        name = self._prefix + key
        # Another service may have stored it for longer.
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
            # The token may be revoked.
            raise Unavailable("Logins can't be checked at the moment.") from error


def _key(kind: str, value: t.Any) -> str:
    return hashlib.sha256(f"{kind}:{value}".encode()).hexdigest()
