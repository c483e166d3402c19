"""The JSON Schemas of a service."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from types import MappingProxyType

from ..names import BODIES, METHODS
from ..pagination import Page

if t.TYPE_CHECKING:
    from . import Service
    from .context import Params
    from .data_schema import DataSchema

Schema: t.TypeAlias = Mapping[str, t.Any]

OBJECT: t.Final = {"type": "object"}
"""The schema of any object."""

COUNT: t.Final = {"type": "integer", "minimum": 0}
"""The schema of a number of records."""

DIRECTION: t.Final = {
    "type": "integer",
    "enum": [1, -1],
    "x-enum-varnames": ["ascending", "descending"],
}
"""The schema of the direction of a sort: ascending, or descending."""


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def object_of(properties: Mapping[str, Schema], **keywords: t.Any) -> Schema:
    """Return the schema of an object, with other keywords."""
    return {"type": "object", "properties": properties, **keywords}


def page_of(items: Schema, *, is_counted: bool = True) -> Schema:
    """Return the schema of a page, which may lack its total."""
    parts = {"total": COUNT, "limit": COUNT, "skip": COUNT, "data": list_of(items)}
    return object_of(parts, required=[*parts][not is_counted :])


class Relation(t.NamedTuple):
    """A relationship that records can be shown with."""

    path: str
    """The path of the service that shows its records."""

    is_list: bool
    """``True`` for a relationship to many records."""

    field: str | None = None
    """The field with the identifier of the one record, if there is one."""


class Schemas(t.NamedTuple):
    """The JSON Schemas of what one caller sends to a service, and gets from it."""

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

    groups: Schema | None = None
    """The groups and sums that find answers if the query asks for them."""

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

    extra: frozenset[str] = frozenset()
    """The fields that hooks add to records."""

    relations: Mapping[str, Relation] = MappingProxyType({})
    """The relationships that ``$populate`` can name."""

    @property
    def item(self) -> Schema:
        """An item in an answer of find."""
        return {"anyOf": [self.record, self.groups]} if self.groups else self.record


ANYTHING: t.Final = Schemas(
    record={}, found={}, many={}, multi=frozenset({"create", "patch", "remove"})
)
"""The schemas of an object that has none."""


def schemas_of(service: Service, params: Params | None = None) -> Schemas:
    """Return the JSON Schemas of a service as one caller, or all clients together, see
    them: its object's with the schemas of the classes that check its calls.
    """
    parts, classes = service.capabilities, service.schemas
    schemas = parts.schemas_for(params)
    bodies = {name: each.data for name, each in classes.items() if each.data}
    results = {name: each.result for name, each in classes.items() if each.result}
    own = [name for name in service.methods if name in METHODS]
    is_checked = results.keys() >= {*own}
    part: t.Literal["record", "result"] = "result" if is_checked else "record"
    changes: dict[str, t.Any] = {}

    for method in [name for name in BODIES if name in bodies]:
        data = bodies[method]
        body = data.json_schema("patch" if method == "patch" else "body")
        model, record = getattr(schemas, method), schemas.record
        is_plain = parts.model is None
        changes[method] = body if is_plain else _merge_body(data, body, model, record)

    if first := next((name for name in results if name in METHODS), None):
        record = results[first].json_schema(part)
        changes |= {"record": record, "many": list_of(record)}

    if find := classes.get("find"):
        if find.result is not None:
            answer = find.result.json_schema(part)
            shapes = {None: answer, list: list_of(answer), Page: page_of(answer)}
            changes["found"] = shapes[find.shape]

        if find.query is not None:
            changes["query"] = find.query.json_schema("query")

    return schemas._replace(**changes)


def _merge_body(data: DataSchema, body: Schema, own: Schema, record: Schema) -> Schema:
    """Return the schema of a body by a class: without the fields that the model does
    not take but for repeated ones, with those that the class leaves to it.
    """
    fields, readable = own.get("properties", {}), record.get("properties", {})
    repeated = readable.keys() & body.get("required", ())
    others = fields.keys() - data.fields if data.others == "allow" else ()
    properties = {name: fields[name] for name in fields if name in others} | {
        name: schema
        for name, schema in body.get("properties", {}).items()
        if data.names.get(name, name) in fields or name in repeated
    }
    mandatory = {*own.get("required", ())} - data.filled
    required = [
        name
        for name in properties
        if name in body.get("required", ()) or data.names.get(name, name) in mandatory
    ]
    # The names of a whole record are taken, too.
    dropped = ("additionalProperties", "required")
    rest = {name: each for name, each in body.items() if name not in dropped}
    whole = {**rest, "properties": properties}
    return {**whole, "required": required} if required else whole
