"""Foreign keys in bodies of clients, which refer to records that the caller finds."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from ..errors import Forbidden, NotAuthenticated
from ..service.globals import current_records
from .populate import service_of
from .resolved_call import chunks

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import orm

    from ..service import Service
    from ..typing import Record
    from .model import ServedModel
    from .resolved_call import ResolvedCall

    Reference: t.TypeAlias = tuple[str, sa.Column[t.Any]]
    """The name of a field, and the column to which it refers."""


def references_of(mapper: orm.Mapper[t.Any]) -> Sequence[Reference]:
    """Return the foreign keys of a model, but for the one of a table that extends
    another one.
    """
    columns = [(each.key, each.columns[0]) for each in mapper.column_attrs]
    return [
        (name, key.column)
        for name, column in columns
        if isinstance(column, sa.Column)
        for key in column.foreign_keys
        if not (column.primary_key and key.column.table in mapper.tables)
    ]


def unseen_references(call: ResolvedCall, bodies: Sequence[Record]) -> list[set[str]]:
    """Return the names of the fields in each body of a client that refer to a record
    which the caller can't find, there or not. The database looks after those of
    services without rules.
    """
    state, served = call.params._state, call.model.served
    unseen = [set[str]() for _ in bodies]

    if call.params.provider is None or state.service is None:
        return unseen

    for name, column in served.references:
        is_sent = name in state.client_fields
        service = _service_of(served, name, column) if is_sent else None

        if service is None:
            continue

        values = {body.get(name) for body in bodies} - {None}
        found = _found(call, service, column, values) if values else set()

        for body, names in zip(bodies, unseen, strict=True):
            if body.get(name) in values - found:
                names.add(name)

    return unseen


def _service_of(
    served: ServedModel, name: str, column: sa.Column[t.Any]
) -> Service | None:
    """Return the service that shows the records to which a field refers, if it limits
    who finds which.
    """
    own = {served.mapper.columns[name]}
    services = [
        service_of(each, served.populate_paths)
        for each in served.mapper.relationships
        if each.local_columns == own and column.table in each.mapper.tables
    ] or [
        each
        for each in current_records.services.values()
        if each.capabilities.model is not None
        and column.table in sa.inspect(each.capabilities.model).tables
    ]
    service = next(iter(services), None)
    return service if service is not None and service.limits_find else None


def _found(
    call: ResolvedCall, service: Service, column: sa.Column[t.Any], values: set[t.Any]
) -> set[t.Any]:
    """Return those values of a column whose records the caller finds in a service."""
    caller = service.as_caller(call.params, paginate=False, is_counted=False)
    model = sa.inspect(t.cast("type[t.Any]", service.capabilities.model))
    scope = service.capabilities.scope_for(call.params)
    found: set[t.Any] = set()

    if scope is None or not model.columns.contains_column(column):
        return found

    if (name := model.get_property_by_column(column).key) not in scope.names:
        return found

    try:
        for chunk in chunks(values):
            query = {name: {"$in": chunk}, "$select": [name]}
            records = t.cast("list[Record]", caller.find(query))
            found.update(each[name] for each in records if name in each)
    except (Forbidden, NotAuthenticated):
        return set()

    return found
