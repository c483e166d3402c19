"""The work that a session has in progress."""

from __future__ import annotations

import re
import typing as t
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from ..transaction import Transaction
from .drivers import begin_writing

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import orm
    from sqlalchemy.engine import Transaction as Begun

WRITES: t.Final = re.compile(
    r"\W*(insert|update|delete|replace|merge|call|copy|create|alter|drop|truncate"
    r"|with\b.*\b(insert|update|delete|merge))\b",
    re.IGNORECASE | re.DOTALL,
)
"""The beginnings of statements in text that write."""

BEGINS: t.Final = "SAVEPOINT"
"""The beginning of statements that begin a savepoint."""

_statements: WeakKeyDictionary[Begun, int] = WeakKeyDictionary()
"""The number of statements that have written in a transaction of a connection, or in a
savepoint, since it began.
"""


class Work(t.NamedTuple):
    """The work that a session has in progress. It is false if there is none."""

    is_begun: bool
    """``True`` inside of ``with session.begin():``, or of a savepoint."""

    instances: frozenset[int]
    """The instances to write."""

    statements: int
    """The number of statements that have written."""

    def __bool__(self) -> bool:
        return self.is_begun or bool(self.instances) or self.statements > 0


NO_WORK: t.Final = Work(False, frozenset(), 0)


def count_writes() -> None:
    """Count the statements that write, on all engines, from now on. On SQLite, let
    savepoints inside of calls be parts of a transaction.
    """
    for name, listener in LISTENERS.items():
        if not sa.event.contains(sa.Engine, name, listener):
            sa.event.listen(sa.Engine, name, listener)


def work_of(session: orm.Session) -> Work:
    """Return the work that a session has in progress."""
    transactions = list(open_transactions(session))

    if not transactions:
        return NO_WORK

    # SQLAlchemy has no public name for it.
    block = t.cast("t.Any", session)._trans_context_manager
    is_begun = len(transactions) > 1 or block is not None
    changed = (each for each in session.dirty if session.is_modified(each))
    instances = frozenset(map(id, [*session.new, *session.deleted, *changed]))
    return Work(is_begun, instances, written_by(transactions[-1]))


def written_by(transaction: orm.SessionTransaction) -> int:
    """Return the number of statements that have written since a transaction or a
    savepoint of a session began.
    """
    entries = _entries(transaction)
    return sum(
        [_statements.get(begun, 0) for _, begun, is_ended, _ in entries if is_ended]
    )


def connections_of(session: orm.Session) -> set[sa.Connection]:
    """Return the connections that the transaction of a session has."""
    root = session.get_transaction()
    return set() if root is None else {entry[0] for entry in _entries(root)}


def open_transactions(session: orm.Session) -> Iterator[orm.SessionTransaction]:
    """Yield the savepoints of a session, innermost first, then its transaction."""
    transaction = session.get_nested_transaction() or session.get_transaction()

    while transaction is not None:
        yield transaction
        transaction = transaction.parent


def _entries(
    transaction: orm.SessionTransaction,
) -> set[tuple[sa.Connection, Begun, bool, bool]]:
    """Return the connections of a transaction, each with its own transaction, and with
    ``True`` if that ends with the session's.
    """
    # SQLAlchemy has no public name for them. Each is there twice.
    return set(t.cast("t.Any", transaction)._connections.values())


def _count(cursor: t.Any, statement: str, parameters: t.Any, context: t.Any) -> None:
    connection = context.root_connection

    if _is_write(statement, context):
        _add(connection, 1)
    elif statement.startswith(BEGINS) and Transaction.current_or_none():
        # Outside of a transaction, SQLite commits a savepoint when it is released.
        begin_writing(connection)


def _count_without_parameters(cursor: t.Any, statement: str, context: t.Any) -> None:
    _count(cursor, statement, None, context)


def _forget_failed(error: sa.ExceptionContext) -> None:
    connection, context = error.connection, error.execution_context

    if connection is None or connection.closed or context is None:
        return

    if error.statement is not None and _is_write(error.statement, context):
        _add(connection, -1)


def _is_write(statement: str, context: t.Any) -> bool:
    return (
        context.isinsert
        or context.isupdate
        or context.isdelete
        or (context.is_text and WRITES.match(statement) is not None)
    )


def _add(connection: sa.Connection, number: int) -> None:
    """Count statements of a transaction, and of all savepoints in it that are open."""
    transaction: t.Any = connection.get_nested_transaction()

    while transaction is not None:
        _statements[transaction] = _statements.get(transaction, 0) + number
        # SQLAlchemy has no public name for the savepoint around it.
        transaction = transaction._previous_nested

    root = connection.get_transaction()

    if root is not None:
        _statements[root] = _statements.get(root, 0) + number


LISTENERS: t.Final[Mapping[str, Callable[..., t.Any]]] = {
    "do_execute": _count,
    "do_executemany": _count,
    "do_execute_no_params": _count_without_parameters,
    "handle_error": _forget_failed,
}
"""The listeners of dialects. Those of engines would slow all statements down."""
