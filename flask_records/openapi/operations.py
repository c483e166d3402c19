"""The calls of a service, as OpenAPI describes them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..extension import current_records
from ..names import BODIES, method_named, METHODS, READS
from ..service.schemas import list_of, page_of
from .answers import (
    errors_of,
    IF_MATCH,
    IF_NONE_MATCH,
    JSON,
    reference,
    successes,
)
from .description import SENDERS

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..service.schemas import Schema
    from .description import CallDescription, ServiceDescription

ID: t.Final = "id"

FORMS: t.Final = ("application/x-www-form-urlencoded", "multipart/form-data")

ENDS: t.Final = ("", "Page", *[method.title() for method in BODIES])
"""The ends of the names of the schemas of a service."""

SUMMARIES: t.Final = {
    "find": "Find records",
    "get": "Get a record",
    "create": "Create a record",
    "update": "Replace a record",
    "patch": "Change a record",
    "remove": "Remove a record",
    "patchMany": "Change all records that match",
    "removeMany": "Remove all records that match",
}

DATA: t.Final[Schema] = {"anyOf": [{"type": "object"}, {"type": "array", "items": {}}]}
"""The body of a custom method."""


class Operations:
    """Describes the requests to one service.

    :param service: The service, as its caller sees it.
    :param name: The name of the service in names of schemas and operations.
    :param security: The schemes of which a call that is not public needs one.
    :param has_forms: Name the media types beside JSON, too.
    """

    def __init__(
        self,
        service: ServiceDescription,
        name: str,
        security: Sequence[Schema],
        *,
        has_forms: bool,
    ) -> None:
        self._record = reference("schemas", name)
        self._service = service
        self._name = name
        self._security = security
        media_types = current_records.media_types_of(service.service)
        is_json = JSON in media_types and not has_forms
        self._media_types = (JSON,) if is_json else media_types

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that operations refer to, with their names."""
        schemas, name = self._service.schemas, self._name
        yield name, schemas.record

        for method in BODIES:
            if method in self._service.methods:
                yield f"{name}{method.title()}", getattr(schemas, method)

        if self._service.page is not None:
            yield f"{name}Page", page_of(self._shown(schemas.item))

    def _shown(self, schema: t.Any) -> t.Any:
        """Return a schema that refers to the schemas of the service by their names."""
        if schema is self._service.schemas.record:
            return self._record

        if schema is self._service.page:
            return reference("schemas", f"{self._name}Page")

        if isinstance(schema, Mapping):
            return {name: self._shown(each) for name, each in schema.items()}

        return list(map(self._shown, schema)) if isinstance(schema, list) else schema

    def paths(self) -> Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the paths, each with its operations by verb."""
        path = self._service.path_with("{{{}}}")
        text: Schema = {"type": "string"}
        parameters = [_in_path(name, text) for name in self._service.placeholders]

        for has_id, end in ((False, ""), (True, f"/{{{ID}}}")):
            by_verb: dict[str, list[CallDescription]] = {}

            for call in self._service.calls:
                if call.has_id is has_id:
                    verb = method_named(call.method).verb.lower()
                    by_verb.setdefault(verb, []).append(call)

            if by_verb:
                own = [*parameters, *([_in_path(ID, self._id)] if has_id else [])]
                made = {verb: self._operation(calls) for verb, calls in by_verb.items()}
                yield f"{path}{end}", {**({"parameters": own} if own else {}), **made}

    def webhooks(self) -> Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the events that clients get, by name. OpenAPI has no other place for
        what a server sends by itself.
        """
        for event in self._service.event_names:
            # A custom event has any data.
            content = {JSON: {"schema": self._record if event in SENDERS else {}}}
            operation = {
                "operationId": f"{self._name}{event[0].upper()}{event[1:]}",
                "tags": [self._service.path],
                "summary": f"The event {event}",
                "description": "Sent over Socket.IO to the clients that may see it.",
                "requestBody": {"required": True, "content": content},
                "responses": {"default": {"description": "There is no answer."}},
                "security": [],
            }
            yield f"{self._service.path} {event}", {"post": operation}

    @property
    def _id(self) -> Schema:
        """The schema of the identifier of a record."""
        properties = self._service.schemas.record.get("properties", {})
        schema = {**properties.get(self._service.id, {"type": "string"})}
        schema.pop("readOnly", None)
        return schema

    def _operation(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        """Return the operation of the calls of one verb at one path: more than one for
        creations of one record or many, and for custom methods.
        """
        first = calls[0]
        name = f"{first.method}{'Many' * first.is_many}"
        is_conditional = first.method in METHODS and first.method != "create"
        condition = IF_NONE_MATCH if first.method in READS else IF_MATCH
        custom = [call for call in calls if call.is_custom]
        plain = [call for call in calls if not call.is_custom]
        responses: dict[str, t.Any] = {}

        for group in filter(None, (plain, custom)):
            results = [{} if each.result is None else each.result for each in group]
            result = _any_of([self._shown(each) for each in results])
            responses |= successes(group[0].method, result)

        operation: dict[str, t.Any] = {
            "operationId": f"{first.method}{self._name}{'Many' * first.is_many}",
            "tags": [self._service.path],
            "summary": first.summary or SUMMARIES.get(name, f"Call {name}"),
            **({"description": first.text} if first.text else {}),
            "parameters": [
                *[
                    {"name": name, "in": "query", "schema": schema}
                    for part in first.query.items()
                    for name, schema in _flat(*part)
                ],
                *([condition] if is_conditional else []),
            ],
            "responses": responses | errors_of(first),
            "security": [] if first.is_public else self._security,
        }

        if custom:
            names = list(dict.fromkeys(call.method for call in calls))
            operation["parameters"].append(_header(names))

        if method_named(first.method).has_data:
            content = {each: self._body(each, calls) for each in self._media_types}
            operation["requestBody"] = {"required": True, "content": content}

        return operation

    def _body(
        self, media_type: str, calls: Sequence[CallDescription]
    ) -> dict[str, Schema]:
        """Return the body of an operation of one media type."""
        if media_type not in (JSON, *FORMS):
            return {"schema": {}}

        # A form is never a list.
        taken = [each for each in calls if media_type == JSON or not each.is_many]
        return {"schema": _any_of([self._data(each) for each in taken])}

    def _data(self, call: CallDescription) -> Schema:
        """Return the schema of the data of a call."""
        if call.is_custom:
            return DATA if call.data is None else call.data

        schema = reference("schemas", f"{self._name}{call.method.title()}")
        return list_of(schema) if call.is_many and call.method == "create" else schema


def _header(names: Sequence[str]) -> dict[str, t.Any]:
    """Return the header that names a custom method.

    :param names: The methods with the path and the verb.
    """
    return {
        "name": "X-Service-Method",
        "in": "header",
        "required": "create" not in names,
        "description": "The method to call.",
        "schema": {"type": "string", "enum": names},
    }


def _in_path(name: str, schema: Schema) -> dict[str, t.Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _flat(name: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the parameters of a part of a query with their schemas: its values, and
    each of its operators in brackets, but for paths to other records. Lists of queries
    can't be told.
    """
    if "properties" in schema.get("items", {}):
        return

    ways = schema.get("anyOf", [schema])
    values = [way for way in ways if "properties" not in way]

    if values:
        yield name, _any_of(values)

    # A document of all operators of all related fields would be long.
    if "." in name.partition("[")[0]:
        return

    for way in ways:
        for key, part in way.get("properties", {}).items():
            yield from _flat(f"{name}[{key}]", part)


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of a value that has one of some schemas."""
    if len(schemas) == 1:
        return schemas[0]

    unique = [each for i, each in enumerate(schemas) if each not in schemas[:i]]
    return unique[0] if len(unique) == 1 else {"anyOf": unique}
