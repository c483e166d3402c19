"""The calls of a service, as OpenAPI describes them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..service.schemas import page_of
from ..signals import BODIES, method_named, READS
from .answers import (
    answer,
    conditional_answers,
    conditions,
    errors_of,
    ETAG,
    JSON,
    NO_HEADERS,
    reference,
)
from .examples import body_example, query_example
from .security import security_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..extension import FlaskRecords
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
}

MANY_SUMMARIES: t.Final = {
    "patch": "Change all records that match",
    "remove": "Remove all records that match",
}

DATA: t.Final[Schema] = {"anyOf": [{"type": "object"}, {"type": "array", "items": {}}]}
"""The body of a custom method."""


class Operations:
    """Describes the requests to one service.

    :param records: The extension with the service.
    :param service: The service, as its caller sees it.
    :param name: The name of the service in names of schemas and operations.
    """

    def __init__(
        self, records: FlaskRecords, service: ServiceDescription, name: str
    ) -> None:
        self.name = name
        """The name of the service."""
        self.record = reference("schemas", name)
        """The schema of a record."""
        self._service = service
        self._has_logins = bool(records.authentications)
        self._is_limited = records.limits is not None
        self._security = security_of(records, service)

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that operations refer to, with their names."""
        schemas, methods = self._service.schemas, self._service.methods
        yield self.name, schemas.record

        for method in BODIES:
            if method in methods:
                yield f"{self.name}{method.title()}", getattr(schemas, method)

        if schemas.is_paged:
            yield f"{self.name}Page", page_of({"type": "array", "items": self.record})

    def shown(self, schema: Schema | None) -> t.Any:
        """Return a schema that refers to the schemas of the service by their names.

        :param schema: A schema of the description, or ``None`` for anything.
        """
        if schema is None:
            return {}

        if schema is self._service.schemas.record:
            return self.record

        if schema is self._service.page:
            return reference("schemas", f"{self.name}Page")

        if isinstance(schema, Mapping):
            return {name: self.shown(each) for name, each in schema.items()}

        return list(map(self.shown, schema)) if isinstance(schema, list) else schema

    def tag(self) -> dict[str, str]:
        """Return the group of the operations in the document."""
        return {"name": self._service.path, **_described(self._service.text)}

    def paths(self) -> Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the paths, each with its operations by verb."""
        path = self._service.path_with("{{{}}}")
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in self._service.placeholders
        ]
        id = {"name": ID, "in": "path", "required": True, "schema": self._id}

        for has_id, end, own in ((False, "", []), (True, f"/{{{ID}}}", [id])):
            by_verb: dict[str, list[CallDescription]] = {}

            for call in self._service.calls:
                if call.has_id is has_id:
                    verb = method_named(call.method).verb.lower()
                    by_verb.setdefault(verb, []).append(call)

            if by_verb:
                made = {verb: self._operation(calls) for verb, calls in by_verb.items()}
                yield f"{path}{end}", _with([*parameters, *own], made)

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
        is_read = first.method in READS
        custom = [call for call in calls if call.is_custom]
        plain = [call for call in calls if not call.is_custom]
        operation: dict[str, t.Any] = {
            "operationId": self._name_of(first),
            "tags": [self._service.path],
            "summary": first.summary or _summary_of(first),
            **_described(first.text),
            "parameters": [
                *[_parameter(*each) for each in first.query.items()],
                *(conditions() if is_read else ()),
            ],
            "responses": {
                **(self._success(plain) if plain else {}),
                **(conditional_answers() if is_read else {}),
                **(self._results(custom) if custom else {}),
                **self._errors(first),
            },
            "security": [] if first.is_public else self._security,
        }

        if custom:
            names = list(dict.fromkeys(call.method for call in calls))
            operation["parameters"].append(_header(names))

        if first.has_data:
            operation["requestBody"] = self._body(plain, custom)

        return operation

    def _name_of(self, call: CallDescription) -> str:
        return f"{call.method}{self.name}{'Many' if call.is_many else ''}"

    def _success(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        """Return the answer to calls of a method, by its status."""
        method = calls[0].method
        schema = _any_of([self.shown(call.result) for call in calls])
        headers = ETAG if method in READS else NO_HEADERS
        status = "201" if method == "create" else "200"
        return {status: answer(schema, "Success.", headers)}

    def _results(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        """Return the answers to calls of custom methods, by status."""
        result = _any_of([self.shown(call.result) for call in calls])
        return {
            "200": answer(result, "The result of a custom method."),
            "204": {"description": "An empty result."},
        }

    def _errors(self, call: CallDescription) -> dict[str, t.Any]:
        return errors_of(
            call.method,
            has_body=call.has_data,
            has_logins=self._has_logins,
            limits=call.limits if self._is_limited else None,
        )

    def _data(self, call: CallDescription) -> Schema:
        """Return the schema of the data of a call."""
        if call.is_custom:
            return (
                DATA if call.data is None else t.cast("Schema", self.shown(call.data))
            )

        schema = reference("schemas", f"{self.name}{call.method.title()}")
        is_list = call.is_many and not method_named(call.method).has_id
        return {"type": "array", "items": schema} if is_list else schema

    def _body(
        self, plain: Sequence[CallDescription], custom: Sequence[CallDescription]
    ) -> dict[str, t.Any]:
        """Return the body of an operation.

        :param plain: Its calls of a method.
        :param custom: Its calls of custom methods.
        """
        bodies = [self._data(call) for call in plain]
        others = [self._data(call) for call in custom]
        # A form is never a list.
        schemas = dict.fromkeys(FORMS, bodies[:1]) | {JSON: bodies}
        content: dict[str, dict[str, t.Any]] = {}

        for name in self._service.media_types:
            own = schemas.get(name, [{}] if plain else [])
            content[name] = {"schema": _any_of([*own, *others])}

        if plain and JSON in content:
            example = body_example(plain[0].data or {})
            content[JSON] |= {} if example is None else {"example": example}

        return {"required": True, "content": content}


def _summary_of(call: CallDescription) -> str:
    summaries = MANY_SUMMARIES if call.is_many else SUMMARIES
    return summaries.get(call.method, f"Call {call.method}")


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


def _described(text: str | None) -> dict[str, str]:
    """Return the description of a part of a document, if there is one."""
    return {"description": text} if text else {}


def _parameter(name: str, schema: Schema) -> dict[str, t.Any]:
    is_flat = schema.get("type") in ("integer", "string", "array")
    is_flat = is_flat and "properties" not in schema.get("items", {})
    style = "form" if is_flat else "deepObject"
    example = query_example(name, schema)
    return {
        "name": name,
        "in": "query",
        "style": style,
        "explode": True,
        "schema": schema,
        **({} if example is None else {"example": example}),
    }


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of a value that has one of some schemas."""
    unique = [each for i, each in enumerate(schemas) if each not in schemas[:i]]
    return unique[0] if len(unique) == 1 else {"anyOf": unique}


def _with(parameters: list[t.Any], operations: dict[str, t.Any]) -> dict[str, t.Any]:
    return {**({"parameters": parameters} if parameters else {}), **operations}
