"""Records to which the bodies of calls refer: only those that their callers find."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest, Forbidden, NotAuthenticated, NotFound
from ..problems import no_record, NO_SERVICE, Problem, too_long
from ..query.bounds import current_bounds, refuse, refused
from ..query.field import quote_value
from ..query.operators import OR, SELECT
from ..query.plans import Plan
from ..service.globals import current_records
from .populate import service_of
from .resolved_call import chunks, identifier

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ..query import Field, Fields, Scope
    from ..query.paths import Relationship
    from ..service import Service
    from ..service.context import Params
    from ..typing import Record
    from .fast_path import Write
    from .model import ServedModel

    Key: t.TypeAlias = tuple[t.Any, ...]
    """The values of a foreign key, or of an identifier."""

    Reference: t.TypeAlias = tuple[tuple[str, ...], tuple[sa.Column[t.Any], ...]]
    """The names of fields, and the columns to which they refer."""

NOT_WRITTEN: t.Final = """\
'writable_relations' names '{name}', which is not a list or a set of '{model}' over a \
table between two models, that SQLAlchemy loads as a whole and writes. Others are \
written by the field with the foreign key, in the service of its model.\
"""

UNLOADED: t.Final = ("write_only", "dynamic")
"""The ways to load whose collections are not in memory."""

COLLECTIONS: t.Final = (list, set)
"""The classes of collections that bodies write."""


def references_of(mapper: orm.Mapper[t.Any]) -> Sequence[Reference]:
    """Return the foreign keys of a model, but for the one of a table that extends
    another one.
    """
    columns = [(each.key, each.columns[0]) for each in mapper.column_attrs]
    keys: dict[t.Any, list[tuple[str, sa.Column[t.Any]]]] = defaultdict(list)

    for name, column in columns:
        for key in column.foreign_keys if isinstance(column, sa.Column) else ():
            if not (column.primary_key and key.column.table in mapper.tables):
                keys[key.constraint or key].append((name, key.column))

    return [
        (tuple([name for name, _ in parts]), tuple([column for _, column in parts]))
        for parts in keys.values()
    ]


def find_unseen_references(write: Write) -> list[frozenset[str]]:
    """Return the names of the fields in each body of a client that refer to a record
    which the caller can't find, there or not. The database looks after keys of
    services without rules.
    """
    call, bodies = write.call, write.bodies
    state, served = call.params._state, call.model.served
    unseen = [frozenset[str]()] * len(bodies)

    if call.params.provider is None or state.service is None:
        return unseen

    for names, columns in served.references:
        names_sent = frozenset(names).intersection(state.client_fields)
        service = _service_of(served, names, columns[0].table) if names_sent else None

        if service is None:
            continue

        # In the order of the bodies, the keys that the records of each will have.
        keys = [_keys(write, names, body) for body in bodies]
        values = {key for each in keys for key in each or () if None not in key}
        missing = values - _find_visible(call.params, service, columns, values)

        for index, own in enumerate(keys):
            if own is None or not missing.isdisjoint(own):
                unseen[index] |= names_sent & bodies[index].keys()

    return unseen


def _keys(write: Write, names: Sequence[str], body: Record) -> list[Key] | None:
    """Return the values of a foreign key in the records of a body: none if a part is
    null, or ``None`` if defaults set a part of it, or a part is private.
    """
    if any(name in body and body[name] is None for name in names):
        return []

    fields = [write.call.model.fields.stored.get(name) for name in names]
    missing = [each for each in fields if each is None or each.name not in body]
    is_new = write.method == "create"

    if any(each is None or (is_new and each.has_default) for each in missing):
        return None

    if is_new or not missing:
        return [tuple([body.get(name) for name in names])]

    return [
        tuple([body.get(name, old) for name, old in zip(names, row, strict=True)])
        for row in write.read_stored(t.cast("list[Field]", fields))
    ]


def _service_of(
    served: ServedModel, names: Sequence[str], table: t.Any
) -> Service | None:
    """Return the service that shows the records to which fields refer, if it limits who
    finds which.
    """
    own = {served.mapper.columns[name] for name in names}
    services = [
        service_of(each, served.populate_paths)
        for each in served.mapper.relationships
        if each.local_columns == own and table in each.mapper.tables
    ] or [
        each
        for each in current_records.services.values()
        if each.capabilities.model is not None
        and table in sa.inspect(each.capabilities.model).tables
    ]
    service = next(iter(services), None)
    return service if service is not None and service.limits_find else None


def _find_visible(
    params: Params,
    service: Service,
    columns: Sequence[sa.Column[t.Any]],
    values: set[Key],
) -> set[Key]:
    """Return those values of columns whose records the caller finds in a service."""
    model = sa.inspect(t.cast("type[t.Any]", service.capabilities.model))

    if not all(map(model.columns.contains_column, columns)):
        return set()

    names = [model.get_property_by_column(column).key for column in columns]

    try:
        return find_keys(service, params, names, values)
    except (BadRequest, Forbidden, NotAuthenticated):
        # The caller may not see a field of the key, either.
        return set()


def find_keys(
    service: Service,
    params: Params,
    names: Sequence[str],
    keys: Collection[tuple[t.Any, ...]],
) -> set[tuple[t.Any, ...]]:
    """Return the keys of the records that a caller finds in a service.

    :param names: The names of the fields of a key.
    """
    caller = service.as_caller(params, paginate=False, is_counted=False)
    fields = t.cast("Scope", service.capabilities.scope_for(params)).fields.stored
    visible = set[tuple[t.Any, ...]]()

    for chunk in chunks(keys):
        each_of = [dict(zip(names, key, strict=True)) for key in chunk]
        one_of: Record = {names[0]: {"$in": [key[0] for key in chunk]}}
        query = one_of if len(names) == 1 else {OR: each_of}

        for record in t.cast("list[Record]", caller.find({**query, SELECT: names})):
            # A hook may have removed a value. It may be another form of the key.
            with suppress(KeyError, ValueError):
                pairs = [(fields[name].conversion, record[name]) for name in names]
                visible.add(tuple([c.read(v, is_checked=False) for c, v in pairs]))

    return visible


class Lookup:
    """Looks up the records of a service as the caller of a write sees them."""

    def __init__(self, service: Service, write: Write) -> None:
        self._service = service
        self._writing = write.writing
        self._params = write.call.params
        self._fields: Fields = service.target.scope_for(self._params).fields

        # A client would learn from the answer whether there are records.
        if self._params.provider is not None:
            service.params_of_find(replace(self._params, query={}))

    def key(self, item: t.Any) -> Key:
        """Return the key of an item of a body, which is empty if it has none."""
        if isinstance(item, Mapping):
            item = item.get(self._fields.id.name)

        try:
            return identifier(self._fields, item)
        except NotFound:
            return ()

    def load(self, keys: Collection[Key]) -> Mapping[Key, t.Any]:
        """Return the instances of the keys that the caller may see."""
        model, id = self._fields.model, self._fields.id.column
        by_key: dict[Key, t.Any] = {}

        for chunk in chunks(self._visible(keys)):
            values = chunk if self._fields.composite else [key[0] for key in chunk]
            statement = sa.select(model).where(id.in_(values))
            plan = Plan(statement.options(orm.lazyload("*")), {})
            instances = self._writing.instances(plan)
            by_key.update({self._key_of(each): each for each in instances})

        return by_key

    def unseen(self, instances: Sequence[t.Any]) -> list[t.Any]:
        """Return the instances that the caller may not see."""
        visible = self._visible([self._key_of(each) for each in instances])
        return [each for each in instances if self._key_of(each) not in visible]

    def _visible(self, keys: Collection[Key]) -> set[Key]:
        """Return the keys of the records that the service shows to the caller."""
        if self._params.provider is None:
            return set(keys)

        names = [field.name for field in self._fields.identifying]
        return find_keys(self._service, self._params, names, keys)

    def _key_of(self, instance: t.Any) -> Key:
        parts = self._fields.identifying
        return tuple([getattr(instance, field.name) for field in parts])


class RelatedInstances(t.NamedTuple):
    """The instances that a body names for a relationship."""

    relationship: Relationship
    lookup: Lookup
    instances: list[t.Any]

    def set(self, instance: t.Any) -> None:
        """Set the relationship of an instance. Related records that the caller can't
        see stay.
        """
        name = self.relationship.key
        collection: t.Any = self.relationship.collection_class or list
        # An instance that is not stored yet has no others.
        is_stored = orm.attributes.instance_state(instance).has_identity
        present = list(getattr(instance, name)) if is_stored else []
        # Models may define equality.
        ids = set(map(id, self.instances))
        others = [each for each in present if id(each) not in ids]
        unseen = self.lookup.unseen(others)
        setattr(instance, name, collection([*self.instances, *unseen]))


def load_related(served: ServedModel, write: Write) -> list[Record]:
    """Return the bodies of a write with the related instances in place of their
    identifiers.
    """
    params = write.call.params
    bodies = [dict(body) for body in write.bodies]
    problems: dict[str, Problem] = {}
    limit = current_bounds().list_items

    for name, relationship in served.writable.items():
        ids = {i: body[name] for i, body in enumerate(write.bodies) if name in body}

        if not ids:
            continue

        service = service_of(relationship, served.populate_paths)

        if service is None:
            raise refused(name, NO_SERVICE)

        lookup = Lookup(service, write)
        keys = {index: list(map(lookup.key, items)) for index, items in ids.items()}
        distinct = {key for each in keys.values() for key in each if key}

        if params.provider is not None and len(distinct) > limit:
            raise refused(name, too_long(limit, "records"))

        instances = lookup.load(distinct)

        for index, items in ids.items():
            prefix = f"{index}.{name}" if write.is_list else name
            by_key: dict[Key, t.Any] = {}

            for place, (item, key) in enumerate(zip(items, keys[index], strict=True)):
                if key in instances:
                    by_key[key] = instances[key]
                else:
                    problems[f"{prefix}.{place}"] = no_record(quote_value(item))

            instances_of = list(by_key.values())
            bodies[index][name] = RelatedInstances(relationship, lookup, instances_of)

    refuse(problems)
    return bodies


def writable_relations(
    names: Iterable[str], mapper: orm.Mapper[t.Any]
) -> dict[str, Relationship]:
    """Return the relationships of an option, by name."""
    relationships = {}

    for name in names:
        relationship = mapper.relationships.get(name)

        if (
            relationship is None
            or relationship.secondary is None
            or relationship.single_parent
            or relationship.viewonly
            or relationship.lazy in UNLOADED
            or (relationship.collection_class or list) not in COLLECTIONS
        ):
            model = mapper.class_.__name__
            raise ValueError(NOT_WRITTEN.format(name=name, model=model))

        relationships[name] = relationship

    return relationships
