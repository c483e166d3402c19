"""A table of tokens, and of marks that revoke tokens."""

from __future__ import annotations

import base64
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
from ..database.database import CheckedValue, Database
from ..database.sessions import session_of_app
from ..database.transaction import Transaction
from ..query.plan_cache import Plan
from ..service import Service
from ..service.context import Params
from ..service.events import Transports
from ..signals import CallSignals

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..database.driver_cursor import Rows
    from ..database.sessions import SessionSource
    from ..typing import Record

TOKEN = re.compile(r"[0-9a-f]{32}\.[\w-]{43}", re.ASCII)
"""A token: a part whose digest identifies it, and a secret."""

SECRET_LENGTH: t.Final = 22
"""The number of characters of the random part of the secret. A check follows."""

MARK: t.Final = "mark"
"""The kind of the rows that are marks."""

KEYS: t.Final = ("records_key", "records_other_key")
"""The names of the parameters with the keys of marks."""

CLEANUP_SIZE: t.Final = 100
"""The number of expired tokens that are removed at a time."""


@dataclass(frozen=True)
class StoredToken:
    """A token as a store has it, without its secret part."""

    id: str
    """Its identifier, which stays the same if it is replaced."""

    kind: str
    """The kind of the token, which tells its use."""

    owner: str
    """The identifier of the user, as text."""

    digest: str
    """The digest of the whole token, of 64 characters."""

    state: str
    """A fingerprint of what the token depends on, such as the password hash."""

    issued: int
    """The time of issue, in seconds since 1970."""

    expires: int
    """The time when it expires."""

    address: str = ""
    """The address that the token was sent to, or the empty text."""


class TokenMixin:
    """The columns of a model for :class:`TableTokens`."""

    id: Mapped[str] = mapped_column(sa.String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(16))
    owner: Mapped[str] = mapped_column(sa.String(255))
    digest: Mapped[str] = mapped_column(sa.String(64), index=True)
    state: Mapped[str] = mapped_column(sa.String(32))
    issued: Mapped[int] = mapped_column(sa.BigInteger)
    expires: Mapped[int] = mapped_column(sa.BigInteger, index=True)
    address: Mapped[str] = mapped_column(sa.String(320))


class TableTokens:
    """Stores random tokens, as digests, and marks, in the transaction of the call. A
    mark revokes the access tokens with a key that were issued before a time.

    :param model: A model with the columns of :class:`TokenMixin`.
    :param session: The source of sessions, as for :class:`.SQLAlchemyService`.
    """

    def __init__(
        self, model: type[t.Any], *, session: SessionSource = session_of_app
    ) -> None:
        records = SQLAlchemyService(model, session=session, multi=["patch", "remove"])
        # The service has no path in an application: only this class calls it.
        self._records = Service("tokens", records, CallSignals(), Transports())
        self._database = Database(session, sa.inspect(model))
        self._by_id = sa.select(*(getattr(model, name) for name in FIELDS)).where(
            model.id == sa.bindparam("token")
        )
        self._latest = sa.select(sa.func.max(model.issued)).where(
            sa.or_(*(model.digest == sa.bindparam(name) for name in KEYS))
        )
        self._column = self._latest.scalar_subquery()
        expired = model.expires < sa.bindparam("now")
        self._expired = sa.select(model.id).where(expired).limit(CLEANUP_SIZE)

    def add(self, token: StoredToken) -> None:
        """Store a new token, and delete expired ones."""
        # By their identifiers: a condition would lock rows that others insert.
        ids = [id for (id,) in self._rows(self._expired, {"now": int(time.time())})]

        if ids:
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

        self._records._create(asdict(token))

    def get(self, id: str) -> StoredToken | None:
        """Return the token with an identifier, if there is one."""
        rows = self._rows(self._by_id, {"token": id})
        return StoredToken(**dict(zip(FIELDS, rows[0], strict=True))) if rows else None

    def replace(self, id: str, digest: str, /, **changes: t.Any) -> bool:
        """Change the fields of a token that has a digest. Return ``False`` if there is
        none. Of several calls at once that change the digest, one finds it.
        """
        query = {"id": id, "digest": digest}
        return bool(self._records._patch(None, changes, Params(query=query)))

    def remove(self, id: str) -> bool:
        """Remove a token. Return ``False`` if there is none. Of several calls at once,
        one finds it.
        """
        return bool(self._records._remove(None, Params(query={"id": id})))

    def put_mark(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark, beside earlier ones of the key.

        :param key: The key of the access tokens, of 64 characters at most.
        :param issued_before: The time, in seconds since 1970.
        :param expires: The time when the mark can be deleted.
        """
        # Marks of one key that are stored at once do not wait for each other.
        id = secrets.token_hex(16)
        self.add(StoredToken(id, MARK, "", key, "", issued_before, expires))

    def latest_mark(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""
        # Each call with a token runs this statement, without the cost of a service.
        rows = self._rows(self._latest, _parameters(keys))
        return rows[0][0] or 0

    def checked_value(
        self, keys: tuple[str, ...], check: Callable[[t.Any], None]
    ) -> CheckedValue:
        """Return :meth:`latest_mark` as a part of a statement that reads a user."""
        return CheckedValue(self._column, _parameters(keys), self._database, check)

    def _rows(self, statement: sa.Select[t.Any], parameters: Record) -> Rows:
        with Transaction(writes=False), self._database.reading() as reading:
            return reading.rows(Plan(statement, parameters))


FIELDS: t.Final = tuple(field.name for field in fields(StoredToken))


def new_token(head: str | None = None, secret: str | None = None) -> str:
    """Return a random token, whose end tells it from a text that was made up.

    :param head: Its first part. A random one by default.
    :param secret: The first 22 characters of the rest. Random ones by default.
    """
    head, secret = head or secrets.token_hex(16), secret or secrets.token_urlsafe(16)
    return f"{head}.{secret}{_text_of(f'{head}.{secret}')[:21]}"


def is_genuine(token: str) -> bool:
    """Return whether a token was made here, rather than from the first part of one."""
    head, _, rest = token.partition(".")
    return hmac.compare_digest(token, new_token(head, rest[:SECRET_LENGTH]))


def following(token: str, salt: str) -> str:
    """Return the token that replaces one, which is the same each time.

    :param salt: A random text that clients do not know.
    """
    return new_token(token.partition(".")[0], _text_of(salt + token)[:SECRET_LENGTH])


def id_of(token: str) -> str:
    """Return the identifier of a token and of those that replace it, from which nobody
    can tell the first part of the token.
    """
    return digest_of(token.partition(".")[0])[:32]


def digest_of(text: str) -> str:
    """Return the digest of a token, or of another text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(*parts: t.Any) -> str:
    """Return a fingerprint of what a token depends on: texts, bytes and ``None``."""
    text = "\0".join(f"{part or ''}" for part in parts)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def issue_token(
    store: TableTokens,
    kind: str,
    owner: t.Any,
    lifetime: int,
    *,
    basis: Sequence[t.Any],
    not_before: int = 0,
    address: str = "",
    seal: Callable[[str], str] = digest_of,
) -> str:
    """Store a new token, and return it.

    :param owner: The identifier of the user.
    :param lifetime: The seconds that it is valid.
    :param basis: What it depends on, for its :func:`fingerprint`, after its identifier.
    :param not_before: The time of issue, if it is later than now.
    :param seal: Returns the digest that is stored.
    """
    token, now = new_token(), int(time.time())
    id = id_of(token)
    store.add(
        StoredToken(
            id=id,
            kind=kind,
            owner=str(owner),
            digest=seal(token),
            state=fingerprint(id, *basis),
            issued=max(now, not_before),
            expires=now + lifetime,
            address=address,
        )
    )
    return token


def find_token(store: TableTokens, kind: str, token: t.Any) -> StoredToken | None:
    """Return a token as a store has it, or ``None`` if it is not a token of this kind
    that is valid now.

    :param token: What a client has sent.
    """
    stored = find_by_id(store, kind, token)

    if stored is None or stored.expires <= time.time():
        return None

    return stored if hmac.compare_digest(stored.digest, digest_of(token)) else None


def find_by_id(store: TableTokens, kind: str, token: t.Any) -> StoredToken | None:
    """Return the token of a kind whose identifier a token has, whatever its secret."""
    if not isinstance(token, str) or TOKEN.fullmatch(token) is None:
        return None

    stored = store.get(id_of(token))
    return stored if stored is not None and stored.kind == kind else None


def _text_of(text: str) -> str:
    """Return a digest in the characters of a token."""
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode()


def _parameters(keys: tuple[str, ...]) -> Record:
    return {KEYS[0]: keys[0], KEYS[1]: keys[-1]}
