"""Sessions of the application that commit with a transaction of calls."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Callable
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from flask import current_app, has_app_context
from sqlalchemy import orm

from ..transaction import on_begin, Transaction
from .connections import begin_writing, check_transaction, count_writes, writes_in
from .database_errors import FAILED, translated

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from ..transaction import Conclusion

    Bind: t.TypeAlias = dict[str, t.Any]
    """The arguments by which a session finds the engine of a statement."""

SessionSource: t.TypeAlias = Callable[[], orm.Session] | orm.sessionmaker[orm.Session]

EXTENSION: t.Final = "records_sessions"
"""The key of the sessions that services of an application have been given."""

FOLLOWERS: t.Final = "records_followers"
"""The key in the ``info`` of a session with what follows its commits."""

LIBRARIES: t.Final = ("sqlalchemy.orm.session", "flask_sqlalchemy.session")
"""The modules whose sessions know their engine without any state of a request."""

NO_EXTENSION = """\
This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the service a \
'session': a sessionmaker, a scoped_session, or a function that returns a session.\
"""

ENDED: t.Final = """\
A hook or a method has ended the transaction of the session by 'commit', 'rollback', \
'close' or 'remove', which would keep a part of the call only. Leave that to the call.\
"""

logger = logging.getLogger(__package__)


def init_app(app: Flask) -> None:
    """Let the sessions of an application join the transactions in it, and count from
    now on the statements that write.

    :param app: The application.
    """
    app.extensions.setdefault(EXTENSION, {})
    count_writes()


def add_session(app: Flask, source: t.Any) -> None:
    """Add the session of a service, if it can join without being made.

    :param app: The application.
    :param source: The source of the service's sessions.
    """
    if isinstance(source, orm.scoped_session):
        app.extensions.setdefault(EXTENSION, {})[source] = None


def session_of_app() -> orm.Session:
    """Return the session that Flask-SQLAlchemy or Flask-SQLAlchemy-Lite has for the
    current application.

    :raises RuntimeError: The application has neither.
    """
    session = _source_of_app()
    return session if isinstance(session, orm.Session) else session()


def _source_of_app() -> t.Any:
    """Return the session of the current application, or a function that returns it.

    :raises RuntimeError: The application has none.
    """
    extension = current_app.extensions.get("sqlalchemy")

    if extension is None:
        raise RuntimeError(NO_EXTENSION)

    return extension.session


def join(source: t.Any) -> JoinedSession:
    """Return a session that has joined the transaction in progress. It joins now, if it
    has not.

    :param source: A session, a ``scoped_session``, which makes it when somebody uses
        it, a ``sessionmaker``, whose session is closed at the end of the transaction,
        or a function that returns a session of the application.
    """
    transaction = Transaction.current()

    if source is session_of_app:
        source = _source_of_app()

    if isinstance(source, orm.scoped_session):
        return transaction.join(source, lambda: JoinedSession(source))

    if isinstance(source, orm.sessionmaker):
        return transaction.join(source, lambda: JoinedSession(source, source()))

    session = source if isinstance(source, orm.Session) else source()

    # It may have joined as the session of a scoped_session.
    for joined in transaction.sessions:
        if joined.is_of(session):
            return joined

    # In a part, nobody can tell if the application wrote before the whole began.
    is_late = not transaction.is_outermost
    return transaction.join(
        session, lambda: JoinedSession(session, session, is_late=is_late)
    )


def _join_sessions(transaction: Transaction) -> None:
    if not has_app_context():
        return

    extensions = current_app.extensions
    session = getattr(extensions.get("sqlalchemy"), "session", None)

    # Another extension may have this name.
    if isinstance(session, (orm.scoped_session, orm.Session)):
        join(session)

    for source in extensions.get(EXTENSION, ()):
        join(source)


on_begin(_join_sessions)


class JoinedSession:
    """A database session that commits with a transaction, unless the application has
    begun to write there before: then it commits itself.

    :param source: The source of the session.
    :param session: The session, unless the source is a ``scoped_session``, which makes
        it when somebody uses it.
    :param is_late: ``True`` if all that it has in progress belongs to the transaction.
    """

    def __init__(
        self,
        source: t.Any,
        session: orm.Session | None = None,
        *,
        is_late: bool = False,
    ) -> None:
        self._source = source
        self._session = session
        used = self._session_in_use()
        self.is_in_progress = bool(used and not is_late and _has_work(used))
        """``True`` if the application had begun to write in the session before."""
        self._is_begun = used is not None
        self._writes_before = 0
        self._written: orm.SessionTransaction | None = None
        self._ending: orm.Session | None = None
        self._engines: dict[int, sa.Engine | sa.Connection] = {}

        if used is not None and self.is_in_progress:
            # The call is not to commit what it has not written itself.
            if Transaction.current().is_final:
                with translated():
                    used.flush()

            self._writes_before = _writes_of(used)

    @property
    def session(self) -> orm.Session:
        """The session. It is made now if there is none."""
        if self._session is None:
            self._session = self._source()

        return self._session

    @property
    def sample(self) -> orm.Session:
        """The session, or before its first use one that has the same engines and
        listeners.
        """
        if self._session is None and not self._source.registry.has():
            return _sample_of(self._source.session_factory) or self.session

        return self.session

    def is_of(self, session: orm.Session) -> bool:
        """Return ``True`` if a session is this one."""
        return session in (self._session, self._session_in_use())

    @property
    def is_used(self) -> bool:
        """``True`` if the session is in a transaction."""
        return self._session_in_use() is not None

    @property
    def has_written(self) -> bool:
        """``True`` if the transaction of the session writes, or has written."""
        session = self._session_in_use()

        if session is None:
            return False

        return self._written is session.get_transaction() or _writes_of(session) > 0

    def begin_writing(self, bind: Bind) -> None:
        """Make the session ready to write.

        :param bind: The arguments by which it finds the engine.
        """
        begin_writing(self.connection(bind))
        self._written = self.session.get_transaction()
        Transaction.current().protect(self._source)

    def engine(self, bind: Bind) -> sa.Engine | sa.Connection:
        """Return the engine of the session, or the connection that it is bound to.

        :param bind: The arguments by which it finds the engine.
        """
        engine = self._engines.get(id(bind))

        if engine is None:
            engine = self._engines[id(bind)] = self.session.get_bind(**bind)

        return engine

    def connection(self, bind: Bind) -> sa.Connection:
        """Return a connection of the session. A savepoint of the session begins with
        this.

        :param bind: The arguments by which it finds the engine.
        :raises RuntimeError: The application has ended the transaction that the call
            writes in.
        :raises Unavailable: The database does not give one.
        """
        self._check_written()

        with translated():
            engine = {"bind": self.engine(bind)}
            return self.session.connection(bind_arguments=engine)

    def savepoint(self) -> SessionSavepoint:
        """Return a savepoint of the database. Without a transaction, it is the point
        before its beginning.
        """
        session = self._session_in_use()
        self._check_written()

        with translated():
            begun = None if session is None else session.begin_nested()
            return SessionSavepoint(self, begun)

    def await_commit(self, conclusion: Conclusion) -> None:
        """Let a conclusion follow the commit of the application."""
        follow_commit(self.session, conclusion)

    def prepare(self) -> None:
        """Write what is left, and check that it can be committed.

        :raises RuntimeError: The application has ended the transaction, or caught an
            error for which the database will undo it.
        :raises Unavailable: The database has undone it already.
        """
        self._check_written()
        session = self._ending = self._session_to_end()

        if session is None:
            return

        with translated():
            session.flush()

        if not session.is_active:
            raise FAILED.error(FAILED.text)

        for connection, *_ in _connections_of(session.get_transaction()):
            check_transaction(connection)

    def commit(self) -> None:
        """Commit what is prepared."""
        if self._ending is not None:
            with translated():
                self._ending.commit()

            self._close(self._ending)

    def rollback(self) -> None:
        """Roll back, if the transaction is ours to end."""
        if session := self._session_to_end():
            session.rollback()
            self._close(session)

    def begin_again(self) -> None:
        """Roll back all that was done in a session that had not begun."""
        self._written = None
        session = self._session_in_use()

        if session is not None:
            session.rollback()

    def _close(self, session: orm.Session) -> None:
        if isinstance(self._source, orm.sessionmaker):
            session.close()

    def _session_in_use(self) -> orm.Session | None:
        """Return the session if it is in a transaction."""
        session = self._session

        if session is None:
            if not self._source.registry.has():
                return None

            session = self._source()

        return session if session.in_transaction() else None

    def _session_to_end(self) -> orm.Session | None:
        """Return the session if it has something to end with the transaction: it has
        begun, or written, since.
        """
        session = self._session_in_use()

        if (
            session is None
            or not self._is_begun
            or self._written is not None
            or _has_instances(session)
            or _writes_of(session) != self._writes_before
        ):
            return session

        return None

    def _check_written(self) -> None:
        written = self._written

        if written is not None and self.session.get_transaction() is not written:
            raise RuntimeError(ENDED)


class _Silence:
    """The listeners of a session that nobody listens to."""

    def __getattr__(self, name: str) -> t.Any:
        return lambda *args: None


class SessionSavepoint:
    """A savepoint of a session that the application may have ended.

    :param joined: The session.
    :param transaction: The savepoint, or ``None`` for the point before the beginning of
        the session's transaction.
    """

    def __init__(
        self, joined: JoinedSession, transaction: orm.SessionTransaction | None
    ) -> None:
        self._joined = joined
        self._transaction = transaction

    def commit(self) -> None:
        """Keep the writes since. What follows the commit of the savepoint follows that
        of the transaction around it, and no listener of the session hears of it: it is
        no commit.
        """
        session: t.Any = self._joined.session

        if self._transaction is None or not self._is_open:
            return

        session.flush()

        if FOLLOWERS in session.info:
            session.info[FOLLOWERS].keep(self._transaction)

        session.dispatch, dispatch = _Silence(), session.dispatch

        try:
            self._transaction.commit()
        finally:
            session.dispatch = dispatch

    def rollback(self) -> None:
        """Undo the writes since. If the database has undone more, nothing is written
        until the application rolls back.
        """
        if self._transaction is None:
            self._joined.begin_again()
        elif self._is_open:
            connections = _connections_of(self._transaction)

            try:
                self._transaction.rollback()
            except BaseException:
                for connection, *_ in connections:
                    connection.invalidate()

                raise

    @property
    def _is_open(self) -> bool:
        return self._transaction in [*_open_transactions(self._joined.session)]


NO_SAMPLE: t.Final = (None, None)

_samples: WeakKeyDictionary[t.Any, tuple[t.Any, orm.Session | None]]
_samples = WeakKeyDictionary()
"""Options and sessions that nobody writes with, by the factories that have made them.
"""


def _sample_of(factory: t.Any) -> orm.Session | None:
    """Return a session to ask for its engines and listeners in place of a new one, or
    ``None`` where a new one may have others.
    """
    if not isinstance(factory, orm.sessionmaker):
        return None

    options, sample = _samples.get(factory, NO_SAMPLE)

    if options != factory.kw:
        methods = (factory.class_.__init__, factory.class_.get_bind)
        is_usual = {each.__module__ for each in methods}.issubset(LIBRARIES)
        sample = factory() if is_usual else None
        _samples[factory] = {**factory.kw}, sample

    return sample


def _has_work(session: orm.Session) -> bool:
    """Return ``True`` if a session has instances to write, has written, or is in a
    savepoint or in the block of 'with session.begin():'.
    """
    root = session.get_transaction()
    return (
        _has_instances(session)
        or session.in_nested_transaction()
        or (root is not None and root.origin is orm.SessionTransactionOrigin.BEGIN)
        or _writes_of(session) > 0
    )


def _has_instances(session: orm.Session) -> bool:
    return bool(session.new or session.deleted) or any(
        session.is_modified(instance) for instance in session.dirty
    )


def _writes_of(session: orm.Session) -> int:
    """Return the number of statements that have written in a session's transaction."""
    root = session.get_transaction()
    connections = () if root is None else _connections_of(root)
    return sum(writes_in(begun) for _, begun, is_ended, _ in connections if is_ended)


def _connections_of(transaction: orm.SessionTransaction | None) -> set[t.Any]:
    """Return the connections of a transaction of a session, each with its own
    transaction, and with ``True`` if that ends with the session's.
    """
    # SQLAlchemy 2.0 has no public name for them. Each is there twice.
    return set(t.cast("t.Any", transaction)._connections.values())


def follow_commit(session: orm.Session, conclusion: Conclusion) -> None:
    """Let a conclusion follow the commit of the transaction that a session has in
    progress, or be dropped with it. A savepoint is committed with the transaction
    around it.
    """
    if FOLLOWERS not in session.info:
        session.info[FOLLOWERS] = _Followers(session)

    session.info[FOLLOWERS].add(next(_open_transactions(session)), conclusion)


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
        transaction = next(_open_transactions(session))

        if transaction.parent is None:
            for conclusion in self._conclusions.get(transaction, ()):
                conclusion.prepare()

    def _after_commit(self, session: orm.Session) -> None:
        self.keep(next(_open_transactions(session)))

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


def _open_transactions(session: orm.Session) -> Iterator[orm.SessionTransaction]:
    """Yield the savepoints of a session, innermost first, then its transaction."""
    transaction = session.get_nested_transaction() or session.get_transaction()

    while transaction is not None:
        yield transaction
        transaction = transaction.parent
