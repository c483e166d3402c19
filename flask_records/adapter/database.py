"""The database of a model: where a call reads, and where it writes."""

from __future__ import annotations

import typing as t
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy import orm

from ..transaction import Transaction
from .database_errors import READ_ONLY
from .drivers import listens
from .joined_session import join, JoinedSession
from .reading import EngineReading, Reading, SessionReading
from .sources import session_of_app, source_of_app
from .writing import Writing

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..query import Fields
    from .sources import SessionSource

    Mapper: t.TypeAlias = orm.Mapper[t.Any]

TRANSACTION_EVENTS: t.Final = ("after_begin", "after_transaction_create")
"""The events of a session by which an application prepares its transactions, for
example for a tenant.
"""

READ_ONLY_VIEW: t.Final = sa.text("""\
    SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = :name AND NOT EXISTS
    (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :name)
""")
"""The statement that finds a view of SQLite without triggers."""


class Database:
    """The database of a model."""

    def __init__(self, source: SessionSource, mapper: Mapper) -> None:
        self._source = source
        self._mapper = mapper
        self._read_only: WeakKeyDictionary[sa.Engine, bool] = WeakKeyDictionary()

    def begin_writing(self) -> None:
        """Make the session of the transaction in progress ready to write. SQLite's
        write lock is taken now, before the call reads anything that others could
        change until it writes.
        """
        self._joined().begin_writing(self._mapper)

    def begin_reading(self) -> None:
        """Join the transaction in progress, so that it ends what hooks begin in the
        session. No session is made for this.
        """
        source = self._source

        # That of the application has joined when the transaction began.
        if source is not session_of_app and not isinstance(source, orm.sessionmaker):
            self._joined()

    def reading(self) -> Reading:
        """Return a context manager that runs statements that read, on one connection.
        They see all that the session of the call has written. A read by itself needs
        neither a session nor a transaction.
        """
        engine = _free_engine(self._session(), self._mapper)

        if engine is not None:
            return EngineReading(engine)

        return SessionReading(self._joined(), self._mapper)

    def writing(self, fields: Fields, client_fields: Collection[str]) -> Writing:
        """Return an object that writes in the transaction in progress.

        :param fields: The fields that an error may name.
        :raises MethodNotAllowed: The model is a view that SQLite does not write.
        """
        joined = self._joined()
        connection = joined.connection(self._mapper)

        # With RETURNING, SQLite takes a write to a view, and does nothing.
        if connection.dialect.name == "sqlite" and self._is_read_only(connection):
            raise READ_ONLY.error(READ_ONLY.text)

        return Writing(joined, self._mapper, fields, client_fields)

    def _is_read_only(self, connection: sa.Connection) -> bool:
        answer = self._read_only.get(connection.engine)

        if answer is None:
            name = {"name": getattr(self._mapper.local_table, "name", None)}
            answer = connection.execute(READ_ONLY_VIEW, name).first() is not None
            self._read_only[connection.engine] = answer

        return answer

    def _joined(self) -> JoinedSession:
        """Return the session of the transaction in progress.

        A session that a ``sessionmaker`` makes is closed at the end of the transaction.
        Any other session belongs to the application, as one of a web request does.
        """
        source = self._shared_source()

        if isinstance(source, orm.sessionmaker):
            return Transaction.current().join(
                source, lambda: JoinedSession(source(), key=source, is_own=True)
            )

        return join(source)

    def _session(self) -> orm.Session:
        """Return the session to read with."""
        source = self._shared_source()

        if isinstance(source, orm.sessionmaker):
            joined = Transaction.current().participant(source)

            if joined is not None:
                return t.cast(JoinedSession, joined).session

        return source if isinstance(source, orm.Session) else source()

    def _shared_source(self) -> t.Any:
        """Return the source, or the object of the current application that it uses."""
        source = self._source
        return source_of_app() if source is session_of_app else source


def _free_engine(session: orm.Session, mapper: Mapper) -> sa.Engine | None:
    """Return the engine to read from, or ``None`` if the session has to read."""
    # The application may add conditions to what a session reads.
    if session.dispatch.do_orm_execute or session.in_transaction():
        return None

    if listens(session.dispatch, TRANSACTION_EVENTS):
        return None

    bind = session.get_bind(mapper)
    return bind if isinstance(bind, sa.Engine) else None
