"""Writes in the session of a call."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.plans import Plan
from .database_errors import Attempt, translated
from .reading import NO_OPTIONS, rows_of, SessionReading

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    from ..query import Fields
    from ..query.resolution import ResolvedQuery
    from ..typing import Record
    from .joined_session import JoinedSession
    from .reading import Rows

    Mapper: t.TypeAlias = orm.Mapper[t.Any]


WRITTEN: t.Final = "records_written"
"""The key in the ``info`` of a session with the instances that a service writes."""


def is_written_by_service(session: orm.Session, instance: t.Any) -> bool:
    """Return ``True`` for an instance that a service is writing now."""
    return id(instance) in session.info.get(WRITTEN, ())


class Writing:
    """Writes in the session of a call. Each method raises the errors of the database as
    errors that a client can see.

    :param fields: The fields that an error may name.
    """

    def __init__(
        self,
        joined: JoinedSession,
        mapper: Mapper,
        fields: Fields,
        client_fields: Collection[str],
    ) -> None:
        self.session = joined.session
        """The session."""
        self._joined = joined
        self._mapper = mapper
        self._fields = fields
        self._client_fields = client_fields

    @cached_property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database."""
        return self._joined.connection(self._mapper).dialect

    def reading(self) -> SessionReading:
        """Return a context manager that reads in the same transaction, also records
        that the application hides from reads now, such as deleted ones.
        """
        return SessionReading(self._joined, self._mapper, is_filtered=False)

    def instances(self, plan: Plan) -> list[t.Any]:
        """Return the instances that a plan loads."""
        statement, parameters, options, query, _ = plan

        with self._translated(query=plan.query):
            result = self.session.scalars(
                statement, parameters, execution_options=options or NO_OPTIONS
            )
            return list(result)

    @contextmanager
    def of(self, instances: Sequence[t.Any]) -> Iterator[None]:
        """Remember that a service writes instances, and sends their events."""
        info = self.session.info
        info[WRITTEN] = set(map(id, instances))

        try:
            yield
        finally:
            del info[WRITTEN]

    def flush(self, bodies: Sequence[Record] = ()) -> None:
        """Write the changes of the session's instances.

        :param bodies: The values of the fields. None for a removal.
        """
        with self._translated(bodies):
            self.session.flush()

    def rows(self, plan: Plan, bodies: Sequence[Record] = ()) -> Rows:
        """Return the rows of a plan that writes, after all that the session has to
        write before.

        :param bodies: The values of the fields. None for a removal.
        """
        with self._translated(bodies, plan.query):
            return rows_of(self._connection(), plan)

    def _connection(self) -> sa.Connection:
        self.session.flush()
        return self._joined.connection(self._mapper)

    def _translated(
        self, bodies: Sequence[Record] = (), query: ResolvedQuery | None = None
    ) -> AbstractContextManager[None]:
        attempt = Attempt(
            self._fields, bodies, self._client_fields, query, self.dialect
        )
        return translated(attempt)
