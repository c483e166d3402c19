"""The records and the instances that one call is about."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from ..errors import NotFound
from ..query.values import cast
from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Params
    from ..query import Fields
    from ..query import Query
    from ..typing import Id
    from ..typing import Record
    from .audience import Audience
    from .populate import Populate

CHUNK: t.Final = 500
"""How many primary keys one statement names."""


@dataclass(frozen=True)
class Reader:
    """Reads what one call is about. Nothing is read before a method is called.

    :raises BadRequest: The query does not fit the fields.
    """

    session: orm.Session
    """The session to read with."""

    audience: Audience
    """Who asks."""

    query: Query
    """What is asked for."""

    params: Params
    """What accompanies the call."""

    populate: Populate
    """The relationships that can be loaded."""

    def records(
        self, limit: int | None, *conditions: sa.ColumnElement[bool]
    ) -> list[Record]:
        """Return the records of the query.

        :param limit: How many at most, or ``None`` for all.
        :param conditions: What has to hold besides.
        """
        selection = self._selection()
        statement = self._select(selection.columns)

        # The statement is made for its checks of the query even if nothing is read.
        if limit == 0:
            return []

        return selection.read(statement.where(*conditions).limit(limit))[0]

    def record(self, id: Id) -> Record:
        """Return the record of an identifier, if it matches the query.

        :raises NotFound: There is none.
        """
        records = self.records(1, self._has_id(id))

        if not records:
            raise _not_found(id)

        return records[0]

    def count(self) -> int:
        """Return how many records match the query."""
        statement = self.audience.translator.count(self.query)

        with translated():
            return t.cast(int, self.session.execute(statement).scalar_one())

    def check(self) -> None:
        """Refuse a query that is wrong, for a call that reads nothing by it."""
        self._select(self._selection().columns)

    def instances(self, id: Id) -> list[t.Any]:
        """Return the instances to write, which nobody else writes until the commit.

        :param id: The identifier of one record, or ``None`` for all of the query.
        :raises NotFound: There is no record of this identifier, or it does not match.
        """
        # What is read back later is checked now, before anything is written.
        self._selection()
        statement = self._select([self._fields.model])

        if id is not None:
            statement = statement.where(self._has_id(id)).limit(1)
        elif self.query.limit == 0:
            return []
        else:
            statement = statement.limit(self.query.limit)

        statement = (
            statement.options(orm.lazyload("*"))
            .with_for_update(of=self._fields.model)
            .execution_options(populate_existing=True)
        )

        with translated():
            instances = list(self.session.scalars(statement))

        if id is not None and not instances:
            raise _not_found(id)

        return instances

    def read_back(self, instances: Sequence[t.Any]) -> list[Record]:
        """Return the records of instances, in their order, as a read gives them.

        :raises BadRequest: A record is not found by its primary key any more.
        """
        selection = self._selection(with_keys=True)
        identify = self._fields.mapper.primary_key_from_instance
        keys = [tuple(identify(instance)) for instance in instances]
        found: dict[tuple[t.Any, ...], Record] = {}

        for start in range(0, len(keys), CHUNK):
            is_one = self._is_one_of(keys[start : start + CHUNK])
            statement = sa.select(*selection.columns).where(is_one)
            records, read_keys = selection.read(statement)
            found.update(zip(read_keys, records, strict=True))

        try:
            return [found[key] for key in keys]
        except KeyError:
            # MariaDB takes the identifier 0 for a request to make one up.
            raise BadRequest(
                "The database does not keep this identifier. Leave it out.",
                errors={self._fields.id.name: "is not kept by the database"},
            ) from None

    @property
    def _fields(self) -> Fields:
        return self.audience.fields

    def _selection(self, *, with_keys: bool = False) -> Selection:
        return Selection(self, self._fields.primary_key if with_keys else ())

    def _select(self, columns: Sequence[t.Any]) -> sa.Select[t.Any]:
        bind = self.session.get_bind(self._fields.mapper)
        # Here null is greater than everything else, elsewhere less.
        nulls = bind.dialect.name == "postgresql"
        return self.audience.translator.select(self.query, columns, nulls=nulls)

    def _has_id(self, id: Id) -> sa.ColumnElement[bool]:
        field = self._fields.id

        try:
            value = cast(field.conversion, id, in_query=False)
        except ValueError:
            value = None

        if value is None:
            raise _not_found(id)

        return t.cast("sa.ColumnElement[bool]", field.column == value)

    def _is_one_of(self, keys: Sequence[tuple[t.Any, ...]]) -> sa.ColumnElement[bool]:
        columns = self._fields.primary_key

        if len(columns) == 1:
            found = columns[0].in_([key[0] for key in keys])
            return t.cast("sa.ColumnElement[bool]", found)

        return sa.or_(*(sa.and_(*map(_equal, columns, key)) for key in keys))


class Selection:
    """What a reader selects: the fields of the records, and what the answer needs
    besides.

    :param reader: The reader.
    :param keys: Columns by which the reader knows the records.
    :raises BadRequest: The query names an unknown field or relationship.
    """

    def __init__(self, reader: Reader, keys: Sequence[t.Any]) -> None:
        query, params = reader.query, reader.params
        fields = reader.audience.fields.selected(query.select)
        self._reader = reader
        self._links = reader.populate.links(query.populate, params)
        self._names = [field.name for field in fields]
        self._keys_end = len(fields) + len(keys)
        self.columns = [
            *(field.selected for field in fields),
            *keys,
            *(link.column for link in self._links),
        ]
        """The columns of the statement."""

    def read(
        self, statement: sa.Select[t.Any]
    ) -> tuple[list[Record], list[tuple[t.Any, ...]]]:
        """Return the records and the keys of each.

        :param statement: The statement, which selects :attr:`columns`.
        """
        session, params = self._reader.session, self._reader.params

        with translated():
            rows = session.execute(statement).all()

        names, end = self._names, self._keys_end
        records: list[Record] = [dict(zip(names, row, strict=False)) for row in rows]

        for place, link in enumerate(self._links, end):
            link.fill(session, records, [row[place] for row in rows], params)

        return records, [tuple(row[len(names) : end]) for row in rows]


def _equal(column: t.Any, value: t.Any) -> t.Any:
    return column == value


def _not_found(id: Id) -> NotFound:
    return NotFound(f"No record found for id '{id}'")
