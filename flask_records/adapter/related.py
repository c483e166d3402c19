"""Relationships that are written by the identifiers of their records."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from sqlalchemy import orm
from sqlalchemy.ext.orderinglist import OrderingList

from ..errors import BadRequest
from ..errors import Conflict
from ..problems import contradicts
from ..problems import NEEDED
from ..problems import NO_LIST_OF_IDS
from ..problems import no_record
from ..problems import NO_SERVICE
from ..problems import NO_SINGLE_ID
from ..problems import Problem
from ..problems import too_many_records
from ..query.bounds import current_bounds
from ..query.field import shown
from .bodies import refuse
from .lookup import Lookup
from .populate import service_of
from .relationships import field_name

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence
    from collections.abc import Set

    from ..context import Params
    from ..typing import Record
    from .lookup import Key
    from .writing import Writing

UNLOADED: t.Final = frozenset({"write_only", "dynamic"})
"""The ways to load whose collections are not lists in memory."""


@dataclass(frozen=True)
class RelatedIds:
    """The identifiers in a body for a relationship, which are not looked up yet."""

    items: Sequence[t.Any]
    """Identifiers, or records that have one. A relationship to one has one at most."""


class WritableRelation:
    """A relationship that bodies may name.

    :param paths: The paths of services that show relationships, by their names.
    """

    def __init__(
        self, relationship: orm.RelationshipProperty[t.Any], paths: Mapping[str, str]
    ) -> None:
        self.relationship = relationship
        self.name = relationship.key
        """The name of the relationship."""
        self.is_list = bool(relationship.uselist)
        """``True`` for a relationship to many records."""
        self._paths = paths
        is_own = relationship.direction is orm.MANYTOONE
        self.columns: Mapping[str, str] = {
            field_name(relationship.parent, local): field_name(
                relationship.mapper, other
            )
            for local, other in (relationship.local_remote_pairs if is_own else ())
        }
        """The fields of this end that refer to the other end, and the fields that they
        refer to.
        """
        base = relationship.parent.base_mapper
        self._is_of_one_model = is_own and relationship.mapper.base_mapper is base
        self._needs_parent = relationship.direction is orm.ONETOMANY and any(
            not column.nullable or column.primary_key
            for column in relationship.remote_side
        )

    def read(self, value: t.Any) -> RelatedIds:
        """Return the identifiers of a body.

        :raises ValueError: It is not a list, or is one for a relationship to one.
        """
        if isinstance(value, list) != self.is_list:
            raise ValueError(NO_LIST_OF_IDS if self.is_list else NO_SINGLE_ID)

        # A form has no null.
        is_null = not self.is_list and value in (None, "")
        return RelatedIds(value if self.is_list else [] if is_null else [value])

    def lookup(self, writing: Writing, params: Params) -> Lookup:
        """Return the look-up of its records for a caller.

        :raises BadRequest: No service shows these records.
        """
        service = service_of(self.relationship, self._paths)

        if service is None:
            raise BadRequest(
                f"'{self.name}' can't be written: no service shows its records.",
                errors={self.name: NO_SERVICE},
            )

        return Lookup(self.relationship.mapper.class_, service, writing, params)

    def set(self, instance: t.Any, others: Sequence[t.Any], lookup: Lookup) -> None:
        """Set the relationship of an instance. Related records that the caller can't
        see stay.

        :raises Conflict: A record that is left out can't be without this one.
        """
        # An instance that is not stored yet has no others.
        is_stored = orm.attributes.instance_state(instance).has_identity
        present = self._present(instance, lookup) if is_stored else []
        leaving = lookup.visible(_without(present, others))

        if (
            leaving
            and self._needs_parent
            and not self.relationship.cascade.delete_orphan
        ):
            raise Conflict(f"'{self.name}' {NEEDED}.", errors={self.name: NEEDED})

        if self.is_list:
            unseen = _without(_without(present, others), leaving)
            self._replace(instance, present, [*others, *unseen])
        elif others or leaving or not is_stored:
            self._refer(instance, next(iter(others), None))

    def _present(self, instance: t.Any, lookup: Lookup) -> list[t.Any]:
        """Return the related instances."""
        value = getattr(instance, self.name)

        if self.relationship.lazy in UNLOADED:
            statement = value.select() if hasattr(value, "select") else value.statement
            return lookup.instances_of(statement)

        if self.is_list:
            return list(orm.collections.collection_adapter(value))

        return [] if value is None else [value]

    def _refer(self, instance: t.Any, other: t.Any) -> None:
        if not self._is_of_one_model:
            setattr(instance, self.name, other)
            return

        session = orm.object_session(instance)

        # SQLAlchemy finds no order for loaded records that refer to each other, or to
        # themselves. Only those that are there are referred to.
        if session is not None:
            session.expire(instance, [self.name])

        for own, theirs in self.columns.items():
            setattr(instance, own, getattr(other, theirs, None))

    def _replace(
        self, instance: t.Any, present: Sequence[t.Any], others: Sequence[t.Any]
    ) -> None:
        value = getattr(instance, self.name)

        if isinstance(value, list):
            setattr(instance, self.name, others)
            value = getattr(instance, self.name)

            # It keeps the places that records have already.
            if isinstance(value, OrderingList):
                value.reorder()

            return

        if self.relationship.lazy in UNLOADED:
            add, remove = getattr(value, "add", None) or value.append, value.remove
        else:
            adapter = orm.collections.collection_adapter(value)
            add, remove = adapter.append_with_event, adapter.remove_with_event

        for each in _without(present, others):
            remove(each)

        for each in _without(others, present):
            add(each)


@dataclass(frozen=True)
class Relations:
    """The relationships that the bodies of a service may name."""

    shown: Set[str] = frozenset()
    """Those that records can be shown with."""

    writable: Mapping[str, WritableRelation] = field(default_factory=dict)
    """Those that can be written."""


@dataclass(frozen=True)
class Related:
    """The instances that a body names for a relationship."""

    relation: WritableRelation
    instances: Sequence[t.Any]
    lookup: Lookup

    @property
    def value(self) -> t.Any:
        """The value of the attribute: a list, an instance, or ``None``."""
        if self.relation.is_list:
            return list(self.instances)

        return next(iter(self.instances), None)

    def set(self, instance: t.Any) -> None:
        """Set the relationship of an instance."""
        self.relation.set(instance, self.instances, self.lookup)


def settled(instance: t.Any, values: Record) -> Record:
    """Return values without what a client has sent unchanged beside a change: a related
    record, or the field that refers to it.

    :raises BadRequest: Both are new, and the field refers to another record.
    """
    settled = dict(values)
    is_stored = orm.attributes.instance_state(instance).has_identity

    for name, related in values.items():
        columns = related.relation.columns if isinstance(related, Related) else {}
        sent = {own: values[own] for own in columns if own in values}
        wanted = {own: getattr(related.value, columns[own], None) for own in sent}
        present = {own: getattr(instance, own) for own in sent}

        if sent == wanted:
            continue

        if is_stored and wanted == present:
            del settled[name]
        elif is_stored and sent == present:
            settled = {n: settled[n] for n in settled if n not in sent}
        else:
            why = contradicts(sent)
            raise BadRequest(f"'{name}' {why}.", errors={name: why})

    return settled


def writable_relations(
    names: Iterable[str], mapper: orm.Mapper[t.Any], paths: Mapping[str, str]
) -> dict[str, WritableRelation]:
    """Return the relationships of an option, by name.

    :raises ValueError: A name is not a relationship, or it can't be written.
    """
    relations = {}

    for name in names:
        relationship = mapper.relationships.get(name)
        model = mapper.class_.__name__

        if relationship is None:
            raise ValueError(
                f"'writable_relations' names '{name}', which is not a relationship of"
                f" '{model}'."
            )

        if relationship.viewonly:
            raise ValueError(
                f"'writable_relations' names '{name}', which is 'viewonly'. Name a"
                f" relationship of '{model}' that SQLAlchemy writes."
            )

        relations[name] = WritableRelation(relationship, paths)

    return relations


def load_related(
    relations: Mapping[str, WritableRelation],
    writing: Writing,
    params: Params,
    bodies: Sequence[Record],
    *,
    is_list: bool = False,
) -> list[Record]:
    """Return bodies with the related instances in place of their identifiers.

    :param is_list: ``True`` if errors name the places of the bodies.
    :raises BadRequest: A record is not there, or the caller may not see it, or there
        are too many.
    """
    loaded = [dict(body) for body in bodies]
    problems: dict[str, Problem] = {}

    for name, relation in relations.items():
        named = [
            (index, body[name]) for index, body in enumerate(bodies) if name in body
        ]

        if not named:
            continue

        lookup = relation.lookup(writing, params)
        keys = {index: list(map(lookup.key, ids.items)) for index, ids in named}
        distinct = {key for each in keys.values() for key in each if key is not None}
        _check_number(name, len(distinct), params)
        instances = lookup.load(distinct)

        for index, ids in named:
            prefix = f"{index}.{name}" if is_list else name
            found: dict[Key, t.Any] = {}

            for place, (item, key) in enumerate(
                zip(ids.items, keys[index], strict=True)
            ):
                if key is not None and key in instances:
                    found[key] = instances[key]
                else:
                    full = f"{prefix}.{place}" if relation.is_list else prefix
                    problems[full] = no_record(_shown(item))

            others = list(found.values())
            loaded[index][name] = Related(relation, others, lookup)

    refuse(problems)
    return loaded


def _check_number(name: str, number: int, params: Params) -> None:
    limit = current_bounds().list_items

    if params.provider is not None and number > limit:
        why = too_many_records(limit)
        raise BadRequest(f"'{name}' {why}.", errors={name: why})


def _shown(item: t.Any) -> str:
    return "a record without identifier" if isinstance(item, Mapping) else shown(item)


def _without(instances: Sequence[t.Any], others: Sequence[t.Any]) -> list[t.Any]:
    """Return the instances that are not among others. Models may define equality."""
    ids = set(map(id, others))
    return [each for each in instances if id(each) not in ids]
