"""Relationships that are written by the identifiers of their records."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import orm
from sqlalchemy.ext.orderinglist import OrderingList

from ..errors import BadRequest, Conflict
from ..problems import NEEDED, NO_LIST_OF_IDS, NO_SERVICE, NO_SINGLE_ID
from .lookup import Lookup
from .populate import service_of
from .relationships import field_name

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set

    from ..context import Params
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


def _without(instances: Sequence[t.Any], others: Sequence[t.Any]) -> list[t.Any]:
    """Return the instances that are not among others. Models may define equality."""
    ids = set(map(id, others))
    return [each for each in instances if id(each) not in ids]
