"""Lists of related records that bodies write, by their identifiers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import Forbidden, NotFound
from ..problems import no_record, NO_SERVICE, Problem, too_long
from ..query.bounds import current_bounds, refuse, refused
from ..query.field import shown
from ..query.paths import key_names
from ..query.plans import Plan
from ..query.rules import names_in
from ..service.context import CallState, Params
from .populate import service_of
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
'writable_relations' names '{name}', which is not a relationship of '{model}' to a \
list or a set that SQLAlchemy loads as a whole and writes. One record is written by \
the field that refers to it.\
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
        self._changed: list[Record] = []
        self._conditions: list[Record] = []

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
        found: dict[Key, t.Any] = {}

        for chunk in chunks(self._visible(keys)):
            statement = sa.select(model).where(id.in_(self._identifiers(chunk)))
            plan = Plan(statement.options(orm.lazyload("*")), {})
            instances = self._writing.instances(plan)
            found.update({self._key_of(each): each for each in instances})

        return found

    def visible(self, instances: Sequence[t.Any]) -> list[t.Any]:
        """Return the instances that the caller may see."""
        visible = self._visible([self._key_of(each) for each in instances])
        return [each for each in instances if self._key_of(each) in visible]

    def change(self, instances: Sequence[t.Any], method: str = "patch") -> None:
        """Refuse to change related records that have the foreign key, unless the caller
        may do so in their service.

        :param method: The method that would change them there.
        :raises Forbidden: The caller may not.
        """
        is_theirs = self.relationship.direction is orm.ONETOMANY

        if self._params.provider is None or not is_theirs or not instances:
            return

        service, id = self._service, self._fields.id.name
        params, conditions = service.params_of(method, replace(self._params, query={}))
        scope = service.target.scope_for(params)
        names = key_names(self.relationship)[1] if method == "patch" else frozenset()
        ids = self._identifiers([self._key_of(each) for each in instances])
        rules = [scope.written_if[name] for name in names if name in scope.written_if]
        rules += params._state.rules or ()
        state = CallState(service, rules=rules)
        found = Params({id: {"$in": ids}}, paginate=False, _state=state)
        writable = scope.writable.difference(scope.fields.options.write_once)
        is_open = method in service.methods and names <= writable

        if not is_open or len(service.target.find(found)) < len(ids):
            raise self._forbidden(method)

        if method == "patch":
            self._changed += [{id: each} for each in ids]
            decides = partial(service.capabilities.decides, method, names, ())
            self._conditions = [e for e in conditions if decides(names_in(e))]

    def check_changed(self) -> None:
        """Refuse related records that a patch in their service might not leave as they
        are now.

        :raises Forbidden: There is one.
        """
        for condition in self._conditions:
            if not self._service.capabilities.are_met(self._changed, condition):
                raise self._forbidden("patch")

    def _forbidden(self, method: str) -> Forbidden:
        name, path = self.relationship.key, self._service.path
        return Forbidden(f"'{name}': you may not {method} all of these in '{path}'.")

    def _visible(self, keys: Collection[Key]) -> set[Key]:
        """Return the keys of the records that the service shows to the caller."""
        if self._params.provider is None:
            return set(keys)

        caller = self._service.as_caller(self._params, paginate=False, is_counted=False)
        seen: set[Key] = set()

        for chunk in chunks(keys):
            query = {self._fields.id.name: {"$in": self._identifiers(chunk)}}
            records = t.cast("list[Record]", caller.find(query))
            found = [self.key(record) for record in records]
            seen.update(key for key in found if key is not None)

        return seen

    def _key_of(self, instance: t.Any) -> Key:
        parts = self._fields.identifying
        return tuple([getattr(instance, field.name) for field in parts])

    def _identifiers(self, keys: Iterable[Key]) -> list[t.Any]:
        """Return the values of the identifier field for keys."""
        is_composite = self._fields.composite is not None
        return [key if is_composite else key[0] for key in keys]


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
        unnamed = without(present, self.instances)
        leaving = self.lookup.visible(unnamed)
        staying = without(unnamed, leaving)
        is_removed = relationship.cascade.delete_orphan
        self.lookup.change(leaving, "remove" if is_removed else "patch")

        if is_stored:
            self.lookup.change(without(self.instances, present))

        setattr(instance, name, collection([*self.instances, *staying]))


def load_related(served: ServedModel, write: Write) -> list[Record]:
    """Return the bodies of a write with the related instances in place of their
    identifiers.

    :raises BadRequest: A record is not there, or the caller may not see it, or there
        are too many.
    """
    params = write.call.params
    loaded = [dict(body) for body in write.bodies]
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

        if write.method == "create":
            lookup.change(list(instances.values()))

        for index, items in ids.items():
            prefix = f"{index}.{name}" if write.is_list else name
            found: dict[Key, t.Any] = {}

            for place, (item, key) in enumerate(zip(items, keys[index], strict=True)):
                if key is not None and key in instances:
                    found[key] = instances[key]
                else:
                    problems[f"{prefix}.{place}"] = no_record(shown(item))

            loaded[index][name] = RelatedInstances(lookup, list(found.values()))

    refuse(problems)
    return loaded


def check_related(bodies: Sequence[Record]) -> None:
    """Refuse what a write has made of related records if their rules do.

    :param bodies: The bodies with the related instances.
    :raises Forbidden: The caller might not patch them like this.
    """
    for value in [each for body in bodies for each in body.values()]:
        if isinstance(value, RelatedInstances):
            value.lookup.check_changed()


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
            or relationship.viewonly
            or not relationship.uselist
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
