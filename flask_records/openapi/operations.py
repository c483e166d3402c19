"""The calls of a service, as OpenAPI describes them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ..authentication.records import current_records
from ..errors import CLASS_NAME
from ..http.formatter import EVENT_STREAM
from ..names import BODIES, method_named
from ..query.conversions import nullable
from ..query.operators import SORT
from ..service.schemas import DIRECTION, list_of, OBJECT
from .description import words_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..service.schemas import Schema
    from .description import CallDescription, ServiceDescription

JSON: t.Final = "application/json"

ERROR: t.Final = "Error"
"""The name of the schema of errors, and of the answer with an unnamed error."""

ERRORS: t.Final[Mapping[int | str, tuple[str, str]]] = {
    400: ("BadRequest", "The query or the data is wrong."),
    401: ("NotAuthenticated", "The call needs a valid login."),
    403: ("Forbidden", "The caller may not make the call."),
    404: ("NotFound", "There is no such record."),
    409: ("Conflict", "The call contradicts the stored data."),
    412: ("PreconditionFailed", "The record is another one than If-Match names."),
    429: ("TooManyRequests", "The caller must slow down."),
    500: ("GeneralError", "The server failed."),
    503: ("Unavailable", "The call is not possible at the moment."),
    "default": (ERROR, "Another error, of a hook or of a server in between."),
}
"""The names and the texts of errors, by status."""

ERROR_SCHEMA: t.Final[Schema] = {
    "type": "object",
    "description": "An error.",
    "properties": {
        "name": {"type": "string", "examples": ["NotFound"]},
        "message": {"type": "string", "description": "A message for people."},
        "code": {"type": "integer", "description": "The HTTP status."},
        CLASS_NAME: {"type": "string", "examples": ["not-found"]},
        "data": {"description": "Details."},
        # An object of problems, unless the application gives a list.
        "errors": {"description": "The problems by the names of fields."},
    },
    "required": ["name", "message", "code", CLASS_NAME, "errors"],
}
"""The body of an error. See section 7 of the specification."""

IF_MATCH: t.Final = {
    "name": "If-Match",
    "in": "header",
    "description": "Tags of answers to a GET. A write of anything else is a 412.",
    "schema": {"type": "string"},
}
"""The header of a write that depends on the tag of what it changes."""

PIECES: t.Final = {
    "description": "Pieces, each as JSON in a line that begins with 'data: '.",
    "content": {EVENT_STREAM: {}},
}
"""The answer to a call whose result comes piece by piece."""

PUNCTUATION = re.compile(r"[._]")

NULL: t.Final = {"type": "null"}

DIRECTION_NAME: t.Final = "Direction"
"""The name of the schema of the direction of a sort."""

FILES: t.Final = "multipart/form-data"
PAGE: t.Final = "Page"
GROUPS: t.Final = "Groups"
LIST: t.Final = "List"
CREATE: t.Final = "create"

ENDS: t.Final = (
    *("", PAGE, GROUPS, LIST, f"Create{LIST}"),
    *[method.title() for method in BODIES],
)
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


def reference(name: str, kind: str = "schemas") -> dict[str, str]:
    """Return a reference to a part of the document that has a name."""
    return {"$ref": f"#/components/{kind}/{name}"}


def answer(description: str, schema: Schema) -> dict[str, t.Any]:
    """Return the description of an answer."""
    # Tools take an empty schema for no type at all.
    content = {"content": {JSON: {"schema": schema}}} if schema else {}
    return {"description": description, **content}


class Operations:
    """Describes the requests to one of the services that a caller knows.

    :param names: The names of services in names of schemas and operations, by path.
    :param security: The schemes of which a call that is not public needs one.
    """

    def __init__(
        self,
        service: ServiceDescription,
        services: Sequence[ServiceDescription],
        names: Mapping[str, str],
        security: Sequence[Schema],
    ) -> None:
        self._service = service
        self._names = {each.path: names[each.path] for each in services}
        self._name = names[service.path]
        self._record = reference(self._name)
        ends = {"": service.schemas.record, PAGE: service.page}
        ends[GROUPS] = service.schemas.groups
        own = [(f"{self._name}{end}", each) for end, each in ends.items() if each]
        records = [(names[each.path], each.schemas.record) for each in services]
        self._components = [*own, *records]
        self._security = security

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that operations refer to, with their names."""
        schemas, name = self._service.schemas, self._name
        record = self._refer_in_parts(schemas.record)

        for field, to in schemas.relations.items():
            if to.path in self._names:
                related = reference(self._names[to.path])
                schema = list_of(related) if to.is_list else nullable(related)
                record["properties"] = {**record.get("properties", {}), field: schema}

        yield name, record

        if SORT in schemas.query.get("properties", {}):
            yield DIRECTION_NAME, DIRECTION

        for method in BODIES:
            body = getattr(schemas, method)

            if method in self._service.methods and body != OBJECT:
                yield from self._body_schemas(f"{name}{method.title()}", body)

        # Java has no class of a list without a name.
        if CREATE in schemas.multi and CREATE in self._service.methods:
            yield f"{name}{LIST}", list_of(self._record)

            if schemas.create != OBJECT:
                yield f"{name}Create{LIST}", list_of(reference(f"{name}Create"))

        if schemas.groups is not None:
            yield f"{name}{GROUPS}", schemas.groups

        if self._service.page is not None:
            yield f"{name}{PAGE}", self._refer_in_parts(self._service.page)

    def _body_schemas(self, name: str, body: Schema) -> Iterator[tuple[str, Schema]]:
        """Yield the schema of a body, and of each of its kinds that has a title."""
        kinds = body.get("anyOf", [])

        if not kinds or not all("title" in kind for kind in kinds):
            yield name, body
            return

        names = [f"{name}{words_of(kind['title'])}" for kind in kinds]
        yield name, {**body, "anyOf": [reference(each) for each in names]}

        for each, kind in zip(names, kinds, strict=True):
            # Some generators name a class by its title.
            yield each, {key: part for key, part in kind.items() if key != "title"}

    def _refer(self, schema: t.Any) -> t.Any:
        """Return a schema that refers to the schemas of the service by their names."""
        for name, each in self._components:
            if schema is each or (each == schema and "properties" in each):
                return reference(name)

        if isinstance(schema, Mapping):
            return self._refer_in_parts(schema)

        return list(map(self._refer, schema)) if isinstance(schema, list) else schema

    def _refer_in_parts(self, schema: Schema) -> dict[str, t.Any]:
        return {name: self._refer(each) for name, each in schema.items()}

    def paths(self) -> Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the paths, each with its operations by verb."""
        path = self._service.path_with("{{{}}}")
        text: Schema = {"type": "string"}
        parameters = [_in_path(name, text) for name in self._service.placeholders]
        fields = self._service.schemas.record.get("properties", {})
        id = {**fields.get(self._service.id, text)}
        id.pop("readOnly", None)

        for has_id, end in ((False, ""), (True, "/{id}")):
            by_verb: dict[str, list[CallDescription]] = {}

            for call in self._service.calls:
                if call.has_id is has_id:
                    verb = method_named(call.method).verb.lower()
                    by_verb.setdefault(verb, []).append(call)

            if by_verb:
                own = [*parameters, *([_in_path("id", id)] if has_id else [])]
                item = {verb: self._operation(calls) for verb, calls in by_verb.items()}
                yield f"{path}{end}", {**({"parameters": own} if own else {}), **item}

    def _operation(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        """Return the operation of the calls of one verb at one path: more than one for
        creations of one record or many, and for custom methods.
        """
        first = calls[0]
        method, end = method_named(first.method), "Many" * first.is_many
        summary = SUMMARIES.get(f"{first.method}{end}", f"Call {first.method}")
        operation: dict[str, t.Any] = {
            "operationId": f"{first.method}{self._name}{end}",
            "tags": [self._service.tag],
            "summary": first.summary or summary,
            **({"description": first.text} if first.text else {}),
            "parameters": [
                *_parameters(first.query, first.method),
                *([IF_MATCH] if method.changes_records else []),
            ],
            "responses": self._successes(calls) | _errors(first),
            "security": [] if first.is_public else self._security,
        }

        if any(call.is_custom for call in calls):
            names = list(dict.fromkeys(call.method for call in calls))
            header = {
                "name": "X-Service-Method",
                "in": "header",
                "required": CREATE not in names,
                "description": "The method to call.",
                "schema": {"type": "string", "enum": names},
            }
            operation["parameters"].append(header)

        if method.has_data:
            content = self._content(calls)
            operation["requestBody"] = {"required": True, "content": content}

        return operation

    def _successes(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        answers: dict[str, t.Any] = {}

        for is_custom in (False, True):
            group = [call for call in calls if call.is_custom is is_custom]

            if not group:
                continue

            result = _any_of([self._result(each) for each in group])
            text = "The result of a custom method." if is_custom else "Success."
            status = "201" if group[0].method == CREATE else "200"
            is_streamed = group[0].is_streamed
            answers[status] = PIECES if is_streamed else answer(text, result)

            if is_custom and not is_streamed:
                answers["204"] = answer("An empty result.", {})

        return answers

    def _content(self, calls: Sequence[CallDescription]) -> dict[str, t.Any]:
        """Return the bodies of an operation by media type: a form with files, else
        JSON. Other types belong to services that do not take it.
        """
        types = current_records.media_types_of(self._service.service)
        bodies = [(each.data or {}).get("properties", {}) for each in calls]
        fields = [field for body in bodies for field in body.values()]
        has_files = any(field.get("format") == "binary" for field in fields)
        usual = (FILES, JSON) if has_files else (JSON,)
        kinds = next(([each] for each in usual if each in types), types)
        # A form is never a list.
        candidates = [each for each in calls if JSON in kinds or not each.is_many]
        schemas = [self._data(each) for each in candidates]
        schema = {} if {} in schemas else _any_of(schemas)
        standard = (JSON, FILES, "application/x-www-form-urlencoded")
        return {each: {"schema": schema if each in standard else {}} for each in kinds}

    def _data(self, call: CallDescription) -> Schema:
        if call.is_custom or call.data in (OBJECT, list_of(OBJECT)):
            return (call.is_custom and call.data) or {}

        end = LIST if call.creates_many else ""
        return reference(f"{self._name}{call.method.title()}{end}")

    def _result(self, call: CallDescription) -> Schema:
        if call.creates_many:
            return reference(f"{self._name}{LIST}")

        return {} if call.result is None else t.cast("Schema", self._refer(call.result))


def _errors(call: CallDescription) -> dict[str, dict[str, str]]:
    """Return references to the answers of a call that has failed, by status. Of those
    that clients can't foresee there is one, the default.
    """
    method, records = method_named(call.method), current_records
    # A token that is not valid is refused where none is needed, too.
    has_logins = bool(records.authentications)
    possible: Mapping[int | str, bool] = {
        401: has_logins,
        403: has_logins,
        404: method.has_id,
        409: method.event is not None,
        412: method.changes_records,
        429: records.limits is not None,
    }
    return {
        str(status): reference(name, "responses")
        for status, (name, _) in ERRORS.items()
        if possible.get(status, True)
    }


def _parameters(query: Schema, method: str) -> list[dict[str, t.Any]]:
    """Return the parameters of a query. A path that differs from a field in punctuation
    only, such as ``room.id`` from ``roomId``, would have its name in generated code.
    So would a field ``limit`` have the name of ``$limit``, and ``body`` of the body.
    """
    required, parts = query.get("required", ()), query.get("properties", {})
    body = "body" if method_named(method).has_data else None
    parameters: dict[str, dict[str, t.Any]] = {}

    for part in parts.items():
        for name, schema in _flat(*part):
            # A parameter without an operator says the same, and a URL has no null.
            if (
                name.endswith("[$eq]")
                or schema == NULL
                or f"${name}" in parts
                or name == body
            ):
                continue

            extra = {"required": True} if name in required else {}
            is_direction = schema == DIRECTION
            # Clients leave out null, so that the answer would be that to another query.
            schema = reference(DIRECTION_NAME) if is_direction else _strip(schema)
            parameter = {"name": name, "in": "query", **extra, "schema": schema}
            parameters.setdefault(PUNCTUATION.sub("", name).lower(), parameter)

    return [*parameters.values()]


def _in_path(name: str, schema: Schema) -> dict[str, t.Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _flat(name: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the parameters of a part of a query with their schemas: its values, and
    each of its operators in brackets, but for paths to other records.
    """
    # Lists of queries can't be known.
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


def _strip(schema: t.Any) -> t.Any:
    """Return the schema of the values of another one that are not null."""
    if isinstance(schema, list):
        return [_strip(each) for each in schema if each not in (None, "null", NULL)]

    if not isinstance(schema, Mapping):
        return schema

    rest = {name: _strip(each) for name, each in schema.items() if each is not None}

    for name in ("type", "anyOf"):
        if isinstance(rest.get(name), list) and len(rest[name]) == 1:
            [each] = rest.pop(name)
            rest |= each if name == "anyOf" else {name: each}

    return rest


def _any_of(schemas: list[Schema]) -> Schema:
    unique = [each for i, each in enumerate(schemas) if each not in schemas[:i]]
    return unique[0] if len(unique) == 1 else {"anyOf": unique}
