"""Calls whose commit is left to the application, since they are a part of its work."""

from __future__ import annotations

import logging
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import Unavailable
from ..transaction import UNDONE

if t.TYPE_CHECKING:
    from ..transaction import Conclusion

KEY: t.Final = "records_host_commits"
"""The key in the ``info`` of a session that has them."""

logger = logging.getLogger(__package__)


class HostCommits:
    """Lets conclusions follow the commits of one session of the application."""

    def __init__(self, session: orm.Session) -> None:
        self._conclusions: dict[orm.SessionTransaction, list[Conclusion]] = {}
        self._committed: orm.SessionTransaction | None = None
        self._undone: orm.SessionTransaction | None = None
        # They stay, since a listener can't be removed while listeners run.
        sa.event.listen(session, "before_commit", self._before_commit)
        sa.event.listen(session, "after_commit", self._after_commit)
        sa.event.listen(session, "after_transaction_end", self._after_end)

    @classmethod
    def of(cls, session: orm.Session) -> HostCommits:
        """Return those of a session."""
        if KEY not in session.info:
            session.info[KEY] = cls(session)

        return t.cast("HostCommits", session.info[KEY])

    def add(self, session: orm.Session, conclusion: Conclusion) -> None:
        """Let a conclusion follow the commit of the transaction in progress, or be
        dropped with it. A savepoint is committed with the transaction around it.
        """
        self._conclusions.setdefault(_innermost(session), []).append(conclusion)

    def keep(self, savepoint: orm.SessionTransaction) -> None:
        """Let the conclusions of a savepoint that no listener hears the end of follow
        the transaction around it.
        """
        conclusions = self._conclusions.pop(savepoint, [])

        if conclusions and savepoint.parent is not None:
            self._conclusions.setdefault(savepoint.parent, []).extend(conclusions)

    def refuse(self, session: orm.Session) -> None:
        """Refuse to commit the transaction in progress, which the database has undone
        together with a part of it.
        """
        self._undone = session.get_transaction()

    def _before_commit(self, session: orm.Session) -> None:
        transaction = _innermost(session)

        if self._undone is not None and self._undone is session.get_transaction():
            raise Unavailable(UNDONE)

        if transaction.parent is None:
            for conclusion in self._conclusions.get(transaction, ()):
                conclusion.prepare()

    def _after_commit(self, session: orm.Session) -> None:
        self._committed = _innermost(session)

    def _after_end(
        self, session: orm.Session, transaction: orm.SessionTransaction
    ) -> None:
        conclusions = self._conclusions.pop(transaction, [])

        if not conclusions:
            return

        if transaction is not self._committed:
            for conclusion in conclusions:
                conclusion.drop()
        elif transaction.parent is not None:
            self._conclusions.setdefault(transaction.parent, []).extend(conclusions)
        else:
            _run(session, conclusions)


def _innermost(session: orm.Session) -> orm.SessionTransaction:
    transaction = session.get_nested_transaction() or session.get_transaction()
    return t.cast("orm.SessionTransaction", transaction)


def _run(session: t.Any, conclusions: list[Conclusion]) -> None:
    # Receivers of events use the session, which 'with session.begin():' would refuse
    # until the end of its block.
    block, session._trans_context_manager = session._trans_context_manager, None

    try:
        for conclusion in conclusions:
            try:
                conclusion.run()
            except Exception:
                # The application has committed.
                logger.exception("What follows a commit has failed.")
    finally:
        session._trans_context_manager = block
