"""The JSON Schemas of a service whose calls are checked by classes."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..signals import METHODS
from .schemas import CustomSchemas
from .schemas import page_of

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..context import Params
    from ..validation import DataSchema
    from ..validation import MethodSchemas
    from .schemas import Schema
    from .schemas import Schemas

BODIES: t.Final = ("create", "update", "patch")
"""The methods with a body of their own."""


def with_classes(
    schemas_for: Callable[[Params | None], Schemas],
    classes: Mapping[str, MethodSchemas],
    *,
    is_model: bool,
) -> Callable[[Params | None], Schemas]:
    """Return a function that returns the schemas of a caller, with those of classes in
    place of those of the object.

    :param schemas_for: The function of the object.
    :param is_model: ``True`` if a model has rules for its fields.
    """

    def schemas_of_classes(params: Params | None) -> Schemas:
        schemas = schemas_for(params)
        changes: dict[str, t.Any] = {}

        for method in BODIES:
            data = classes[method].data if method in classes else None

            if data is not None:
                mode: t.Any = "partial" if method == "patch" else "whole"
                body = data.json_schema(mode)
                own = getattr(schemas, method)
                changes[method] = _written(data, body, own) if is_model else body

        for method in ("get", "find", *BODIES, "remove"):
            result = classes[method].result if method in classes else None

            if result is not None:
                record = result.json_schema("shown")
                changes |= {"record": record, **_lists_of(record)}
                break

        query = classes["find"].query if "find" in classes else None

        if query is not None:
            changes["query"] = query.json_schema("whole")

        custom = {
            name: CustomSchemas(
                None if each.data is None else each.data.json_schema("whole"),
                None if each.result is None else each.result.json_schema("shown"),
            )
            for name, each in classes.items()
            if name not in METHODS
        }
        return schemas._replace(**changes, custom=custom)

    return schemas_of_classes


def _written(data: DataSchema, body: Schema, own: Schema) -> Schema:
    """Return the schema of a body, without the fields that a model does not take, and
    with those that a class which allows others leaves to it.

    :param own: The schema of the model.
    """
    fields = own.get("properties", {})
    own_names = fields.keys() - data.names.values() if data.others == "allow" else ()
    properties = {name: fields[name] for name in fields if name in own_names}
    properties |= {
        name: schema
        for name, schema in body.get("properties", {}).items()
        if data.names.get(name, name) in fields
    }
    needed = {*own.get("required", ())}
    required = [
        name
        for name, schema in properties.items()
        if name in body.get("required", ())
        or (data.names.get(name, name) in needed and "default" not in schema)
    ]
    # The names of a whole record are taken, too.
    rest = {
        keyword: value
        for keyword, value in body.items()
        if keyword not in ("additionalProperties", "required")
    }
    written = {**rest, "properties": properties}
    return {**written, "required": required} if "required" in own else written


def _lists_of(record: Schema) -> dict[str, Schema]:
    """Return the schemas of lists of records, which may be pages."""
    records = {"type": "array", "items": record}
    return {"found": {"anyOf": [records, page_of(records)]}, "many": records}
