"""Fields that identify the records of other services."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from sqlalchemy import orm

from ..globals import current_records

if t.TYPE_CHECKING:
    from ..query import Fields


def references(fields: Fields) -> dict[str, str]:
    """Return the paths of the services whose records fields identify, by the names of
    the fields: those of foreign keys.

    :param fields: The fields that the caller knows of.
    """
    paths = _paths_by_column()
    named = {}

    for field in fields:
        targets = (key.column for key in _foreign_keys(fields.mapper, field.name))
        path = next((paths[each] for each in targets if each in paths), None)

        if path is not None:
            named[field.name] = path

    return named


def _paths_by_column() -> dict[sa.Column[t.Any], str]:
    """Return the paths of services by the columns that identify their records. The
    first service over a model counts.
    """
    paths: dict[sa.Column[t.Any], str] = {}

    for path, service in current_records.services.items():
        if service.capabilities.model is not None:
            mapper = sa.inspect(service.capabilities.model)

            for column in _columns(mapper, service.capabilities.id):
                paths.setdefault(column, path)

    return paths


def _foreign_keys(mapper: orm.Mapper[t.Any], name: str) -> list[sa.ForeignKey]:
    return [key for each in _columns(mapper, name) for key in each.foreign_keys]


def _columns(mapper: orm.Mapper[t.Any], name: str) -> list[sa.Column[t.Any]]:
    prop = mapper.attrs.get(name)
    columns = prop.columns if isinstance(prop, orm.ColumnProperty) else ()
    return [column for column in columns if isinstance(column, sa.Column)]
