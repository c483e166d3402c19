"""Tokens that are revoked before they expire, in a table or in Redis."""

from __future__ import annotations

import hashlib
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from ..adapter import SQLAlchemyService
from ..adapter.database import Database
from ..adapter.sessions import session_of_app
from ..context import Params
from ..errors import NotAuthenticated, Unavailable
from ..query.plan_cache import Plan
from ..query.plans import ExtraValue
from ..service import Service
from ..service.events import Transports
from ..signals import CallSignals
from ..transaction import Transaction
from .tokens import MAX_TIME

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..adapter.database import Rows
    from ..adapter.sessions import SessionSource
    from ..typing import Record

T = t.TypeVar("T")

CLOCK_TOLERANCE: t.Final = 5
"""The seconds that the clocks of servers that issue tokens may differ."""

RETENTION: t.Final = 60 * 60
"""The seconds that marks are kept after their tokens, which a machine whose clock is
behind accepts for longer.
"""

KEYS: t.Final = ("records_key", "records_other_key")
"""The names of the parameters with the keys of marks."""

CLEANUP_SIZE: t.Final = 100
"""The number of expired marks that are removed at a time."""


class RevocationStore(t.Protocol):
    """Stores marks. A mark revokes the tokens with a key that were issued before a
    time.
    """

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark. It is not before an earlier one of the key, and may take its
        place.

        :param key: The key of the tokens.
        :param issued_before: The time, in seconds since 1970.
        :param expires: The time when the mark can be deleted.
        """

    def latest(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""


class Revocations:
    """The revoked tokens of the users of an authentication service: single ones, and
    all of a user that were issued until some time.

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
        """Revoke all tokens of a user that were issued until now. Later ones state a
        time of issue that is not before the mark.

        :param id: The identifier of the user.
        :param lifetime: The lifetime of a token in seconds.
        """
        mark = max(int(time.time()) + CLOCK_TOLERANCE, self.mark_of(id) + 1)
        self._store.put(self._key_of_user(id), mark, mark + lifetime + RETENTION)

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

        if not isinstance(self._store, TableRevocations):
            refuse(self._store.latest(*keys))
            return load(None)

        extra = self._store.extra(keys, refuse)
        user = load(extra)

        # The users may be in another database, or be loaded in another way.
        if not extra.is_checked:
            refuse(self._store.latest(*keys))

        return user

    def mark_of(self, id: t.Any) -> int:
        """Return the time from which on tokens of a user are valid, or 0.

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
            sa.or_(*(model.key == sa.bindparam(name) for name in KEYS))
        )
        self._column = self._latest.scalar_subquery()
        expired = model.expires < sa.bindparam("now")
        self._expired = sa.select(model.id).where(expired).limit(CLEANUP_SIZE)

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark, and delete expired ones."""
        self._delete_expired()
        mark = {"key": key, "issued_before": issued_before, "expires": expires}
        self._records._create(mark)

    def latest(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""
        # Each call with a token runs this statement, without the cost of a service.
        rows = self._rows(self._latest, _parameters(keys))
        return rows[0][0] or 0

    def extra(
        self, keys: tuple[str, ...], check: Callable[[t.Any], None]
    ) -> ExtraValue:
        """Return :meth:`latest` as a part of a statement that reads a user."""
        return ExtraValue(self._column, _parameters(keys), self._database, check)

    def _delete_expired(self) -> None:
        # By their identifiers: a condition would lock rows that others insert.
        ids = [id for (id,) in self._rows(self._expired, {"now": int(time.time())})]

        if ids:
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

    def _rows(self, statement: sa.Select[t.Any], parameters: Record) -> Rows:
        with Transaction(writes=False), self._database.reading() as reading:
            return reading.rows(Plan(statement, parameters))


class RedisStore:
    """Values in Redis.

    :param client: A ``redis.Redis`` with a ``socket_timeout``.
    :param prefix: The prefix of the keys.
    :raises ValueError: The client waits for ever.
    """

    def __init__(self, client: t.Any, prefix: str) -> None:
        pool = getattr(client, "connection_pool", None)

        # That of a cluster has pools of its own.
        if pool is not None and pool.connection_kwargs.get("socket_timeout") is None:
            raise ValueError(
                "Calls would wait for ever for a Redis that hangs. Give the client a"
                " bound: redis.Redis.from_url(url, socket_timeout=2)."
            )

        self._client = client
        self._prefix = prefix

    def _run(self, command: str, *args: t.Any, **options: t.Any) -> t.Any:
        from redis import RedisError

        try:
            return getattr(self._client, command)(*args, **options)
        except RedisError as error:
            # The token may be revoked.
            raise Unavailable("Logins can't be checked at the moment.") from error


class RedisRevocations(RedisStore):
    """Stores marks in Redis, for several machines.

    :param client: A ``redis.Redis`` with a ``socket_timeout``: a call with a token is
        503 if Redis does not answer.
    :param prefix: The prefix of the keys.
    :raises ValueError: The client waits for ever.
    """

    def __init__(self, client: t.Any, *, prefix: str = "records:revoked:") -> None:
        super().__init__(client, prefix)

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark until it expires.

        :raises Unavailable: Redis does not answer.
        """
        seconds = max(expires - int(time.time()), 1)
        self._run("set", self._prefix + key, issued_before, seconds)

    def latest(self, *keys: str) -> int:
        """Return the highest mark of some keys, or 0.

        :raises Unavailable: Redis does not answer.
        """
        marks = self._run("mget", [self._prefix + key for key in keys])
        return max(int(mark or 0) for mark in marks)


def _parameters(keys: tuple[str, ...]) -> Record:
    return {KEYS[0]: keys[0], KEYS[1]: keys[-1]}


def _key(kind: str, value: t.Any) -> str:
    text = f"{kind}:{value}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()
