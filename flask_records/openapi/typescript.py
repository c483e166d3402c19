"""The services of an application as types of TypeScript."""

from __future__ import annotations

import typing as t

from ..query.syntax import POPULATE
from ..query.values import nullable
from ..signals import EVENTS, method_named
from .description import describe
from .type_names import type_names
from .typescript_client import client, CLIENT_NAMES, HEAD, IMPORTS, OWN_METHODS
from .typescript_syntax import declaration, interface, member, quoted, type_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..service.schemas import Schema
    from .description import CallDescription, ServiceDescription
    from .typescript_syntax import Named

NOTICE: t.Final = (
    "// Made by `flask records types`: change the services, and make it again.\n"
)
"""The first line of a module."""

BODIES: t.Final[Mapping[str, str]] = {
    "create": "Data",
    "update": "Update",
    "patch": "Patch",
}
"""The ends of the names of bodies, by method."""

ENDS: t.Final = ("", *BODIES.values(), "Query", "Events", "Service")
"""The ends of the names of the types of a service."""

TAKES_NULL: t.Final = ("$eq", "$ne")
"""The operators whose value may be null."""

TAKES_NULLS: t.Final = ("$in", "$nin")
"""The operators with a list of values, which may be null."""


def typescript(*, has_client: bool = True) -> str:
    """Return a module of TypeScript with the types of the services of the current
    application, as clients see them: a field that not all of them see is optional.

    Its ``ServiceTypes`` has the services by path, for ``feathers<ServiceTypes>()``.

    :param has_client: Add ``createClient``, which needs two packages of FeathersJS.
        Without it the module imports nothing.
    """
    services = describe()

    if not has_client:
        return f"{NOTICE}\n{_types(services)}"

    methods = {_client_path(each): _methods_of(each) for each in services}
    return "\n".join([NOTICE + IMPORTS, _types(services), client(methods)])


def _types(services: Sequence[ServiceDescription]) -> str:
    """Return the types of services."""
    models = {service.path: service.model for service in services}
    names = type_names(models, ENDS, CLIENT_NAMES)
    described = [_Types(service, names) for service in services]
    named = [each.named for each in described if "properties" in each.named[0]]
    parts = [HEAD, *[part for each in described for part in each.declarations(named)]]
    listed = [
        f"{key}: {names[service.path]}Service"
        for service in services
        for key in _keys_of(service)
    ]
    return "\n".join([*parts, interface("ServiceTypes", listed)])


def _methods_of(service: ServiceDescription) -> list[str]:
    """Return the methods that a client can have."""
    return [method for method in service.methods if method not in OWN_METHODS]


def _keys_of(service: ServiceDescription) -> Iterator[str]:
    """Yield the keys of a service: its path, as clients have it, and a pattern of the
    paths with values in it.
    """
    yield quoted(_client_path(service))

    if service.placeholders:
        yield f"[path: `{service.path_with('${{string}}').lstrip('/')}`]"


def _client_path(service: ServiceDescription) -> str:
    """Return the path of a service as clients have it: the name of a placeholder begins
    with a colon.
    """
    return service.path_with(":{}").lstrip("/")


class _Types:
    """The types of one service.

    :param names: The names of the records of all services, by path.
    """

    def __init__(self, service: ServiceDescription, names: Mapping[str, str]) -> None:
        self._service = service
        self._names = names
        self._name = names[service.path]
        self._schemas = service.schemas
        self.named = self._schemas.record, self._name
        """The schema of a record, and the name of its type."""

    def declarations(self, named: Named) -> Iterator[str]:
        """Yield the declarations of the service, and of what it takes and returns.

        :param named: The schemas of all records, and the names of their types.
        """
        service, name = self._service, self._name
        fields = self._schemas.record.get("properties", {}).keys()
        always, relations = fields - service.ruled, self._relations()
        others = [each for each in named if each is not self.named]
        record = self._schemas.record
        yield declaration(name, record, always, relations, named=others)

        for method, end in BODIES.items():
            if method in service.methods:
                schema: Schema = getattr(self._schemas, method)
                yield declaration(f"{name}{end}", schema, schema.get("required", ()))

        yield self._query()
        yield interface(f"{name}Events", self._events())
        events = f"extends ServiceEvents<{name}Events>"
        yield interface(f"{name}Service {events}", self._methods(others))

    def _relations(self) -> Iterator[str]:
        """Yield the relationships, which are in a record if they are asked for."""
        for name, relation in self._schemas.relations.items():
            other = self._names[relation.path]
            type = f"{other}[]" if relation.is_list else f"{other} | null"
            yield member(name, type, is_optional=True)

    def _query(self) -> str:
        name, schemas = f"{self._name}Query", self._schemas
        schema = _with_nulls(schemas.query, schemas.record)

        if "properties" not in schema:
            return declaration(name, schema, ())

        members = [
            member(key, self._type_in_query(key, each), is_optional=True)
            for key, each in schema["properties"].items()
        ]
        return interface(name, members)

    def _type_in_query(self, key: str, schema: Schema) -> str:
        """Return the type of a value of a query."""
        # Groups such as $or have queries in them.
        if _is_group(schema):
            return f"{self._name}Query[]"

        type = type_of(schema)
        return f"{type_of(schema['items'])} | {type}" if key == POPULATE else type

    def _events(self) -> Iterator[str]:
        for event in EVENTS.values():
            yield member(event, self._name)

        for event, schema in self._service.events.items():
            if event not in EVENTS.values():
                yield member(event, type_of(schema))

    def _methods(self, others: Named) -> Iterator[str]:
        """Yield the methods.

        :param others: The schemas of records of other services.
        """
        # Two services of one model have equal schemas.
        named = [self.named, *others]

        if self._service.page is not None:
            named.append((self._service.page, f"Paginated<{self._name}>"))

        for call in self._service.calls:
            if call.method not in OWN_METHODS:
                yield self._method(call, named)

    def _method(self, call: CallDescription, named: Named) -> str:
        """Return the signature of a method."""
        data = f"{self._name}{BODIES.get(call.method, '')}"
        is_list = call.is_many and call.method == "create"
        types = {
            "id": "null" if call.is_many else "Id",
            "data": type_of(call.data or {}) if call.is_custom else data,
        }
        types["data"] += "[]" if is_list else ""
        names = method_named(call.method).arguments
        arguments = [f"{each}: {types[each]}" for each in names]
        arguments.append(f"params?: CallParams<{self._name}Query>")
        result = "any" if call.result is None else type_of(call.result, named)
        return f"{call.method}({', '.join(arguments)}): Promise<{result}>"


def _is_group(schema: Schema) -> bool:
    return "properties" in schema.get("items", {})


def _with_nulls(query: Schema, record: Schema) -> Schema:
    """Return the schema of queries with null as a value of the fields that may be null,
    but for text: a query string has no null, only the empty text.

    :param query: The schema of a query, whose fields have a value or operators.
    :param record: The schema of a record.
    """
    fields = record.get("properties", {})
    properties = {
        name: _compared_with_null(each) if _may_be_null(fields.get(name, {})) else each
        for name, each in query.get("properties", {}).items()
    }
    return {**query, "properties": properties} if properties else query


def _compared_with_null(schema: Schema) -> Schema:
    value, *operators = schema.get("anyOf", (schema,))

    if not operators or _is_text(value):
        return schema

    allowed = dict(operators[-1].get("properties", {}))

    for name in TAKES_NULL:
        if name in allowed:
            allowed[name] = nullable(allowed[name])

    for name in TAKES_NULLS:
        if name in allowed:
            allowed[name] = {**allowed[name], "items": nullable(allowed[name]["items"])}

    return {
        "anyOf": [
            nullable(value),
            *operators[:-1],
            operators[-1] | {"properties": allowed},
        ]
    }


def _may_be_null(schema: Schema) -> bool:
    types = schema.get("type", ())
    return "null" in types or any(map(_may_be_null, schema.get("anyOf", ())))


def _is_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and not {"format", "pattern", "enum"} & {
        *schema
    }
