"""Records that a body refers to, looked up through their service."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import NotFound
from ..query.plans import Plan
from .chunks import chunks
from .reads import identifier

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set

    from ..context import Params
    from ..query import Fields
    from ..service import Service
    from .writing import Writing

    Key: t.TypeAlias = tuple[t.Any, ...]
    """The values of an identifier."""


class Lookup:
    """Looks up records as a caller sees them.

    :param service: The service that shows them.
    """

    def __init__(
        self,
        model: type[t.Any],
        service: Service,
        writing: Writing,
        params: Params,
    ) -> None:
        self._model = model
        self._service = service
        self._writing = writing
        self._params = params
        self._fields: Fields = service.target.fields_for(params)

    def key(self, item: t.Any) -> Key | None:
        """Return the key of an item of a body, or ``None`` if it is none."""
        if isinstance(item, Mapping):
            item = item.get(self._fields.id.name)

        try:
            return identifier(self._fields, item)
        except NotFound:
            return None

    def load(self, keys: Collection[Key]) -> Mapping[Key, t.Any]:
        """Return the instances of the keys that the caller may see."""
        keys, column = self._visible(keys), self._fields.id.column
        found: dict[Key, t.Any] = {}

        for chunk in chunks(keys):
            are_meant = column.in_(self._identifiers(chunk))
            statement = sa.select(self._model).where(are_meant)

            for instance in self.instances_of(statement):
                found[self._key_of(instance)] = instance

        return found

    def visible(self, instances: Sequence[t.Any]) -> list[t.Any]:
        """Return those of some instances that the caller may see."""
        if not instances:
            return []

        keys = [self._key_of(each) for each in instances]
        visible = self._visible(keys)
        pairs = zip(instances, keys, strict=True)
        return [instance for instance, key in pairs if key in visible]

    def instances_of(self, statement: t.Any) -> list[t.Any]:
        """Return the instances of a statement."""
        return self._writing.instances(Plan(statement.options(orm.lazyload("*")), {}))

    def _key_of(self, instance: t.Any) -> Key:
        return tuple(
            [getattr(instance, field.name) for field in self._fields.identifying]
        )

    def _visible(self, keys: Collection[Key]) -> Set[Key]:
        """Return the keys of the records that the service shows to the caller."""
        if self._params.provider is None:
            return set(keys)

        caller = self._service.part_of_call(self._params)
        seen: set[Key] = set()

        for chunk in chunks(keys):
            query = {self._fields.id.name: {"$in": self._identifiers(chunk)}}
            found = [self.key(record) for record in caller.run("find", query).sent]
            seen.update(key for key in found if key is not None)

        return seen

    def _identifiers(self, keys: Iterable[Key]) -> list[t.Any]:
        """Return the values of the identifier field for keys."""
        is_composite = self._fields.composite is not None
        return [key if is_composite else key[0] for key in keys]
