"""Decides whether a single statement writes what the unit of work of a session would.

A model may have much for the unit of work to honour: events, validators, cascades,
versions, inheritance. A model that has nothing of it gets the same rows and the same
answers by one statement that returns the rows that it has written.
"""

from __future__ import annotations

import datetime as dt
import enum
import typing as t
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import ClauseElement, orm

from ..query.values import is_json
from .constructors import has_constructor
from .drivers import application_listens, listens

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from ..query import Field, Fields
    from ..query.resolution import ResolvedQuery
    from ..typing import Record
    from .writing import Writing

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
"""The events that a unit of work sends, and a single statement does not."""

PLAIN: t.Final = frozenset({str, int, float, bool, dt.datetime, dt.date, Decimal, UUID})
"""The types of values that an insert need not look at one by one."""

KEPT: t.Final = (sa.Integer, sa.String, sa.Uuid, sa.Date)
"""The types whose values all databases read as they were given, but for CHAR."""

OWN_LISTENER: t.Final = "_event_on_init"
"""The name of SQLAlchemy's own listener to new instances."""


class Reason(enum.Enum):
    """A reason for the unit of work."""

    MODEL = "instances of the model are more than rows of one table"
    LISTENERS = "the application listens to instances, attributes or the mapper"
    SESSION = "the session has listeners, or its own way to write"
    INSTANCES = "the session holds instances, which would not know of the change"
    DATABASE = "the database does not return the rows that it writes"
    DEFAULTS = "columns change with each update"
    RELATIONSHIPS = "related records change, too"
    RELATED = "relationships are written by identifiers"
    POPULATE = "relationships are loaded"
    VISIBLE = "the caller sees a field in some records only"
    COMPUTED = "functions compute fields of a record that is removed"
    GUARDS = "a client may write a field to some records only"
    KEYS = "the database may read a key in another form"
    FIELDS = "a field is not a column that is compared by SQLAlchemy itself"
    MANY = "many records are written by a query"
    VALUES = "values are expressions, nulls with a meaning, or of different fields"


class Eligibility:
    """The reasons for or against single statements for a model.

    :param relations: The names of the relationships that bodies may name.
    """

    def __init__(self, fields: Fields, relations: Set[str] = frozenset()) -> None:
        self._fields = fields
        self._relations = relations
        self._mapper = fields.mapper
        self._columns = fields.columns

    def reason(
        self,
        verb: str,
        writing: Writing,
        query: ResolvedQuery,
        bodies: Sequence[Record] = (),
        *,
        is_many: bool = False,
    ) -> Reason | None:
        """Return the reason for the unit of work, or ``None`` for a single statement.

        :param verb: The kind of the statement: ``insert``, ``update`` or ``delete``.
        :param is_many: ``True`` for a write of all records that meet the query.
        """
        if is_many:
            return Reason.MANY

        return (
            self._reasons[verb]
            or self._reason_of_session(verb, writing)
            or self._reason_of_query(verb, query)
            or self._reason_of_values(verb, bodies)
        )

    @cached_property
    def _other_keys(self) -> Set[str]:
        """The fields of the primary key that a database may read in another form."""
        keys = self._mapper.primary_key
        columns = self._columns.items()
        return {n for n, each in columns if each in keys and not _is_kept(each.type)}

    @cached_property
    def _special_nulls(self) -> Mapping[str, Set[str]]:
        """The fields, by verb, whose null is a value, as JSON's, or means a default."""
        columns = self._columns.items()
        values = {name for name, each in columns if _is_null_a_value(each.type)}
        defaults = {name for name, each in columns if _has_default(each)}
        return {"insert": values | defaults, "update": values}

    @cached_property
    def _reasons(self) -> Mapping[str, Reason | None]:
        """The reasons of the model, found once the application has its listeners."""
        reason = None if self._is_one_table else Reason.MODEL

        if reason is None and self._has_listeners:
            reason = Reason.LISTENERS

        return {
            "insert": reason,
            "update": reason or self._reason_of_update,
            "delete": reason or self._reason_of_delete,
        }

    @property
    def _is_one_table(self) -> bool:
        mapper = self._mapper
        table = mapper.local_table
        return (
            isinstance(table, sa.Table)
            # The way to say that triggers change the rows that are written.
            and table.implicit_returning
            and len(list(mapper.base_mapper.self_and_descendants)) == 1
            and mapper.persist_selectable is table
            and mapper.version_id_col is None
            and mapper.polymorphic_on is None
            and not mapper.validators
            and "__setattr__" not in _members(mapper.class_)
            and not has_constructor(self._fields)
        )

    @property
    def _has_listeners(self) -> bool:
        manager = t.cast("t.Any", self._mapper.class_manager)
        return (
            listens(manager.dispatch, INSTANCE_EVENTS)
            or any(each.__name__ != OWN_LISTENER for each in manager.dispatch.init)
            or any(
                listens(manager[name].dispatch, ATTRIBUTE_EVENTS)
                for name in self._columns
            )
        )

    @property
    def _reason_of_update(self) -> Reason | None:
        # The unit of work updates nothing, and so not these, if no value has changed.
        if any(
            column.onupdate is not None or column.server_onupdate is not None
            for column in self._columns.values()
        ):
            return Reason.DEFAULTS

        is_passive = all(each.passive_updates for each in self._mapper.relationships)
        return None if is_passive else Reason.RELATIONSHIPS

    @property
    def _reason_of_delete(self) -> Reason | None:
        is_passive = all(
            each.viewonly
            or (each.direction is orm.MANYTOONE and not each.cascade.delete)
            or (each.direction is orm.ONETOMANY and each.passive_deletes)
            for each in self._mapper.relationships
        )
        return None if is_passive else Reason.RELATIONSHIPS

    def _reason_of_session(self, verb: str, writing: Writing) -> Reason | None:
        session = writing.session

        if not getattr(writing.dialect, f"{verb}_returning"):
            return Reason.DATABASE

        if verb != "insert" and (session.identity_map or session.new):
            return Reason.INSTANCES

        if not _is_usual(type(session)) or application_listens(
            session.dispatch, SESSION_EVENTS
        ):
            return Reason.SESSION

        dispatch = t.cast("t.Any", self._mapper).dispatch
        return Reason.LISTENERS if listens(dispatch, MAPPER_EVENTS[verb]) else None

    def _reason_of_query(self, verb: str, query: ResolvedQuery) -> Reason | None:
        if query.populate:
            return Reason.POPULATE

        if query.conditions:
            return Reason.VISIBLE

        # They may look up related records, which must be there yet.
        if query.computed and verb == "delete":
            return Reason.COMPUTED

        if self._are_columns(query.selected) and self._are_columns(query.fields):
            return None

        return Reason.FIELDS

    def _are_columns(self, fields: Iterable[Field]) -> bool:
        columns = self._columns
        return all([field.name in columns and field.is_usual for field in fields])

    def _reason_of_values(self, verb: str, bodies: Sequence[Record]) -> Reason | None:
        if verb == "delete":
            return None

        if any(not self._relations.isdisjoint(body) for body in bodies):
            return Reason.RELATED

        if verb == "insert" and any(not self._other_keys.isdisjoint(b) for b in bodies):
            return Reason.KEYS

        return None if self._are_rows(verb, bodies) else Reason.VALUES

    def _are_rows(self, verb: str, bodies: Sequence[Record]) -> bool:
        """Return ``True`` for values of the same fields that are no SQL expressions."""
        names = bodies[0].keys() if bodies else None
        nulls = self._special_nulls[verb]
        return bool(names) and all(
            [
                body.keys() == names
                and (
                    PLAIN.issuperset(map(type, body.values()))
                    or all([_is_value(*item, nulls) for item in body.items()])
                )
                for body in bodies
            ]
        )


def _is_value(name: str, value: t.Any, nulls: Set[str]) -> bool:
    return name not in nulls if value is None else not isinstance(value, ClauseElement)


def _is_null_a_value(type_: t.Any) -> bool:
    """Return ``True`` for a type that has a null of its own, as JSON has."""
    is_decorated = isinstance(type_, sa.types.TypeDecorator)
    return type_.should_evaluate_none or (is_decorated and is_json(type_))


def _has_default(column: sa.Column[t.Any]) -> bool:
    defaults = column.default, column.server_default
    return column.primary_key or any(each is not None for each in defaults)


def _is_kept(type_: t.Any) -> bool:
    """Return ``True`` for a type whose values all databases read as they are given."""
    return isinstance(type_, KEPT) and not isinstance(type_, (sa.CHAR, sa.Enum))


def _is_usual(session: type[orm.Session]) -> bool:
    """Return ``True`` if sessions of a class write as those of SQLAlchemy do."""
    usual = orm.Session
    return (
        session.add_all is usual.add_all
        and session.delete is usual.delete
        and session.flush is usual.flush
    )


def _members(model: type[t.Any]) -> set[str]:
    """Return the names of all that a model and its bases define."""
    return {name for base in model.__mro__[:-1] for name in vars(base)}
