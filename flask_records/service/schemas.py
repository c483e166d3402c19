"""The JSON Schemas of a service."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from types import MappingProxyType

Schema: t.TypeAlias = Mapping[str, t.Any]

OBJECT: t.Final = {"type": "object"}
"""The schema of any object."""


def page_of(records: Schema) -> Schema:
    """Return the schema of a page.

    :param records: The schema of its list of records.
    """
    count = {"type": "integer", "minimum": 0}
    parts = {"total": count, "limit": count, "skip": count, "data": records}
    return {"type": "object", "properties": parts, "required": [*parts]}


class CustomSchemas(t.NamedTuple):
    """The JSON Schemas of a custom method. ``None`` stands for anything."""

    data: Schema | None = None
    """The data."""

    result: Schema | None = None
    """The result."""


class Relation(t.NamedTuple):
    """A relationship that records can be shown with."""

    path: str
    """The path of the service that shows its records."""

    is_list: bool
    """``True`` for a relationship to many records."""

    field: str | None = None
    """The field with the identifier of the one record, if there is one."""


class Schemas(t.NamedTuple):
    """The JSON Schemas of what one caller sends to a service, and gets from it. Those
    of an object without schemas are :data:`ANYTHING`.
    """

    record: Schema = OBJECT
    """A record in an answer. ``$select`` may leave out what it does not require."""

    create: Schema = OBJECT
    """The body of a new record."""

    update: Schema = OBJECT
    """The body that replaces a record."""

    patch: Schema = OBJECT
    """The body that changes a record."""

    query: Schema = OBJECT
    """The query of find."""

    found: Schema | None = None
    """The answer of find: a list of records, or a page of them, by default."""

    many: Schema | None = None
    """The answer of a patch or remove of many: a list of records by default."""

    is_paged: bool = False
    """``True`` if find answers pages."""

    multi: frozenset[str] = frozenset()
    """The methods that take many records."""

    summaries: Mapping[str, str] = MappingProxyType({})
    """Lines about methods, by name, in place of those about records."""

    events: Mapping[str, Schema] = MappingProxyType({})
    """The data of events by name. By default that of an event of a method is a record,
    and that of a custom one is anything.
    """

    custom: Mapping[str, CustomSchemas] = MappingProxyType({})
    """The custom methods, as far as they have schemas."""

    relations: Mapping[str, Relation] = MappingProxyType({})
    """The relationships that ``$populate`` can name."""

    references: Mapping[str, str] = MappingProxyType({})
    """The paths of the services whose records fields identify, by the names of these
    fields.
    """


ANYTHING: t.Final = Schemas(
    record={}, found={}, many={}, multi=frozenset({"create", "patch", "remove"})
)
"""The schemas of an object that has none."""
