"""Foreign keys in bodies of clients, which refer to records that the caller finds."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from functools import lru_cache

import sqlalchemy as sa

from ..errors import BadRequest, Forbidden, NotAuthenticated
from ..query import Field
from ..query.field import OPAQUE
from ..service.globals import current_records
from .bodies import default_of, KEEP
from .populate import find_keys, service_of

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import orm

    from ..query import Fields
    from ..service import Service
    from ..typing import Record
    from .fast_path import Write
    from .model import ServedModel
    from .resolved_call import ResolvedCall

    Key: t.TypeAlias = tuple[t.Any, ...]
    """The values of a foreign key."""

    Reference: t.TypeAlias = tuple[tuple[str, ...], tuple[sa.Column[t.Any], ...]]
    """The names of fields, and the columns to which they refer."""


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

    A key takes the columns that a body leaves out from the stored records, or from the
    defaults of a new record, which are added to its body.
    """
    call, bodies = write.call, write.bodies
    state, served = call.params._state, call.model.served
    unseen = [frozenset[str]()] * len(bodies)

    if call.params.provider is None or state.service is None:
        return unseen

    for reference in served.references:
        names = reference[0]
        names_sent = frozenset(names).intersection(state.client_fields)
        service = _service_of(served, reference) if names_sent else None

        if service is None:
            continue

        # In the order of the bodies, the keys that the records of each will have.
        keys = [_keys(write, names, body) for body in bodies]
        values = {key for each in keys for key in each if None not in key}
        missing = values - _find_visible(call, service, reference[1], values)

        for index, own in enumerate(keys):
            if not missing.isdisjoint(own):
                unseen[index] |= names_sent & bodies[index].keys()

    return unseen


def _keys(write: Write, names: Sequence[str], body: Record) -> list[Key]:
    """Return the values of a foreign key in the records of a body, to which the other
    columns of a new record are added.
    """
    fields, missing = write.call.model.fields, {*names} - body.keys()

    if write.method == "create" and len(names) > 1:
        defaults = {name: default_of(_field(fields, name)) for name in missing}
        body.update({n: each for n, each in defaults.items() if each is not KEEP})

    if write.method == "create" or not missing:
        return [tuple([body.get(name) for name in names])]

    return [
        tuple([body.get(name, old) for name, old in zip(names, row, strict=True)])
        for row in write.read_stored([_field(fields, name) for name in names])
    ]


@lru_cache(maxsize=1000)
def _field(fields: Fields, name: str) -> Field:
    """Return the field of an attribute of a model, which may be private."""
    column = getattr(fields.model, name)
    return fields.stored.get(name) or Field(name, column, column, OPAQUE)


def _service_of(served: ServedModel, reference: Reference) -> Service | None:
    """Return the service that shows the records to which fields refer, if it limits who
    finds which.
    """
    own = {served.mapper.columns[name] for name in reference[0]}
    table = reference[1][0].table
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
    call: ResolvedCall,
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
        return find_keys(service, call.params, names, values)
    except (BadRequest, Forbidden, NotAuthenticated):
        # The caller may not see a field of the key, either.
        return set()
