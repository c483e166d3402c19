"""Functions that follow the commits of sessions."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Callable

import sqlalchemy as sa

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import orm

FOLLOWERS: t.Final = "records_followers"
"""The key in the ``info`` of a session with the functions by the transaction that they
follow. The ones of ``None`` follow one that is committed.
"""

logger = logging.getLogger(__package__)


def follow_commit(session: orm.Session, function: Callable[[], None]) -> None:
    """Call a function after the commit of the transaction that a session has in
    progress, unless it is rolled back. A savepoint is committed with the transaction
    around it.
    """
    if FOLLOWERS not in session.info:
        session.info[FOLLOWERS] = {}
        # The listeners stay: none can be removed while listeners run.
        sa.event.listen(session, "after_commit", _after_commit)
        sa.event.listen(session, "after_transaction_end", _after_end)

    transaction = next(open_transactions(session))
    session.info[FOLLOWERS].setdefault(transaction, []).append(function)


def follow_parent(session: orm.Session, savepoint: orm.SessionTransaction) -> None:
    """Let the functions of a savepoint follow the transaction around it."""
    followers = session.info.get(FOLLOWERS, {})

    if functions := followers.pop(savepoint, ()):
        followers.setdefault(savepoint.parent, []).extend(functions)


def _after_commit(session: orm.Session) -> None:
    follow_parent(session, next(open_transactions(session)))


def _after_end(session: t.Any, transaction: orm.SessionTransaction) -> None:
    followers = session.info[FOLLOWERS]
    # The functions that are left belong to a transaction that was rolled back.
    followers.pop(transaction, None)

    if transaction.parent is not None:
        return

    # Receivers of events use the session, which 'with session.begin():' would refuse
    # until the end of its block.
    block, session._trans_context_manager = session._trans_context_manager, None

    try:
        for function in followers.pop(None, ()):
            try:
                function()
            except Exception:
                # The application has committed.
                logger.exception("What follows a commit has failed.")
    finally:
        session._trans_context_manager = block


def open_transactions(session: orm.Session) -> Iterator[orm.SessionTransaction]:
    """Yield the savepoints of a session, innermost first, then its transaction."""
    transaction = session.get_nested_transaction() or session.get_transaction()

    while transaction is not None:
        yield transaction
        transaction = transaction.parent
