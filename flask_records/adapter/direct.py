"""Writes to one table, without the unit of work of a session.

A model may have much for the unit of work to honour: events, validators, cascades,
versions, inheritance. One that has nothing of it gets the same rows and the same answer
by a single statement that returns what it has written.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from ..query import Kept
from ..query.statements import ID
from ..query.values import is_json
from .database_errors import translated

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Sequence

    from ..query import Field
    from ..query import Fields
    from ..query import Translator
    from ..typing import Id
    from ..typing import Record
    from .reading import Reader
    from .writing import Writer

    Statement: t.TypeAlias = sa.Insert | sa.Update | sa.Delete

SESSION_EVENTS: t.Final = (
    *("do_orm_execute", "before_flush", "after_flush", "after_flush_postexec"),
    *("before_attach", "after_attach", "transient_to_pending", "pending_to_persistent"),
    *("loaded_as_persistent", "persistent_to_deleted", "deleted_to_detached"),
)
INSTANCE_EVENTS: t.Final = ("load", "refresh", "refresh_flush")
ATTRIBUTE_EVENTS: t.Final = ("set", "init_scalar", "modified")
MAPPER_EVENTS: t.Final = {
    "insert": ("before_insert", "after_insert"),
    "update": ("before_update", "after_update"),
    "delete": ("before_delete", "after_delete"),
}
"""What a host application can listen to, of which a single statement tells nothing."""

OWN_LISTENER: t.Final = "_event_on_init"
"""What SQLAlchemy itself listens to instances with."""


class Direct:
    """Writes records of a model by single statements, if nothing speaks against it.

    :param fields: The fields that the caller knows of.
    :param translator: Makes statements of his queries.
    :param writer: Checks his bodies.
    """

    def __init__(self, fields: Fields, translator: Translator, writer: Writer) -> None:
        self._fields = fields
        self._translator = translator
        self._writer = writer
        self._kept: Kept[Statement] = Kept()

    def create(self, reader: Reader, every: Sequence[Record]) -> list[Record] | None:
        """Return the records that are made of values, or ``None`` if it takes the unit
        of work.

        :param reader: What the call is about.
        :param every: The values of each record.
        :raises Conflict: The values contradict a record that is there.
        """
        if not every or not self._can("insert", reader):
            return None

        rows = [self._row(values) for values in every]

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
        columns = self._columns

        if (
            id is None
            or not values
            or not self._can("update", reader)
            or not all(
                _is_value(columns[name], value) for name, value in values.items()
            )
        ):
            return None

        names = tuple(values)
        statement = self._get(
            reader, ("update", names), lambda: self._update(reader, names)
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
        if id is None or not self._can("delete", reader):
            return None

        statement = self._get(reader, ("delete",), lambda: self._delete(reader))
        parameters = {**reader.reading.parameters, ID: reader.identifier(id)}
        return reader.selection.records(self._run(reader, statement, parameters, ()))

    def _can(self, verb: str, reader: Reader) -> bool:
        """Return whether one statement does the same as the unit of work."""
        session = reader.scope.session
        return (
            self._is_plain_model
            and self._is_unobserved
            and (verb == "insert" or self._has_unique_id)
            and (verb != "update" or self._updates_nothing_else)
            and (verb != "delete" or self._deletes_nothing_else)
            and getattr(reader.dialect, f"{verb}_returning")
            # What the session holds would not know of the change.
            and (verb == "insert" or not (session.identity_map or session.new))
            and _is_usual(type(session))
            and not _listens(session.dispatch, SESSION_EVENTS)
            and not _listens(self._events, MAPPER_EVENTS[verb])
            and not reader.query.populate
            and self._has_columns(reader.selection.fields)
            and self._has_columns(reader.reading.fields)
        )

    def _has_columns(self, fields: Iterable[Field]) -> bool:
        columns = self._columns
        return all([field.name in columns and field.is_usual for field in fields])

    @cached_property
    def _columns(self) -> dict[str, sa.Column[t.Any]]:
        """The columns of the table by the names of their fields."""
        return {
            prop.key: prop.columns[0]
            for prop in self._fields.mapper.column_attrs
            if isinstance(prop.columns[0], sa.Column)
        }

    @cached_property
    def _is_plain_model(self) -> bool:
        """Whether instances of the model are rows of one table and nothing else."""
        mapper = self._fields.mapper
        table = mapper.local_table
        return (
            isinstance(table, sa.Table)
            # The way to say that triggers change what is written.
            and table.implicit_returning
            and len(list(mapper.base_mapper.self_and_descendants)) == 1
            and mapper.persist_selectable is table
            and mapper.version_id_col is None
            and mapper.polymorphic_on is None
            and not mapper.validators
            and "__setattr__" not in _members(mapper.class_)
            and not self._writer.has_constructor
        )

    @cached_property
    def _has_unique_id(self) -> bool:
        # Of several records of an identifier, one is written.
        return self._fields.is_unique(self._fields.id.name)

    @cached_property
    def _updates_nothing_else(self) -> bool:
        # The unit of work updates nothing, and so not these, if no value has changed.
        return not any(
            column.onupdate is not None or column.server_onupdate is not None
            for column in self._columns.values()
        ) and all(one.passive_updates for one in self._fields.mapper.relationships)

    @cached_property
    def _deletes_nothing_else(self) -> bool:
        return all(
            one.viewonly
            or (one.direction is orm.MANYTOONE and not one.cascade.delete)
            or (one.direction is orm.ONETOMANY and one.passive_deletes)
            for one in self._fields.mapper.relationships
        )

    @property
    def _events(self) -> t.Any:
        """What the application listens to of the mapper."""
        return t.cast("t.Any", self._fields.mapper).dispatch

    @cached_property
    def _is_unobserved(self) -> bool:
        """Whether the application listens to nothing of instances, at the first
        write.
        """
        manager = t.cast("t.Any", self._fields.mapper.class_manager)
        return not (
            _listens(manager.dispatch, INSTANCE_EVENTS)
            or any(one.__name__ != OWN_LISTENER for one in manager.dispatch.init)
            or any(
                _listens(manager[name].dispatch, ATTRIBUTE_EVENTS)
                for name in self._columns
            )
        )

    def _row(self, values: Record) -> Record | None:
        """Return values by the keys of columns, as the unit of work inserts them: where
        there is a default, null stands for it. ``None`` if one is more than a value.
        """
        row: Record = {}

        for name, value in values.items():
            column = self._inserted[name]

            if value is None and (column.is_null_a_value or column.has_default):
                if column.is_null_a_value:
                    return None
            elif isinstance(value, sa.ClauseElement):
                return None
            else:
                row[column.key] = value

        return row

    @cached_property
    def _inserted(self) -> dict[str, Inserted]:
        """What is known of the columns for an insert, by the names of their fields."""
        return {name: Inserted.of(column) for name, column in self._columns.items()}

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
            and not self._has_keys(rows[0])
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

            # A trigger may have inserted something, too.
            if in_order[-1][-1] - in_order[0][-1] != len(rows) - 1:
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

        return self._kept.get(("insert", fields, in_order), make)

    def _update(self, reader: Reader, names: Collection[str]) -> Statement:
        new = {
            self._columns[name]: sa.bindparam(
                _new(place), type_=self._columns[name].type
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
        reading, id = reader.reading, self._columns[self._fields.id.name]
        conditions = self._translator.conditions(
            reading, is_kept=reading.is_kept, columns=self._columns
        )
        return [id == sa.bindparam(ID, type_=id.type), *conditions]

    def _returned(self, fields: Collection[Field]) -> list[t.Any]:
        return [field.returned(self._columns[field.name]) for field in fields]

    def _get(
        self, reader: Reader, key: tuple[t.Any, ...], make: Callable[[], Statement]
    ) -> Statement:
        reading = reader.reading

        if not reading.is_kept:
            return make()

        return self._kept.get((*key, reader.selection.fields, reading.terms), make)

    def _run(
        self,
        reader: Reader,
        statement: Statement,
        parameters: Record | Sequence[Record],
        every: Sequence[Record],
    ) -> Sequence[sa.Row[t.Any]]:
        with translated(self._fields, reader.names_given(every)):
            connection = reader.scope.writing(reader.mapper)
            return connection.execute(statement, parameters).all()

    def _has_keys(self, row: Record) -> bool:
        return any(column.key in row for column in self._fields.mapper.primary_key)

    def _check_kept(
        self, reader: Reader, rows: Sequence[Record], written: Sequence[t.Any]
    ) -> None:
        """Refuse primary keys that the database has made others of, and rows that it
        has dropped.
        """
        if len(written) < len(rows):
            raise reader.not_kept()

        if not self._has_keys(rows[0]):
            return

        keys = [str(column.key) for column in self._fields.mapper.primary_key]

        for row, found in zip(rows, written, strict=True):
            for key, value in zip(keys, found[-len(keys) :], strict=True):
                if row.get(key, value) != value:
                    raise reader.not_kept()


@dataclass(frozen=True)
class Inserted:
    """What is known of a column for an insert."""

    key: str
    """What the table knows it by."""

    has_default: bool
    """Whether null stands for a default."""

    is_null_a_value: bool
    """Whether null is stored as a value of its own, as in JSON."""

    @classmethod
    def of(cls, column: sa.Column[t.Any]) -> t.Self:
        """Return what is known of a column."""
        has_default = (
            column.primary_key
            or column.default is not None
            or column.server_default is not None
        )
        is_null_a_value = _is_null_a_value(column.type) or (
            has_default and is_json(column.type)
        )
        return cls(str(column.key), has_default, is_null_a_value)


def _is_value(column: sa.Column[t.Any], value: t.Any) -> bool:
    """Return whether a value is neither an expression nor a null of JSON."""
    if value is None:
        return not _is_null_a_value(column.type)

    return not isinstance(value, sa.ClauseElement)


def _is_null_a_value(type_: t.Any) -> bool:
    """Return whether null is more than null for a type, as for JSON."""
    is_decorated = isinstance(type_, sa.types.TypeDecorator)
    return type_.should_evaluate_none or (is_decorated and is_json(type_))


def _is_usual(session: type[orm.Session]) -> bool:
    """Return whether sessions of a class write as those of SQLAlchemy do."""
    usual = orm.Session
    return (
        session.add_all is usual.add_all
        and session.delete is usual.delete
        and session.flush is usual.flush
    )


def _new(place: int) -> str:
    return f"records_new_{place}"


def _listens(dispatch: t.Any, names: Collection[str]) -> bool:
    return any([getattr(dispatch, name) for name in names])


def _members(model: type[t.Any]) -> set[str]:
    """Return what a model and its bases define."""
    return {name for base in model.__mro__[:-1] for name in vars(base)}


def _are_alike(rows: Sequence[Record | None]) -> t.TypeGuard[Sequence[Record]]:
    """Return whether there are rows with values for the same columns."""
    first = rows[0]
    keys = None if first is None else first.keys()
    return bool(keys) and all([row is not None and row.keys() == keys for row in rows])
