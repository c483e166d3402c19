"""The calls of a service, as OpenAPI describes them."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..authentication.limits import limits_of
from ..http.placeholders import fill_placeholders
from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from ..signals import CUSTOM
from ..signals import method_named
from ..signals import READS
from .answers import answer
from .answers import conditional_answers
from .answers import conditions
from .answers import errors_of
from .answers import ETAG
from .answers import JSON
from .answers import NO_HEADERS
from .calls import Calls
from .examples import query_example
from .security import security_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.schemas import Schema
    from ..service.schemas import Schemas
    from .calls import Call

ID: t.Final = "id"

POST: t.Final = CUSTOM.verb.lower()
"""The verb of creations and of custom methods."""

FORMS: t.Final = ("application/x-www-form-urlencoded", "multipart/form-data")


class Operations:
    """Describes the requests to one service.

    :param records: The extension with the service.
    :param service: The service.
    :param schemas: The schemas of the caller.
    """

    def __init__(
        self, records: FlaskRecords, service: Service, schemas: Schemas
    ) -> None:
        self._service = service
        self._calls = Calls(service, schemas)
        self._has_logins = bool(records.authentications)
        self._is_limited = records.limits is not None
        self._media_types = records.media_types_of(service)
        self._security = security_of(records, service)

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that calls refer to, with their names."""
        return self._calls.schemas()

    def tag(self) -> dict[str, str]:
        """Return the group of the calls in the document."""
        return {"name": self._service.path, **_described(self._calls.description)}

    def paths(self) -> Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the paths, each with its operations by verb."""
        rule = rule_of(self._service.path)
        path = fill_placeholders(rule, "{{{}}}".format)
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in placeholders_of(rule)
        ]
        many, one = self._of_many(), self._of_one()

        if many:
            yield path, _with(parameters, many)

        if one:
            id = {"name": ID, "in": "path", "required": True, "schema": self._calls.id}
            yield f"{path}/{{{ID}}}", _with([*parameters, id], one)

    def _of_many(self) -> dict[str, t.Any]:
        by_verb: dict[str, list[Call]] = {}

        for call in self._calls.of_many():
            by_verb.setdefault(_verb(call), []).append(call)

        return {
            verb: self._post(calls) if verb == POST else self._operation(calls[0])
            for verb, calls in by_verb.items()
        }

    def _of_one(self) -> dict[str, t.Any]:
        calls = self._calls.of_one()
        return {_verb(call): self._operation(call) for call in calls}

    def _operation(self, call: Call) -> dict[str, t.Any]:
        is_read = call.method in READS
        limits = limits_of(current_app, self._service.path, call.method)
        errors = errors_of(
            call.method,
            has_body=call.body is not None,
            has_logins=self._has_logins,
            limits=limits if self._is_limited else None,
        )
        success = answer(call.result, "Success.", ETAG if is_read else NO_HEADERS)
        operation: dict[str, t.Any] = {
            "operationId": call.id,
            "tags": [self._service.path],
            "summary": call.summary,
            **_described(call.description),
            "parameters": [
                *[_parameter(*each) for each in call.query.items()],
                *(conditions() if is_read else ()),
            ],
            "responses": {
                "201" if call.method == "create" else "200": success,
                **(conditional_answers() if is_read else {}),
                **errors,
            },
            "security": [] if call.is_public else self._security,
        }

        if call.body is not None:
            operation["requestBody"] = self._body(call.body, call.example)

        return operation

    def _post(self, calls: list[Call]) -> dict[str, t.Any]:
        """Return the operation of creations, and of custom methods beside it."""
        operation = self._operation(calls[0])
        names = [call.method for call in calls]

        if names == ["create"]:
            return operation

        header = {
            "name": "X-Service-Method",
            "in": "header",
            "required": "create" not in names,
            "description": "The method to call.",
            "schema": {"type": "string", "enum": names},
        }
        operation["parameters"].append(header)
        custom = [call for call in calls if call.method != "create"]
        result = _any_of([call.result for call in custom])
        operation["responses"]["200"] = answer(result, "The result of a custom method.")
        operation["responses"]["204"] = {"description": "An empty result."}
        bodies = [call.body or {} for call in custom]

        for content in operation["requestBody"]["content"].values():
            created = [content["schema"]] if "create" in names else []
            content["schema"] = _any_of([*created, *bodies])

        return operation

    def _body(self, schema: Schema, example: t.Any) -> dict[str, t.Any]:
        # A form is never a list.
        schemas = dict.fromkeys(FORMS, schema.get("anyOf", [schema])[0])
        schemas[JSON] = schema
        content = {
            name: {"schema": schemas.get(name, {})} for name in self._media_types
        }

        if example is not None and JSON in content:
            content[JSON]["example"] = example

        return {"required": True, "content": content}


def _verb(call: Call) -> str:
    return method_named(call.method).verb.lower()


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
