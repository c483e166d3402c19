"""Writes by one statement that returns the rows that it has written.

The unit of work of a session honours whatever a model may have: events, validators,
cascades, versions, inheritance. For a model that has nothing of it, one statement gives
and stores the same, and is faster.
"""

from __future__ import annotations

import typing as t
from functools import cached_property
from operator import itemgetter
from types import SimpleNamespace

import sqlalchemy as sa
from sqlalchemy import ClauseElement, orm

from ..database.connections import listens
from ..database.database_errors import not_kept
from ..query.plans import have_id, id_parameters, PlanCache, Selection
from ..query.where import comparisons_of, conditions, origins_of
from .bodies import changes_with_others, Constructor, function_of, SQLDefault
from .resolved_call import identifier, max_records

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..database.database import Writing
    from ..database.driver_cursor import Rows
    from ..query import Field, Fields
    from ..typing import Id, Record
    from .resolved_call import ResolvedCall

    Statement: t.TypeAlias = sa.Update | sa.Delete

SESSION_EVENTS: t.Final = (
    *("do_orm_execute", "before_flush", "after_flush", "after_flush_postexec"),
    *("before_attach", "after_attach", "transient_to_pending", "pending_to_persistent"),
    *("loaded_as_persistent", "persistent_to_deleted", "deleted_to_detached"),
)
INSTANCE_EVENTS: t.Final = ("load", "refresh", "refresh_flush")
ATTRIBUTE_EVENTS: t.Final = ("set", "init_scalar", "modified")
MAPPER_EVENTS: t.Final = {
    "create": ("before_insert", "after_insert"),
    "patch": ("before_update", "after_update"),
    "remove": ("before_delete", "after_delete"),
}
"""The events that a unit of work sends, and a single statement does not."""

EXPRESSIONS: t.Final = (ClauseElement, SQLDefault)
"""The classes of values that a single statement does not take."""

STATEMENTS: t.Final = {"create": "insert", "patch": "update", "remove": "delete"}
"""The statements of the methods."""


class Write(t.NamedTuple):
    """A write of a call."""

    method: str
    """``create``, ``patch`` or ``remove``. An update is a patch of all fields."""

    writing: Writing
    """Where it writes."""

    call: ResolvedCall
    """The call."""

    bodies: Sequence[Record] = ()
    """The values of each new record, or of all that are patched."""

    id: Id = None
    """The identifier. ``None`` for new records, and for all that meet the query."""

    is_list: bool = False
    """``True`` if errors name the places of the bodies."""

    @property
    def limit(self) -> int | None:
        """The number of records of a write to many that are read. One more than a
        client may write says that there are too many.
        """
        bound = max_records(self.call.params)
        limits = [self.call.query.limit, None if bound is None else bound + 1]
        return min([each for each in limits if each is not None], default=None)

    def read_stored(self, fields: Iterable[Field]) -> Rows:
        """Return the values of fields in the records that it changes, which nobody else
        writes until the commit.
        """
        model, selection = self.call.model, Selection(tuple(fields))
        id = () if self.id is None else identifier(model.fields, self.id)
        query, plans = self.call.query, model.plans
        plan = plans.records(query, selection, self.limit, id, locking=True)
        return self.writing.rows(plan)


class FastPath:
    """Writes records of a model by single statements."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._mapper = fields.mapper
        self._columns = fields.columns
        self._table = t.cast("sa.Table", self._mapper.local_table)
        self._cache = PlanCache()
        columns = self._columns.items()
        self._renamed = {n: str(c.key) for n, c in columns if n != c.key}
        counter: t.Any = getattr(self._table, "autoincrement_column", None)
        is_only = [*map(id, self._mapper.primary_key)] == [id(counter)]
        self._counter = str(counter.key) if is_only else None
        functions = [
            (each.key, function_of(getattr(each, "default", None)))
            for each in self._mapper.columns
        ]
        self._defaults = {key: function for key, function in functions if function}

    def is_enough(self, write: Write) -> bool:
        """Return ``True`` if one statement writes what the unit of work would. All of
        this has to hold:

        - The model is one table, without inheritance, versions, a constructor, or
          columns and relationships that change with others.
        - Nobody listens to the session, the model or its attributes, as validators do.
        - The session has no instances that would not know of the change.
        - The database returns the rows that it writes.
        - The call is about one record or new ones, and plain columns of them alone.
        - All values are plain, and of the same columns.
        """
        many = "_executemany" if len(write.bodies) > 1 else ""
        returning = f"{STATEMENTS[write.method]}{many}_returning"
        return bool(
            self._is_enough_for_model[write.method]
            and getattr(write.writing.dialect, returning)
            and self._is_enough_for_call(write)
            and self._is_enough_for_session(write)
            and self._is_enough_for_values(write)
        )

    def create(self, write: Write) -> list[Record]:
        """Return new records, in the order of their bodies."""
        keys, selected = self._renamed, write.call.query.selected
        inserted = [body.copy() for body in write.bodies]

        if not keys.keys().isdisjoint(inserted[0]):
            inserted = [{keys.get(n, n): body[n] for n in body} for body in inserted]

        # Defaults may use the session, which then writes.
        for key, default in self._defaults.items():
            if key not in inserted[0]:
                for values in inserted:
                    values[key] = default(None)

        counter, is_many = self._counter, len(inserted) > 1
        is_sqlite = write.writing.dialect.name == "sqlite"
        # SQLite counts up in the order of the bodies, and returns rows in any order. Of
        # SQLAlchemy, it would get a statement for each.
        is_sorted = is_many and is_sqlite and counter not in {None, *inserted[0]}
        in_order = is_many and not is_sorted

        def build() -> sa.Insert:
            columns = self._columns_of(selected)
            columns += self._mapper.primary_key if is_sorted else ()
            insert = sa.insert(self._table)
            return insert.returning(*columns, sort_by_parameter_order=in_order)

        shape = ("insert", selected, in_order, is_sorted)
        plan = self._cache.plan(shape, build, inserted if is_many else inserted[0])
        # SQLAlchemy puts the rows in order.
        plan = plan._replace(on_cursor=None) if in_order else plan
        rows = write.writing.rows(plan, write.bodies)

        # A trigger may drop a row.
        if len(rows) < len(inserted):
            raise not_kept(self._fields)

        if is_sorted:
            rows = sorted(rows, key=itemgetter(-1))

        return write.call.records(rows)

    def patch(self, write: Write) -> list[Record]:
        """Return the record with its new values, or none if it does not meet the
        query.
        """
        [values] = write.bodies
        new = {f"records_new_{i}": value for i, value in enumerate(values.values())}

        def build() -> Statement:
            columns = [self._columns[name] for name in values]
            pairs = zip(columns, new, strict=True)
            parameters = {c: sa.bindparam(n, type_=c.type) for c, n in pairs}
            return sa.update(self._table).values(parameters)

        return self._change(write, ("update", *values), build, new)

    def remove(self, write: Write) -> list[Record]:
        """Return the record that is removed, or none if it does not meet the query."""
        return self._change(write, ("delete",), lambda: sa.delete(self._table), {})

    def _change(
        self,
        write: Write,
        key: tuple[str, ...],
        build: t.Callable[[], Statement],
        parameters: Record,
    ) -> list[Record]:
        """Return the record of a write that changes or removes it.

        :param build: Makes the statement without its conditions.
        """
        columns, query = self._columns, write.call.query

        def build_where() -> Statement:
            id = have_id([columns[field.name] for field in self._fields.identifying])
            statement = build().where(
                *id, *conditions(query, SimpleNamespace(**columns))
            )
            return statement.returning(*self._columns_of(query.selected))

        values = id_parameters(identifier(self._fields, write.id)) | parameters
        shape = (key, query.selected)
        plan = self._cache.plan(shape, build_where, values, query)
        return write.call.records(write.writing.rows(plan, write.bodies))

    def _columns_of(self, selected: Sequence[Field]) -> list[t.Any]:
        return [
            field.conversion.select_as(field.name, self._columns[field.name])
            for field in selected
        ]

    @cached_property
    def _is_enough_for_model(self) -> Mapping[str, bool]:
        """``True`` for the methods for which the model does not need the unit of work,
        found once the application has its listeners.
        """
        relationships, is_plain = self._mapper.relationships, self.is_plain
        # The unit of work updates nothing, and so not these, if no value has changed.
        has_updates = bool(self.names_updated)
        follows = all(each.passive_updates for each in relationships)
        return {
            "create": is_plain,
            "patch": is_plain and follows and not has_updates,
            "remove": is_plain and all(map(_is_left_alone, relationships)),
        }

    @cached_property
    def is_plain(self) -> bool:
        """``True`` if the model is one table, and no code of it follows its writes."""
        mapper, table = self._mapper, t.cast("t.Any", self._table)
        manager = t.cast("t.Any", mapper.class_manager)
        members = {name for base in mapper.class_.__mro__[:-1] for name in vars(base)}
        return (
            isinstance(table, sa.Table)
            # The way to say that triggers change the rows that are written.
            and table.implicit_returning
            and len(list(mapper.base_mapper.self_and_descendants)) == 1
            and mapper.persist_selectable is table
            and mapper.version_id_col is None
            and mapper.polymorphic_on is None
            and "__setattr__" not in members
            and not Constructor(self._fields).is_own
            and not listens(manager.dispatch, INSTANCE_EVENTS)
            # SQLAlchemy listens, too.
            and len(manager.dispatch.init) == 1
            and not any(
                listens(manager[name].dispatch, ATTRIBUTE_EVENTS)
                for name in self._columns
            )
        )

    @cached_property
    def names_updated(self) -> frozenset[str]:
        """The names of the fields that an update gives a value by itself."""
        return frozenset(
            name
            for name, column in self._columns.items()
            if changes_with_others(column)
        )

    def _is_enough_for_session(self, write: Write) -> bool:
        """Return ``True`` if nobody listens to the session or the model, and the
        session has no instances.
        """
        session: t.Any = write.writing.sample
        mapper: t.Any = self._mapper
        has_instances = session.identity_map or session.new
        return not (
            (write.method != "create" and has_instances)
            or listens(session.dispatch, SESSION_EVENTS)
            or listens(mapper.dispatch, MAPPER_EVENTS[write.method])
        )

    def _is_enough_for_call(self, write: Write) -> bool:
        call, query, fields = write.call, write.call.query, list[t.Any]()

        if query.terms:
            fields = [each.field for each in comparisons_of(query.terms)]
            fields += origins_of(query.terms)

        return (
            (write.id is not None or write.method == "create")
            and not (query.populate or call.selection.conditions or call.guards)
            and all(
                [
                    field.name in self._columns and field.is_usual
                    for field in (*query.selected, *fields)
                ]
            )
        )

    def _is_enough_for_values(self, write: Write) -> bool:
        """Return ``True`` if all bodies have values for the same columns, without
        expressions.
        """
        if write.method == "remove":
            return True

        bodies = write.bodies
        names = bodies[0].keys() if bodies else set()

        if not names or not names <= self._columns.keys():
            return False

        # One look at all values takes a fraction of the time of one call for each.
        classes = {type(value) for body in bodies for value in body.values()}
        return all([body.keys() == names for body in bodies]) and not any(
            issubclass(class_, EXPRESSIONS) for class_ in classes
        )


def _is_left_alone(relationship: orm.RelationshipProperty[t.Any]) -> bool:
    """Return ``True`` if related records do not change when a record is removed."""
    return bool(
        relationship.viewonly
        or (relationship.direction is orm.MANYTOONE and not relationship.cascade.delete)
        or (relationship.direction is orm.ONETOMANY and relationship.passive_deletes)
    )
