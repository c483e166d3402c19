"""Stores of random tokens, which are kept as digests, in a table or in Redis."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
import typing as t
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from ..adapter import SQLAlchemyService
from ..adapter.sessions import session_of_app
from ..authentication.revocations import RedisStore
from ..context import Params
from ..errors import NotFound
from ..service import Service
from ..service.events import Transports
from ..signals import CallSignals

if t.TYPE_CHECKING:
    from ..adapter.sessions import SessionSource

TOKEN = re.compile(r"[0-9a-f]{32}\.[\w-]{43}", re.ASCII)
"""A token: its identifier, and a secret."""

CLEANUP_SIZE: t.Final = 100
"""The number of expired tokens that are removed at a time."""

CHANGE: t.Final = """\
local digest = redis.call('HGET', KEYS[1], 'digest')
if (digest or '') ~= ARGV[1] then return 0 end
if #ARGV == 1 then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIREAT', KEYS[1], redis.call('HGET', KEYS[1], 'expires'))
return 1
"""
"""The script that changes the fields of a token with a digest, or removes it without
fields. A new token has no digest yet.
"""


@dataclass(frozen=True)
class StoredToken:
    """A token as a store has it, without its secret part."""

    id: str
    """Its first part, which stays the same if it is replaced."""

    kind: str
    """The kind of the token, which tells its use."""

    owner: str
    """The identifier of the user, as text."""

    digest: str
    """The digest of the whole token."""

    state: str
    """A fingerprint of what the token depends on, such as the password hash."""

    issued: int
    """The time of issue, in seconds since 1970."""

    expires: int
    """The time when it expires."""

    address: str = ""
    """The address that the token was sent to, or the empty text."""


class TokenStore(t.Protocol):
    """Stores tokens."""

    def add(self, token: StoredToken) -> None:
        """Store a new token."""

    def get(self, id: str) -> StoredToken | None:
        """Return the token with an identifier, if there is one."""

    def replace(self, id: str, digest: str, /, **changes: t.Any) -> bool:
        """Change the fields of a token that has a digest. Return ``False`` if there is
        none. Of several calls at once that change the digest, one finds it.
        """

    def remove(self, id: str, digest: str | None = None) -> bool:
        """Remove a token. Return ``False`` if there is none. Of several calls at once,
        one finds it.

        :param digest: The digest that it has to have. Any by default.
        """


class TokenMixin:
    """The columns of a model for :class:`TableTokens`."""

    id: Mapped[str] = mapped_column(sa.String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(16))
    owner: Mapped[str] = mapped_column(sa.String(255))
    digest: Mapped[str] = mapped_column(sa.String(64))
    state: Mapped[str] = mapped_column(sa.String(32))
    issued: Mapped[int] = mapped_column(sa.BigInteger)
    expires: Mapped[int] = mapped_column(sa.BigInteger, index=True)
    address: Mapped[str] = mapped_column(sa.String(320))


class TableTokens:
    """Stores tokens in a table of the application's database, in the transaction of the
    call.

    :param model: A model with the columns of :class:`TokenMixin`.
    :param session: The source of sessions, as for :class:`.SQLAlchemyService`.
    """

    def __init__(
        self, model: type[t.Any], *, session: SessionSource = session_of_app
    ) -> None:
        records = SQLAlchemyService(model, session=session, multi=["remove"])
        # It is at no path of an application: only this class calls it.
        self._records = Service("tokens", records, CallSignals(), Transports())

    def add(self, token: StoredToken) -> None:
        """Store a new token, and delete expired ones."""
        self._delete_expired()
        self._records._create(asdict(token))

    def get(self, id: str) -> StoredToken | None:
        """Return the token with an identifier, if there is one."""
        try:
            record = self._records._get(id)
        except NotFound:
            return None

        return StoredToken(**{name: record[name] for name in FIELDS})

    def replace(self, id: str, digest: str, /, **changes: t.Any) -> bool:
        """Change the fields of a token that has a digest. Return ``False`` if there is
        none.
        """
        try:
            self._records._patch(id, changes, Params(query={"digest": digest}))
        except NotFound:
            return False

        return True

    def remove(self, id: str, digest: str | None = None) -> bool:
        """Remove a token. Return ``False`` if there is none.

        :param digest: The digest that it has to have. Any by default.
        """
        query = {} if digest is None else {"digest": digest}

        try:
            self._records._remove(id, Params(query=query))
        except NotFound:
            return False

        return True

    def _delete_expired(self) -> None:
        query = {"expires": {"$lt": int(time.time())}, "$limit": CLEANUP_SIZE}
        params = Params(query={**query, "$select": ["id"]}, paginate=False)
        # By their identifiers: a condition would lock rows that others insert.
        ids = [record["id"] for record in t.cast("t.Any", self._records._find(params))]

        if ids:
            self._records._remove(None, Params(query={"id": {"$in": ids}}))


class RedisTokens(RedisStore):
    """Stores tokens in Redis, for several machines. It is not a part of the transaction
    of a call: a token that was used by a call that fails is gone.

    :param client: A ``redis.Redis`` with a ``socket_timeout``: a call that needs a
        token is 503 if Redis does not answer.
    :param prefix: The prefix of the keys.
    :raises ValueError: The client waits for ever.
    """

    def __init__(self, client: t.Any, *, prefix: str = "records:tokens:") -> None:
        super().__init__(client, prefix)

    def add(self, token: StoredToken) -> None:
        """Store a new token until it expires.

        :raises Unavailable: Redis does not answer.
        """
        self.replace(token.id, "", **asdict(token))

    def get(self, id: str) -> StoredToken | None:
        """Return the token with an identifier, if there is one.

        :raises Unavailable: Redis does not answer.
        """
        values = self._run("hmget", self._prefix + id, FIELDS)

        if None in values:
            return None

        texts = [v.decode() if isinstance(v, bytes) else v for v in values]
        record: dict[str, t.Any] = dict(zip(FIELDS, texts, strict=True))
        times = {name: int(record[name]) for name in ("issued", "expires")}
        return StoredToken(**record | times)

    def replace(self, id: str, digest: str, /, **changes: t.Any) -> bool:
        """Change the fields of a token that has a digest. Return ``False`` if there is
        none.

        :raises Unavailable: Redis does not answer.
        """
        arguments = [part for change in changes.items() for part in change]
        return bool(self._run("eval", CHANGE, 1, self._prefix + id, digest, *arguments))

    def remove(self, id: str, digest: str | None = None) -> bool:
        """Remove a token. Return ``False`` if there is none.

        :param digest: The digest that it has to have. Any by default.
        :raises Unavailable: Redis does not answer.
        """
        if digest is not None:
            return self.replace(id, digest)

        return bool(self._run("delete", self._prefix + id))


FIELDS: t.Final = tuple(field.name for field in fields(StoredToken))


def new_token(id: str | None = None) -> str:
    """Return a random token.

    :param id: Its first part. A new one by default.
    """
    return f"{id or secrets.token_hex(16)}.{secrets.token_urlsafe(32)}"


def id_of(token: str) -> str:
    """Return the first part of a token."""
    return token.partition(".")[0]


def digest_of(token: str) -> str:
    """Return the digest of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(*parts: t.Any) -> str:
    """Return a fingerprint of what a token depends on: texts, bytes and ``None``."""
    text = "\0".join(f"{part or ''}" for part in parts)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def find_token(store: TokenStore, kind: str, token: t.Any) -> StoredToken | None:
    """Return a token as a store has it, or ``None`` if it is not a token of this kind
    that is valid now.

    :param token: What a client has sent.
    """
    if not isinstance(token, str) or TOKEN.fullmatch(token) is None:
        return None

    stored = store.get(id_of(token))

    if stored is None or stored.kind != kind or stored.expires <= time.time():
        return None

    return stored if hmac.compare_digest(stored.digest, digest_of(token)) else None
