"""Models that a single statement writes as well as the unit of work of a session."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from ..query.values import is_json
from .session import listens

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..query import Field
    from ..query import Fields
    from ..typing import Record
    from .reading import Reader
    from .writing import Writer

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


class PlainModel:
    """What is known of a model, as far as it has nothing for the unit of work to do.

    :param fields: The fields that the caller knows of.
    :param writer: Checks his bodies.
    """

    def __init__(self, fields: Fields, writer: Writer) -> None:
        self._fields = fields
        self._writer = writer

    def can(self, verb: str, reader: Reader) -> bool:
        """Return whether one statement does the same as the unit of work.

        :param verb: What the statement does: ``insert``, ``update`` or ``delete``.
        :param reader: What the call is about.
        """
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
            and not listens(session.dispatch, SESSION_EVENTS)
            and not listens(self._events, MAPPER_EVENTS[verb])
            and not reader.query.populate
            and self._has_columns(reader.selection.fields)
            and self._has_columns(reader.reading.fields)
        )

    def _has_columns(self, fields: Iterable[Field]) -> bool:
        columns = self.columns
        return all([field.name in columns and field.is_usual for field in fields])

    @cached_property
    def columns(self) -> dict[str, sa.Column[t.Any]]:
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
            for column in self.columns.values()
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
            listens(manager.dispatch, INSTANCE_EVENTS)
            or any(one.__name__ != OWN_LISTENER for one in manager.dispatch.init)
            or any(
                listens(manager[name].dispatch, ATTRIBUTE_EVENTS)
                for name in self.columns
            )
        )

    def are_values(self, values: Record) -> bool:
        """Return whether none of some values is an expression or a null of JSON.

        :param values: The values by the names of their fields.
        """
        columns = self.columns
        return all([_is_value(columns[name], value) for name, value in values.items()])

    def row(self, values: Record) -> Record | None:
        """Return values by the keys of columns, as the unit of work inserts them: where
        there is a default, null stands for it. ``None`` if one is more than a value.

        :param values: The values by the names of their fields.
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
        return {name: Inserted.of(column) for name, column in self.columns.items()}

    def has_keys(self, row: Record) -> bool:
        """Return whether a row has a part of the primary key.

        :param row: Values by the keys of columns.
        """
        return any(column.key in row for column in self._fields.mapper.primary_key)


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


def _members(model: type[t.Any]) -> set[str]:
    """Return what a model and its bases define."""
    return {name for base in model.__mro__[:-1] for name in vars(base)}
