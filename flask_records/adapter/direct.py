"""Writes to one table, without the unit of work of a session.

A model may have much for the unit of work to honour: events, validators, cascades,
versions, inheritance. One that has nothing of it gets the same rows and the same answer
by a single statement that returns what it has written.
"""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..query import Kept
from ..query.statements import ID
from .database_errors import translated
from .plain import PlainModel

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from ..query import Field
    from ..query import Fields
    from ..query import Translator
    from ..typing import Id
    from ..typing import Record
    from .reading import Reader
    from .writing import Writer

    Statement: t.TypeAlias = sa.Insert | sa.Update | sa.Delete


class Direct:
    """Writes records of a model by single statements, if nothing speaks against it.

    :param fields: The fields that the caller knows of.
    :param translator: Makes statements of his queries.
    :param writer: Checks his bodies.
    """

    def __init__(self, fields: Fields, translator: Translator, writer: Writer) -> None:
        self._fields = fields
        self._translator = translator
        self._plain = PlainModel(fields, writer)
        self._kept: Kept[Statement] = Kept()

    def create(self, reader: Reader, every: Sequence[Record]) -> list[Record] | None:
        """Return the records that are made of values, or ``None`` if it takes the unit
        of work.

        :param reader: What the call is about.
        :param every: The values of each record.
        :raises Conflict: The values contradict a record that is there.
        """
        if not every or not self._plain.can("insert", reader):
            return None

        rows = [self._plain.row(values) for values in every]

        if not _are_alike(rows):
            return None

        is_counted = self._is_counted(reader, rows)
        insert = self._insert_counted if is_counted else self._insert
        written = insert(reader, rows, every)

        if written is None:
            return None

        self._check_kept(reader, rows, written)
        return reader.selection.records(written)

    def write(self, reader: Reader, id: Id, values: Record) -> list[Record] | None:
        """Return the record that is written, or ``None`` if it takes the unit of work.

        :param reader: What the call is about.
        :param id: The identifier of the record, or ``None`` for many.
        :param values: The values that change.
        :raises Conflict: The values contradict another record.
        """
        if (
            id is None
            or not values
            or not self._plain.can("update", reader)
            or not self._plain.are_values(values)
        ):
            return None

        names = tuple(values)
        statement = self._kept.get_for(
            reader.reading,
            ("update", names, reader.selection.fields),
            lambda: self._update(reader, names),
            (*names, *reader.selection.fields),
        )
        parameters = {
            **reader.reading.parameters,
            ID: reader.identifier(id),
            **{_new(place): value for place, value in enumerate(values.values())},
        }
        written = self._run(reader, statement, parameters, [values])
        return reader.selection.records(written)

    def remove(self, reader: Reader, id: Id) -> list[Record] | None:
        """Return the record that is removed, or ``None`` if it takes the unit of work.

        :param reader: What the call is about.
        :param id: The identifier of the record, or ``None`` for many.
        :raises Conflict: Other records refer to it.
        """
        if id is None or not self._plain.can("delete", reader):
            return None

        statement = self._kept.get_for(
            reader.reading,
            ("delete", reader.selection.fields),
            lambda: self._delete(reader),
            reader.selection.fields,
        )
        parameters = {**reader.reading.parameters, ID: reader.identifier(id)}
        return reader.selection.records(self._run(reader, statement, parameters, ()))

    def _is_counted(self, reader: Reader, rows: Sequence[Record]) -> bool:
        """Return whether SQLite gives each of many records the key after the one
        before, so that the keys tell the order. It promises no order of what a
        statement returns.
        """
        table = t.cast("sa.Table", self._fields.mapper.local_table)
        key = table.autoincrement_column
        return (
            len(rows) > 1
            and reader.dialect.name == "sqlite"
            and key is not None
            and isinstance(key.type, sa.Integer)
            and not self._plain.has_keys(rows[0])
        )

    def _insert_counted(
        self, reader: Reader, rows: Sequence[Record], every: Sequence[Record]
    ) -> Sequence[sa.Row[t.Any]] | None:
        statement = self._insertion(reader, in_order=False)

        with (
            translated(self._fields, reader.names_given(every)),
            reader.scope.writing(reader.mapper).begin_nested() as savepoint,
        ):
            written = savepoint.connection.execute(statement, rows).all()
            in_order = sorted(written, key=lambda row: t.cast(int, row[-1]))

            # A trigger may have inserted something, too, or dropped a row.
            if not _are_counted([row[-1] for row in in_order], len(rows)):
                savepoint.rollback()
                return None

        return in_order

    def _insert(
        self, reader: Reader, rows: Sequence[Record], every: Sequence[Record]
    ) -> Sequence[sa.Row[t.Any]]:
        statement = self._insertion(reader, in_order=len(rows) > 1)

        with reader.keeping_keys(every):
            return self._run(reader, statement, rows, every)

    def _insertion(self, reader: Reader, *, in_order: bool) -> Statement:
        fields = reader.selection.fields

        def make() -> Statement:
            table = t.cast("sa.Table", self._fields.mapper.local_table)
            returned = [*self._returned(fields), *self._fields.mapper.primary_key]
            return sa.insert(table).returning(
                *returned, sort_by_parameter_order=in_order
            )

        return self._kept.get(("insert", fields, in_order), make, len(fields))

    def _update(self, reader: Reader, names: Collection[str]) -> Statement:
        new = {
            self._plain.columns[name]: sa.bindparam(
                _new(place), type_=self._plain.columns[name].type
            )
            for place, name in enumerate(names)
        }
        statement = sa.update(t.cast("sa.Table", self._fields.mapper.local_table))
        return (
            statement.where(*self._conditions(reader))
            .values(new)
            .returning(*self._returned(reader.selection.fields))
        )

    def _delete(self, reader: Reader) -> Statement:
        statement = sa.delete(t.cast("sa.Table", self._fields.mapper.local_table))
        return statement.where(*self._conditions(reader)).returning(
            *self._returned(reader.selection.fields)
        )

    def _conditions(self, reader: Reader) -> list[t.Any]:
        reading, id = reader.reading, self._plain.columns[self._fields.id.name]
        conditions = self._translator.conditions(
            reading, is_kept=reading.is_kept, columns=self._plain.columns
        )
        return [id == sa.bindparam(ID, type_=id.type), *conditions]

    def _returned(self, fields: Collection[Field]) -> list[t.Any]:
        return [field.returned(self._plain.columns[field.name]) for field in fields]

    def _run(
        self,
        reader: Reader,
        statement: Statement,
        parameters: Record | Sequence[Record],
        every: Sequence[Record],
    ) -> Sequence[sa.Row[t.Any]]:
        with translated(self._fields, reader.names_given(every)):
            connection = reader.scope.writing(reader.mapper)
            return connection.execute(
                statement, parameters, execution_options=reader.options
            ).all()

    def _check_kept(
        self, reader: Reader, rows: Sequence[Record], written: Sequence[t.Any]
    ) -> None:
        """Refuse primary keys that the database has made others of, and rows that it
        has dropped.
        """
        if len(written) < len(rows):
            raise reader.not_kept()

        if not self._plain.has_keys(rows[0]):
            return

        keys = [str(column.key) for column in self._fields.mapper.primary_key]

        for row, found in zip(rows, written, strict=True):
            for key, value in zip(keys, found[-len(keys) :], strict=True):
                if row.get(key, value) != value:
                    raise reader.not_kept()


def _new(place: int) -> str:
    return f"records_new_{place}"


def _are_alike(rows: Sequence[Record | None]) -> t.TypeGuard[Sequence[Record]]:
    """Return whether there are rows with values for the same columns."""
    first = rows[0]
    keys = None if first is None else first.keys()
    return bool(keys) and all([row is not None and row.keys() == keys for row in rows])


def _are_counted(keys: Sequence[int], number: int) -> bool:
    """Return whether keys follow each other, and there are so many."""
    return len(keys) == number and keys[-1] - keys[0] == number - 1
