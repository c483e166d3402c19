"""Revoked tokens in a table of the application's database."""

from __future__ import annotations

import time
import typing as t

import sqlalchemy as sa
from sqlalchemy.orm import aliased, Mapped, mapped_column

from ..adapter import SQLAlchemyService
from ..adapter.database import Database
from ..adapter.sources import session_of_app
from ..context import Params
from ..query.plans import Plan
from ..service import Service
from ..service.events import Transports
from ..signals import CallSignals
from ..transaction import Transaction

if t.TYPE_CHECKING:
    from ..adapter.reading import Rows
    from ..adapter.sources import SessionSource
    from ..typing import Record

CLEANUP_SIZE: t.Final = 100
"""The number of expired marks that are removed at a time."""


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
        self._expired = _select_expired(model)

    def put(self, key: str, issued_before: int, expires: int) -> None:
        """Store a mark, and delete expired ones."""
        self._delete_expired()
        mark = {"key": key, "issued_before": issued_before, "expires": expires}
        self._records._create(mark)

    def latest(self, *keys: str) -> int:
        """Return the highest mark of one key or two, or 0."""
        # Each call with a token runs this statement, without the cost of a service.
        rows = self._rows(self._latest, {"one": keys[0], "other": keys[-1]})
        return rows[0][0] or 0

    def _delete_expired(self) -> None:
        # By their identifiers: a condition would lock rows that others insert.
        ids = [id for (id,) in self._rows(self._expired, {"now": int(time.time())})]

        if ids:
            self._records._remove(None, Params(query={"id": {"$in": ids}}))

    def _rows(self, statement: sa.Select[t.Any], parameters: Record) -> Rows:
        with Transaction(writes=False), self._database.reading() as reading:
            return reading.rows(Plan(statement, parameters))


def _select_expired(model: type[t.Any]) -> sa.Select[t.Any]:
    """Return a select of the marks that have expired, with all others of their keys."""
    other = aliased(model)
    is_kept = sa.exists().where(
        other.key == model.key, other.expires >= sa.bindparam("now")
    )
    return (
        sa.select(model.id)
        .where(model.expires < sa.bindparam("now"), ~is_kept)
        .limit(CLEANUP_SIZE)
    )
