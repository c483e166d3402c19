"""A table of tokens, and of marks that revoke tokens."""

from __future__ import annotations

import hashlib
import secrets
import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from ..adapter import SQLAlchemyService
from ..database.database import CheckedValue, Database
from ..database.joined_session import session_of_app
from ..query.operators import LIMIT, SORT
from ..service import Service
from ..service.context import Params
from ..service.events import Transports
from ..signals import CallSignals

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..database.joined_session import SessionSource
    from ..typing import Record

KEYS: t.Final = ("records_key", "records_other_key")
"""The names of the parameters with the keys of marks."""

CLEANUP_SIZE: t.Final = 100
"""The number of expired tokens that are removed at a time."""


class TokenMixin:
    """The columns of a model for :class:`TableTokens`. Times are in seconds since 1970.

    A record is a mark, a token in a mail, or all refresh tokens of a session. None has
    the text of a token: ``digest`` is its digest, the key of a mark, or the number of
    the latest refresh token, and ``state`` a fingerprint of what the token depends on.
    """

    id: Mapped[str] = mapped_column(sa.String(32), primary_key=True)
    kind: Mapped[str] = mapped_column(sa.String(16))
    owner: Mapped[str] = mapped_column(sa.String(255))
    digest: Mapped[str] = mapped_column(sa.String(64), index=True)
    state: Mapped[str] = mapped_column(sa.String(32))
    issued: Mapped[int] = mapped_column(sa.BigInteger)
    expires: Mapped[int] = mapped_column(sa.BigInteger, index=True)
    address: Mapped[str] = mapped_column(sa.String(320))


class TableTokens:
    """Stores tokens, and marks, in the transaction of the call. A mark revokes the
    access tokens with a key that were issued before a time.

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
        latest = sa.select(sa.func.max(model.issued)).where(
            sa.or_(*(model.digest == sa.bindparam(name) for name in KEYS))
        )
        self._latest = latest.scalar_subquery()

    def add(self, token: Record) -> None:
        """Store a new token, and delete expired ones."""
        # By their identifiers: a condition would lock rows that others insert.
        expired = {"expires": {"$lt": int(time.time())}, LIMIT: CLEANUP_SIZE}

        if ids := [record["id"] for record in self._find(expired)]:
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

        self._records._create({"address": "", **token})

    def get(self, id: str, kind: str) -> Record | None:
        """Return the token of a kind with an identifier, unless it has expired."""
        query = {"id": id, "kind": kind, "expires": {"$gt": int(time.time())}}
        return next(iter(self._find(query)), None)

    def replace(self, id: str, digest: str, /, **changes: t.Any) -> bool:
        """Change a token that has a digest, and return whether there was one. One of
        several calls at once finds it.
        """
        query = {"id": id, "digest": digest}
        return bool(self._records._patch(None, changes, Params(query=query)))

    def remove(self, id: str) -> bool:
        """Remove a token, and return whether it was there: for one call at most."""
        return bool(self._records._remove(None, Params(query={"id": id})))

    def put_mark(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark, beside earlier ones of the key.

        :param key: The key of the access tokens, of 64 characters at most.
        :param issued_before: The time, in seconds since 1970.
        :param expires: The time when the mark can be deleted.
        """
        mark = {"kind": "mark", "owner": "", "digest": key, "state": ""}
        # Marks of one key that are stored at once do not wait for each other.
        times = {"issued": issued_before, "expires": expires}
        self.add({"id": secrets.token_hex(16), **mark, **times})

    def latest_mark(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""
        query = {"digest": {"$in": keys}, SORT: {"issued": -1}, LIMIT: 1}
        return next((mark["issued"] for mark in self._find(query)), 0)

    def checked_value(
        self, keys: tuple[str, ...], check: Callable[[t.Any], None]
    ) -> CheckedValue:
        """Return :meth:`latest_mark` as a part of a statement that reads a user."""
        values = {KEYS[0]: keys[0], KEYS[1]: keys[-1]}
        return CheckedValue(self._latest, values, self._database, check)

    def _find(self, query: Record) -> list[Record]:
        return t.cast("list[Record]", self._records._find(Params(query=query)))


def digest_of(text: str) -> str:
    """Return the digest of a token, or of another text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(*parts: t.Any) -> str:
    """Return a fingerprint of what a token depends on: texts, bytes and ``None``."""
    text = "\0".join(f"{part or ''}" for part in parts)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()
