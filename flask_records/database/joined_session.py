"""Sessions of the application that commit with the transactions of calls."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from flask import current_app
from sqlalchemy import orm

from .commit_followers import follow_commit, follow_parent, open_transactions
from .connections import (
    begin_writing,
    check_transaction,
    connect_to_write,
    listens,
    writes_in,
)
from .database_errors import FAILED, translated
from .transaction import app_in_use, on_begin, Transaction

if t.TYPE_CHECKING:
    from collections.abc import Hashable

    from flask import Flask

    # The arguments by which a session finds the engine of a statement.
    Bind: t.TypeAlias = dict[str, t.Any]
    # ``None`` is the point before the beginning of the session's transaction.
    Savepoint: t.TypeAlias = orm.SessionTransaction | None

SessionSource: t.TypeAlias = Callable[[], orm.Session] | orm.sessionmaker[orm.Session]

EXTENSION: t.Final = "records_sessions"
"""The key of the sessions that services of an application have been given."""

NO_EXTENSION = """\
This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the service a \
'session': a sessionmaker, a scoped_session, or a function that returns a session.\
"""

NO_SESSION: t.Final = """\
The 'session' of a service gives an object of '{0}'. Give it a sessionmaker, a \
scoped_session, or a function that returns a Session, not one for asyncio.\
"""

LIBRARIES: t.Final = ("sqlalchemy.orm.session", "flask_sqlalchemy.session")
"""The modules whose sessions know their engine without any state of a request."""

ENDED: t.Final = """\
A hook or a method has ended the transaction of the session by 'commit', 'rollback', \
'close', 'remove' or the end of 'with app.app_context():', which would keep a part of \
the call only. Leave that to the call, and use the context that it has.\
"""

COMMIT_EVENTS: t.Final = (
    *("before_commit", "after_commit", "after_rollback", "after_soft_rollback"),
    "after_transaction_end",
)
"""The events of a session by which an application follows its commits."""


class JoinedSession:
    """A database session that commits with a transaction, unless the application has
    begun to write there before: then it commits itself.

    A call that writes may begin on a connection of its own, since the transaction of a
    session takes a fifth of the time of a create. The session takes the connection over
    as soon as somebody begins to use it.
    """

    errors: translated | None = None
    """Raises the errors of the commit as errors that a client can see."""

    def __init__(self, source: t.Any) -> None:
        self._source = source
        self._session: orm.Session | None = None

        if not isinstance(source, orm.scoped_session):
            self._session = source if isinstance(source, orm.Session) else source()

        self.own: sa.Connection | None = None
        """The connection of the call, as long as nobody has used the session."""
        self._connection: sa.Connection | None = None
        self._scope: Hashable = None
        self._binds: dict[t.Any, sa.Engine | sa.Connection] = {}
        session = self.in_use
        self.is_in_progress = session is not None and _has_work(session)
        """``True`` if the application had begun to write in the session before."""
        self._is_begun = session is not None
        self._writes_before = 0
        self._written: orm.SessionTransaction | None = None
        self._ending: orm.Session | None = None

        if session is not None and self.is_in_progress:
            # The call is not to commit what it has not written itself.
            if Transaction.current().is_final:
                with translated():
                    session.flush()

            self._writes_before = _writes_of(session)

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
        session = self._opened
        return session or _sample_of(self._source.session_factory) or self.session

    @property
    def _opened(self) -> orm.Session | None:
        """The session, if somebody has made it."""
        if self._session is None and self._source.registry.has():
            return t.cast("orm.Session", self._source())

        return self._session

    def bind(self, bind: Bind) -> sa.Engine | sa.Connection:
        """Return the engine or connection of a statement."""
        mapper = bind["mapper"]

        if mapper in self._binds:
            return self._binds[mapper]

        sample = self.sample
        target = sample.get_bind(**bind)

        # A session that routes statements may have another one for each.
        if has_usual_binds(sample):
            self._binds[mapper] = target

        return target

    def is_of(self, session: orm.Session) -> bool:
        """Return ``True`` if a session is this one."""
        return session is self._opened

    @property
    def is_used(self) -> bool:
        """``True`` if there is something to commit, to roll back or to miss."""
        return bool(self.own or self._connection or self._written or self.in_use)

    @property
    def in_use(self) -> orm.Session | None:
        """The session if it is in a transaction."""
        session = self._opened
        return session if session is not None and session.in_transaction() else None

    @property
    def has_written(self) -> bool:
        """``True`` if the transaction of the session writes, or has written."""
        session = self.in_use
        return self.own is not None or (
            session is not None
            and (self._written is session.get_transaction() or _writes_of(session) > 0)
        )

    def begin_alone(self, engine: sa.Engine) -> sa.Connection:
        """Return a connection that is ready to write, as nobody uses the session or
        listens to it.
        """
        self._check_written()

        if self.own is None:
            if self._session is None:
                scope = getattr(self._source.registry, "scopefunc", None)
                # The context of a thread has no name.
                self._scope = scope() if scope else None
                self._session = None if scope else self._source()

            self.own = connect_to_write(engine)

        return self.own

    def give_connection(self, session: orm.Session) -> None:
        """Let a session that begins, if it is this one, go on with the connection of
        the call.
        """
        own = self.own

        if own is None or session is not self._made_session:
            return

        self.own, self._connection = None, own
        mode = session.join_transaction_mode
        session.join_transaction_mode = "control_fully"

        try:
            session.connection(bind_arguments={"bind": own})
        finally:
            session.join_transaction_mode = mode

        self._written = session.get_transaction()

    @property
    def _made_session(self) -> orm.Session | None:
        """The session of a call that has begun alone, if somebody has made it."""
        if self._session is None:
            self._session = self._source.registry.registry.get(self._scope)

        return self._session

    def begin_writing(self, bind: Bind) -> sa.Connection:
        """Make the session ready to write, and return its connection."""
        self._check_written()

        with translated():
            connection = self.session.connection(bind_arguments=bind)
            begin_writing(connection)

        self._written = self.session.get_transaction()
        Transaction.protect(self._source)
        return connection

    def connection(self, bind: Bind) -> sa.Connection:
        """Return a connection of the session, with which its savepoint begins."""
        self._check_written()

        if self.own is not None and self.own.engine is self.bind(bind):
            return self.own

        with translated():
            return self.session.connection(bind_arguments=bind)

    def savepoint(self) -> Savepoint:
        session = self.session if self.own is not None else self.in_use
        self._check_written()

        with translated():
            return None if session is None else session.begin_nested()

    def release(self, savepoint: Savepoint) -> None:
        """Keep the writes since a savepoint. Listeners are silenced: releasing it is
        not a commit.
        """
        if savepoint is None or savepoint not in open_transactions(self.session):
            return

        session: t.Any = self.session
        follow_parent(session, savepoint)
        session.dispatch, dispatch = _Silence(), session.dispatch

        try:
            savepoint.commit()
        finally:
            session.dispatch = dispatch

    def undo(self, savepoint: Savepoint) -> None:
        """Undo the writes since a savepoint. If the database has undone more, nothing
        is written until the application rolls back.
        """
        if savepoint is None:
            self._written = None

            if session := self.in_use:
                session.rollback()

            self._roll_back_own()
        elif savepoint in open_transactions(self.session):
            connections = _connections_of(savepoint)

            try:
                savepoint.rollback()
            except BaseException:
                for connection, *_ in connections:
                    connection.invalidate()

                raise

    def await_commit(self, function: Callable[[], None]) -> None:
        """Call a function after the commit of the application."""
        follow_commit(self.session, function)

    def prepare(self) -> None:
        """Write what is left, and check that it can be committed."""
        self._check_written()
        session = self._ending = self._session_to_end()

        if self.own is not None:
            check_transaction(self.own)

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
        ending = self._ending or self.own

        if ending is not None:
            with self.errors or translated():
                ending.commit()

        self._close()

    def rollback(self) -> None:
        """Roll back, if the transaction is ours to end."""
        try:
            if session := self._session_to_end():
                session.rollback()
        finally:
            self._roll_back_own()

    def _roll_back_own(self) -> None:
        try:
            # After a commit that has failed, close() alone would leave SQLite's
            # transaction as it is, open.
            if self.own is not None:
                self.own.rollback()
        finally:
            self._close()

    def _close(self) -> None:
        """Give the connection of the call back."""
        connection = self.own or self._connection
        self.own = self._connection = None

        if connection is not None:
            connection.close()

    def _session_to_end(self) -> orm.Session | None:
        """Return the session if it has begun, or written, in the transaction."""
        unused = None if self.own is None else self._made_session

        # A hook may have begun to follow its commits.
        if unused is not None and listens(unused.dispatch, COMMIT_EVENTS):
            self.give_connection(unused)

        session = self.in_use

        has_work = (
            session is None
            or not self._is_begun
            or self._written is not None
            or _has_instances(session)
            or _writes_of(session) != self._writes_before
        )
        return session if has_work else None

    def _check_written(self) -> None:
        written = self._written

        if written is not None and self.session.get_transaction() is not written:
            raise RuntimeError(ENDED)


class _Silence:
    """The listeners of a session that nobody listens to."""

    def __getattr__(self, name: str) -> t.Any:
        return lambda *args: None


_samples: WeakKeyDictionary[t.Any, tuple[t.Any, orm.Session | None]]
_samples = WeakKeyDictionary()
"""Options and sessions that nobody writes with, by their factories."""


def _sample_of(factory: t.Any) -> orm.Session | None:
    """Return a session to ask for its engines and listeners in place of a new one, or
    ``None`` where a new one may have others.
    """
    if type(factory) is not orm.sessionmaker:
        return None

    options, sample = _samples.get(factory, (None, None))

    if options != factory.kw:
        sample = factory() if has_usual_binds(factory.class_) else None
        _samples[factory] = {**factory.kw}, sample

    return sample


def has_usual_binds(session: t.Any) -> bool:
    """Return ``True`` if a session, or each of a class, knows its engines without any
    state of a request.
    """
    modules = session.__init__.__module__, session.get_bind.__module__
    return modules[0] in LIBRARIES and modules[1] in LIBRARIES


def follow_sessions() -> None:
    """Let each session that begins go on with the connection of its call."""
    if not sa.event.contains(orm.Session, "after_transaction_create", _after_create):
        sa.event.listen(orm.Session, "after_transaction_create", _after_create)


def _after_create(session: orm.Session, created: orm.SessionTransaction) -> None:
    transaction = Transaction.current_or_none()

    if transaction is not None and created.parent is None:
        for joined in transaction.sessions:
            joined.give_connection(session)


def _has_work(session: orm.Session) -> bool:
    """Return ``True`` if a session has instances to write, has written, or is in a
    savepoint or in the block of 'with session.begin():'.
    """
    root = session.get_transaction()
    # In a part, nobody can know if the application wrote before the whole began.
    return Transaction.current().is_outermost and (
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
    """Return the connections of a transaction, each with its own transaction, and
    ``True`` if that ends with it.
    """
    # SQLAlchemy 2.0 has no public name for them. Each is there twice.
    return set(t.cast("t.Any", transaction)._connections.values())


def add_session(app: Flask, source: t.Any) -> None:
    """Add the session of a service, if it can join without being made."""
    if isinstance(source, orm.scoped_session):
        app.extensions.setdefault(EXTENSION, {})[source] = None


def session_of_app() -> orm.Session:
    """Return the session that Flask-SQLAlchemy or Flask-SQLAlchemy-Lite has for the
    current application, which may be a ``scoped_session``.

    :raises RuntimeError: The application has neither.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
    extension = app.extensions.get("sqlalchemy")

    if extension is None:
        raise RuntimeError(NO_EXTENSION)

    session: orm.Session = extension.session
    return session


def join(source: t.Any) -> JoinedSession:
    """Return a session that has joined the transaction in progress. It joins now, if it
    has not.

    :param source: A session, a ``scoped_session``, which makes it when somebody uses
        it, a ``sessionmaker``, whose session is used for the transaction alone, or a
        function that returns a session of the application.
    """
    if source is session_of_app:
        source = session_of_app()

    if not isinstance(source, (orm.scoped_session, orm.sessionmaker)):
        source = source if isinstance(source, orm.Session) else source()

        if not (isinstance(source, orm.Session) or callable(source)):
            raise TypeError(NO_SESSION.format(type(source).__name__))

        # The session may have joined through its scoped_session.
        for joined in Transaction.current().sessions:
            if joined.is_of(source):
                return joined

    return Transaction.join(source, lambda: JoinedSession(source))


def _join_sessions(transaction: Transaction) -> None:
    app = app_in_use()

    if app is None:
        return

    extensions = app.extensions
    session = getattr(extensions.get("sqlalchemy"), "session", None)

    # Another extension may have this name.
    if isinstance(session, (orm.scoped_session, orm.Session)):
        join(session)

    for source in extensions.get(EXTENSION, ()):
        join(source)


on_begin(_join_sessions)
