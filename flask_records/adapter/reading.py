"""The records and the instances that one call is about."""

from __future__ import annotations

import typing as t
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from ..errors import NotFound
from ..query.field import shown
from ..query.statements import ID
from ..query.statements import KEYS
from ..query.statements import LIMIT
from ..query.statements import SKIP
from ..query.values import cast
from .database_errors import translated
from .deep import deep_page
from .selection import Selection

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..context import Params
    from ..query import Fields
    from ..query import Query
    from ..query.shape import Reading
    from ..typing import Id
    from ..typing import Record
    from .audience import Audience
    from .populate import Populate
    from .session import SessionScope

DEEP: t.Final = 1000
"""How many records are skipped by their primary keys alone, if that can be done."""

CHUNK: t.Final = 500
"""How many primary keys one statement names."""

UNCACHED: t.Final[dict[str, t.Any]] = {"compiled_cache": None}
"""The options of a statement that SQLAlchemy does not keep once it is compiled."""


@dataclass(frozen=True)
class Reader:
    """Reads what one call is about. Nothing is read before a method is called.

    :raises BadRequest: The query does not fit the fields.
    """

    scope: SessionScope
    """The session to read with."""

    audience: Audience
    """Who asks."""

    query: Query
    """What is asked for."""

    params: Params
    """What accompanies the call."""

    populate: Populate
    """The relationships that can be loaded."""

    def records(self, limit: int | None) -> list[Record]:
        """Return the records of the query.

        :param limit: How many at most, or ``None`` for all.
        """
        return self.selection.records(self.rows(limit))

    def rows(self, limit: int | None) -> Sequence[sa.Row[t.Any]]:
        """Return the rows of the query, of which :attr:`selection` makes records.

        :param limit: How many at most, or ``None`` for all.
        """
        selection, reading = self.selection, self.reading

        # The query is checked even if nothing is read.
        if limit == 0:
            return []

        skip = self.query.skip

        if limit is not None and skip >= DEEP:
            rows = deep_page(self, limit)

            if rows is not None:
                return rows

        statement = self.audience.statements.records(
            reading,
            selection.columns,
            selection.key,
            limited=limit is not None,
            skipping=bool(skip),
            nulls=self._has_great_nulls,
        )
        parameters = {**reading.parameters, LIMIT: limit, SKIP: skip}
        return selection.rows(statement, parameters)

    def record(self, id: Id) -> Record:
        """Return the record of an identifier, if it matches the query.

        :raises NotFound: There is none.
        """
        selection, reading = self.selection, self.reading
        statement = self.audience.statements.records(
            reading, selection.columns, selection.key, one=True
        )
        parameters = {**reading.parameters, ID: self.identifier(id)}
        records = selection.read(statement, parameters)

        if not records:
            raise not_found(id)

        return records[0]

    def count(self) -> int:
        """Return how many records match the query."""
        reading = self.reading
        statement = self.audience.statements.count(reading)

        with translated(), self.scope.reading(self.mapper) as connection:
            found = connection.execute(
                statement, reading.parameters, execution_options=self.options
            )
            return t.cast(int, found.scalar_one())

    def check(self) -> None:
        """Refuse a query that is wrong, for a call that reads nothing by it."""
        _ = self.selection, self.reading

    def instance(self, id: Id) -> t.Any:
        """Return the instance to write, which nobody else writes until the commit.

        :param id: The identifier of the record.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        statement = self._select_instances()
        is_it = self._fields.id.column == self.identifier(id)
        instances = self._instances(statement.where(is_it).limit(1))

        if not instances:
            raise not_found(id)

        return instances[0]

    def instances(self, at_most: int | None) -> list[t.Any]:
        """Return the instances of the query to write, which nobody else writes until
        the commit.

        :param at_most: The number of instances to load at most, or ``None`` for all.
        """
        statement = self._select_instances()
        limits = [n for n in (self.query.limit, at_most) if n is not None]

        if self.query.limit == 0:
            return []

        return self._instances(statement.limit(min(limits, default=None)))

    def _instances(self, statement: sa.Select[t.Any]) -> list[t.Any]:
        statement = (
            statement.options(orm.lazyload("*"))
            .with_for_update(of=self._fields.model)
            .execution_options(populate_existing=True)
        )

        with translated():
            return list(
                self.scope.session.scalars(statement, execution_options=self.options)
            )

    def read_back(self, instances: Sequence[t.Any]) -> list[Record]:
        """Return the records of instances, in their order, as a read gives them.

        :raises BadRequest: A record is not found by its primary key any more.
        """
        selection = Selection(self, with_keys=True)
        identify = self._fields.mapper.primary_key_from_instance
        keys = [tuple(identify(instance)) for instance in instances]
        found: dict[tuple[t.Any, ...], Record] = {}

        statement = self.audience.statements.keyed(selection.columns, selection.key)

        for start in range(0, len(keys), CHUNK):
            some = keys[start : start + CHUNK]
            values = some if len(some[0]) > 1 else [key[0] for key in some]
            found.update(selection.read_by_key(statement, {KEYS: values}))

        try:
            return [found[key] for key in keys]
        except KeyError:
            raise self.not_kept() from None

    def identifier(self, id: Id) -> t.Any:
        """Return an identifier as a value of its field.

        :raises NotFound: It is none, so that there is no such record.
        """
        try:
            value = cast(self._fields.id.conversion, id, in_query=False)
        except ValueError:
            value = None

        if value is None:
            raise not_found(id)

        return value

    def names_given(self, every: Sequence[Record]) -> set[str]:
        """Return the names of the fields that are given a value: those by the client,
        if there are any, since he can mend them.

        :param every: The values of each record.
        """
        names = {
            name
            for values in every
            for name, value in values.items()
            if value is not None
        }
        return names.intersection(self.params.client_fields) or names

    def not_kept(self) -> BadRequest:
        """Return the error for a record that the database has given another primary
        key. MariaDB takes the identifier 0 for a request to make one up.
        """
        return BadRequest(
            "The database does not keep this identifier. Leave it out.",
            errors={self._fields.id.name: "is not kept by the database"},
        )

    @contextmanager
    def keeping_keys(self, every: Sequence[Record]) -> Iterator[None]:
        """Refuse primary keys that the database makes others of, where SQLAlchemy tells
        many new records apart by them.

        :param every: The values of each record.
        :raises BadRequest: It does.
        """
        try:
            yield
        except sa.exc.InvalidRequestError as error:
            names = self._fields.fixed
            is_given = any(not names.isdisjoint(values) for values in every)

            if type(error) is not sa.exc.InvalidRequestError or not is_given:
                raise

            raise self.not_kept() from error

    @cached_property
    def selection(self) -> Selection:
        """What is selected.

        :raises BadRequest: The query names an unknown field or relationship.
        """
        return Selection(self)

    @cached_property
    def reading(self) -> Reading:
        """The query with its fields looked up and its values cast.

        :raises BadRequest: The query does not fit the fields.
        """
        return self.audience.translator.read(self.query)

    @cached_property
    def dialect(self) -> sa.Dialect:
        """What the database understands."""
        return self.scope.dialect(self.mapper)

    @property
    def mapper(self) -> orm.Mapper[t.Any]:
        """The mapper of the model."""
        return self._fields.mapper

    @property
    def options(self) -> dict[str, t.Any]:
        """The options of the statements of the query."""
        # SQLAlchemy compares the columns of a statement that it has compiled before
        # with those of an equal one, which a comparator may not be made for.
        is_cacheable = self.reading.is_cacheable and not self._fields.has_comparators
        return {} if is_cacheable else UNCACHED

    @property
    def _fields(self) -> Fields:
        return self.audience.fields

    @property
    def _has_great_nulls(self) -> bool:
        # On PostgreSQL null is greater than everything else, elsewhere less.
        return bool(self.reading.sort) and self.dialect.name == "postgresql"

    def _select_instances(self) -> sa.Select[t.Any]:
        # What is read back later is checked now, before anything is written.
        _ = self.selection
        statement = self.audience.translator.selected(
            self.reading, [self._fields.model], nulls=self._has_great_nulls
        )
        return statement.offset(self.query.skip) if self.query.skip else statement


def not_found(id: Id) -> NotFound:
    """Return the error for a record that is not there, or that the query leaves out.

    :param id: Its identifier.
    """
    return NotFound(f"No record found for id {shown(id)}")
