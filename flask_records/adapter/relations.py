"""Lists over tables between two models that bodies write, by identifiers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import NotFound
from ..problems import no_record, NO_SERVICE, Problem, too_long
from ..query.bounds import current_bounds, refuse, refused
from ..query.field import quote_value
from ..query.plans import Plan
from .populate import find_keys, service_of
from .resolved_call import chunks, identifier

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ..query import Fields
    from ..query.paths import Relationship
    from ..typing import Record
    from .fast_path import Write
    from .model import ServedModel

    Key: t.TypeAlias = tuple[t.Any, ...]
    """The values of an identifier."""

NOT_WRITTEN: t.Final = """\
'writable_relations' names '{name}', which is not a list or a set of '{model}' over a \
table between two models, that SQLAlchemy loads as a whole and writes. Others are \
written by the field with the foreign key, in the service of its model.\
"""

UNLOADED: t.Final = ("write_only", "dynamic")
"""The ways to load whose collections are not in memory."""

COLLECTIONS: t.Final = (list, set)
"""The classes of collections that bodies write."""


class Lookup:
    """Looks up the records of a relationship as the caller of a write sees them.

    :raises BadRequest: No service shows these records.
    """

    def __init__(
        self, relationship: Relationship, paths: Mapping[str, str], write: Write
    ) -> None:
        service = service_of(relationship, paths)

        if service is None:
            raise refused(relationship.key, NO_SERVICE)

        self.relationship = relationship
        """The relationship."""
        self._service = service
        self._writing = write.writing
        self._params = write.call.params
        self._fields: Fields = service.target.scope_for(self._params).fields

        # A client would learn from the answer whether there are records.
        if self._params.provider is not None:
            service.params_of_find(replace(self._params, query={}))

    def key(self, item: t.Any) -> Key | None:
        """Return the key of an item of a body, or ``None`` if it has none."""
        if isinstance(item, Mapping):
            item = item.get(self._fields.id.name)

        try:
            return identifier(self._fields, item)
        except NotFound:
            return None

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

    def visible(self, instances: Sequence[t.Any]) -> list[t.Any]:
        """Return the instances that the caller may see."""
        visible = self._visible([self._key_of(each) for each in instances])
        return [each for each in instances if self._key_of(each) in visible]

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

    lookup: Lookup
    """The look-up of its records."""

    instances: list[t.Any]
    """The instances."""

    def set(self, instance: t.Any) -> None:
        """Set the relationship of an instance. Related records that the caller can't
        see stay.
        """
        relationship, name = self.lookup.relationship, self.lookup.relationship.key
        collection: t.Any = relationship.collection_class or list
        # An instance that is not stored yet has no others.
        is_stored = orm.attributes.instance_state(instance).has_identity
        present = list(getattr(instance, name)) if is_stored else []
        others = without(present, self.instances)
        staying = without(others, self.lookup.visible(others))
        setattr(instance, name, collection([*self.instances, *staying]))


def load_related(served: ServedModel, write: Write) -> list[Record]:
    """Return the bodies of a write with the related instances in place of their
    identifiers.

    :raises BadRequest: A record is not there, or the caller may not see it, or there
        are too many.
    """
    params = write.call.params
    bodies = [dict(body) for body in write.bodies]
    problems: dict[str, Problem] = {}
    limit = current_bounds().list_items

    for name, relationship in served.writable.items():
        ids = {i: body[name] for i, body in enumerate(write.bodies) if name in body}

        if not ids:
            continue

        lookup = Lookup(relationship, served.populate_paths, write)
        keys = {index: list(map(lookup.key, items)) for index, items in ids.items()}
        distinct = {key for each in keys.values() for key in each if key is not None}

        if params.provider is not None and len(distinct) > limit:
            raise refused(name, too_long(limit, "records"))

        instances = lookup.load(distinct)

        for index, items in ids.items():
            prefix = f"{index}.{name}" if write.is_list else name
            by_key: dict[Key, t.Any] = {}

            for place, (item, key) in enumerate(zip(items, keys[index], strict=True)):
                if key is not None and key in instances:
                    by_key[key] = instances[key]
                else:
                    problems[f"{prefix}.{place}"] = no_record(quote_value(item))

            bodies[index][name] = RelatedInstances(lookup, list(by_key.values()))

    refuse(problems)
    return bodies


def writable_relations(
    names: Iterable[str], mapper: orm.Mapper[t.Any]
) -> dict[str, Relationship]:
    """Return the relationships of an option, by name.

    :raises ValueError: A name is not a relationship that can be written.
    """
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


def without(instances: Sequence[t.Any], others: Sequence[t.Any]) -> list[t.Any]:
    """Return the instances that are not among others. Models may define equality."""
    ids = set(map(id, others))
    return [each for each in instances if id(each) not in ids]
