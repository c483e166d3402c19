"""Bodies with related records in place of their identifiers."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import orm

from ..errors import BadRequest
from ..problems import contradicts, no_record, Problem, too_many_records
from ..query.bounds import current_bounds
from ..query.field import shown
from ..query.refusals import refuse

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Params
    from ..typing import Record
    from .lookup import Key, Lookup
    from .related import WritableRelation
    from .writing import Writing


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
