"""Connections that read."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.dialects import add_functions, HAS_FUNCTIONS
from ..query.plans import Plan
from .database_errors import Attempt, raise_translated, translated
from .drivers import fails_as_a_whole, without_transaction

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..query.resolution import ResolvedQuery
    from .joined_session import JoinedSession

    Mapper: t.TypeAlias = orm.Mapper[t.Any]
    Rows: t.TypeAlias = Sequence[sa.Row[t.Any]]

NO_OPTIONS: t.Final[dict[str, t.Any]] = {}


def rows_of(executor: sa.Connection | orm.Session, plan: Plan) -> Rows:
    """Return the rows of a plan."""
    statement, parameters, options, *_ = plan
    return executor.execute(
        statement, parameters, execution_options=options or NO_OPTIONS
    ).all()


class EngineReading:
    """A connection that reads outside of sessions, given back at the end."""

    def __init__(self, engine: sa.Engine) -> None:
        self.dialect = engine.dialect
        """The dialect of the database."""
        self._engine = engine
        self._query: ResolvedQuery | None = None

    def __enter__(self) -> t.Self:
        with translated():
            self._connection = connection = self._engine.connect()
            self._driver = None

            if self.dialect.name == "postgresql":
                self._driver = without_transaction(connection)
            elif HAS_FUNCTIONS not in connection.info:
                add_functions(connection)

        return self

    def __exit__(self, kind: t.Any, error: BaseException | None, trace: t.Any) -> None:
        with translated():
            self._give_back_connection()

        if error is not None:
            raise_translated(error, Attempt(query=self._query, dialect=self.dialect))

    def _give_back_connection(self) -> None:
        try:
            if self._driver is not None and not self._driver.closed:
                self._driver.autocommit = False
        except BaseException:
            # Nobody else must get it like this.
            self._connection.invalidate()
            raise
        finally:
            self._connection.close()

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        self._query = plan.query
        return rows_of(self._connection, plan)


class SessionReading:
    """A session that reads in its transaction.

    :param is_filtered: ``False`` to read also what conditions leave out that the
        application adds to all reads of the session.
    """

    def __init__(
        self, joined: JoinedSession, mapper: Mapper, *, is_filtered: bool = True
    ) -> None:
        self.dialect = joined.session.get_bind(mapper).dialect
        """The dialect of the database."""
        self._joined = joined
        self._mapper = mapper
        self._is_filtered = is_filtered
        self._query: ResolvedQuery | None = None

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, kind: t.Any, error: BaseException | None, trace: t.Any) -> None:
        if error is not None:
            raise_translated(error, Attempt(query=self._query, dialect=self.dialect))

    def rows(self, plan: Plan) -> Rows:
        """Return the rows of a plan."""
        self._query = plan.query
        session = self._joined.session

        if session.autoflush:
            session.flush()

        connection = self._joined.connection(self._mapper)
        # The application may add conditions to the reads of the session.
        is_filtered = self._is_filtered and session.dispatch.do_orm_execute
        executor = session if is_filtered else connection

        if not (plan.may_fail and fails_as_a_whole(connection)):
            return rows_of(executor, plan)

        # A hook that catches the error goes on.
        with connection.begin_nested():
            return rows_of(executor, plan)


Reading: t.TypeAlias = EngineReading | SessionReading
