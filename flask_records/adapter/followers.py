"""Conclusions that follow the commits of the application's sessions."""

from __future__ import annotations

import logging
import typing as t

import sqlalchemy as sa

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import orm

    from ..transaction import Conclusion

FOLLOWERS: t.Final = "records_followers"
"""The key in the ``info`` of a session with what follows its commits."""

logger = logging.getLogger(__package__)


def follow_commit(session: orm.Session, conclusion: Conclusion) -> None:
    """Let a conclusion follow the commit of the transaction that a session has in
    progress, or be dropped with it. A savepoint is committed with the transaction
    around it.
    """
    if FOLLOWERS not in session.info:
        session.info[FOLLOWERS] = _Followers(session)

    session.info[FOLLOWERS].add(next(open_transactions(session)), conclusion)


def keep_conclusions(session: orm.Session, savepoint: orm.SessionTransaction) -> None:
    """Let the conclusions of a savepoint follow the transaction around it."""
    if FOLLOWERS in session.info:
        session.info[FOLLOWERS].keep(savepoint)


class _Followers:
    """Lets conclusions follow the commits of one session of the application."""

    def __init__(self, session: orm.Session) -> None:
        self._conclusions: dict[orm.SessionTransaction | None, list[Conclusion]] = {}
        # They stay, since a listener can't be removed while listeners run.
        sa.event.listen(session, "before_commit", self._before_commit)
        sa.event.listen(session, "after_commit", self._after_commit)
        sa.event.listen(session, "after_transaction_end", self._after_end)

    def add(
        self, transaction: orm.SessionTransaction | None, *conclusions: Conclusion
    ) -> None:
        """Let conclusions follow a transaction, or be run as it has ended."""
        self._conclusions.setdefault(transaction, []).extend(conclusions)

    def keep(self, transaction: orm.SessionTransaction) -> None:
        """Let the conclusions of a savepoint follow the transaction around it."""
        self.add(transaction.parent, *self._conclusions.pop(transaction, ()))

    def _before_commit(self, session: orm.Session) -> None:
        transaction = next(open_transactions(session))

        if transaction.parent is None:
            for conclusion in self._conclusions.get(transaction, ()):
                conclusion.prepare()

    def _after_commit(self, session: orm.Session) -> None:
        self.keep(next(open_transactions(session)))

    def _after_end(self, session: t.Any, transaction: orm.SessionTransaction) -> None:
        for conclusion in self._conclusions.pop(transaction, ()):
            conclusion.drop()

        if transaction.parent is not None:
            return

        # Receivers of events use the session, which 'with session.begin():' would
        # refuse until the end of its block.
        block, session._trans_context_manager = session._trans_context_manager, None

        try:
            for conclusion in self._conclusions.pop(None, ()):
                _run(conclusion)
        finally:
            session._trans_context_manager = block


def _run(conclusion: Conclusion) -> None:
    try:
        conclusion.run()
    except Exception:
        # The application has committed.
        logger.exception("What follows a commit has failed.")


def open_transactions(session: orm.Session) -> Iterator[orm.SessionTransaction]:
    """Yield the savepoints of a session, innermost first, then its transaction."""
    transaction = session.get_nested_transaction() or session.get_transaction()

    while transaction is not None:
        yield transaction
        transaction = transaction.parent
