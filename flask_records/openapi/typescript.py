"""The services of an application as types of TypeScript."""

from __future__ import annotations

import typing as t

from ..globals import current_records
from ..http.placeholders import fill_placeholders
from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from ..query.syntax import POPULATE
from ..query.values import nullable
from ..service.schemas import CustomSchemas
from ..signals import EVENTS
from ..signals import method_named
from ..signals import METHODS
from .type_names import type_names
from .typescript_client import client
from .typescript_client import CLIENT_NAMES
from .typescript_client import HEAD
from .typescript_client import IMPORTS
from .typescript_client import OWN_METHODS
from .typescript_syntax import declaration
from .typescript_syntax import interface
from .typescript_syntax import member
from .typescript_syntax import quoted
from .typescript_syntax import type_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping

    from ..service import Service
    from ..service.schemas import Schema
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
    if not has_client:
        return f"{NOTICE}\n{_types()}"

    return "\n".join([NOTICE + IMPORTS, _types(), client(_methods_by_path())])


def _types() -> str:
    """Return the types of the services of the current application."""
    services = list(current_records.services.values())
    names = type_names(services, ENDS, CLIENT_NAMES)
    described = [_Types(service, names) for service in services]
    named = [each.named for each in described if "properties" in each.named[0]]
    parts = [HEAD, *[part for each in described for part in each.declarations(named)]]
    listed = [
        f"{key}: {names[service.path]}Service"
        for service in services
        for key in _keys_of(service.path)
    ]
    return "\n".join([*parts, interface("ServiceTypes", listed)])


def _methods_by_path() -> dict[str, list[str]]:
    """Return the methods of the services of the current application by path, as clients
    have them: the name of a part of a path begins with a colon.
    """
    return {
        _client_path(path): _methods_of(service)
        for path, service in current_records.services.items()
    }


def _methods_of(service: Service) -> list[str]:
    """Return the methods that a client can have."""
    return [method for method in service.methods if method not in OWN_METHODS]


def _keys_of(path: str) -> Iterator[str]:
    """Yield the keys of a service: its path, as clients have it, and a pattern of the
    paths with values in it.
    """
    rule = rule_of(path).lstrip("/")
    yield quoted(_client_path(path))

    if placeholders_of(rule):
        yield f"[path: `{fill_placeholders(rule, lambda name: '${string}')}`]"


def _client_path(path: str) -> str:
    """Return the path of a service as clients have it."""
    return fill_placeholders(rule_of(path).lstrip("/"), ":{}".format)


class _Types:
    """The types of one service.

    :param names: The names of the records of all services, by path.
    """

    def __init__(self, service: Service, names: Mapping[str, str]) -> None:
        self._service = service
        self._names = names
        self._name = names[service.path]
        self._schemas = service.capabilities.schemas_for(None)
        self.named = self._schemas.record, self._name
        """The schema of a record, and the name of its type."""

    def declarations(self, named: Named) -> Iterator[str]:
        """Yield the declarations of the service, and of what it takes and returns.

        :param named: The schemas of all records, and the names of their types.
        """
        service, name = self._service, self._name
        ruled = service.capabilities.field_rules.visible
        fields = self._schemas.record.get("properties", {}).keys()
        always, relations = fields - ruled.keys(), self._relations()
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

        for event in self._service.custom_events:
            if event not in EVENTS.values():
                yield member(event, "any")

    def _methods(self, others: Named) -> Iterator[str]:
        """Yield the methods.

        :param others: The schemas of records of other services.
        """
        name, schemas = self._name, self._schemas
        listed = f"Paginated<{name}>" if schemas.is_paged else f"{name}[]"
        # Two services of one model have equal schemas.
        named = [self.named, *others]

        for method in _methods_of(self._service):
            if method not in METHODS:
                custom = schemas.custom.get(method, CustomSchemas())
                result = _or(custom.result, "any", named)
                yield self._method(method, type_of(custom.data or {}), result)
                continue

            data = f"{name}{BODIES.get(method, '')}"
            found = _or(schemas.found, listed, named)
            yield self._method(method, data, found if method == "find" else name)

            if method in schemas.multi:
                many = _or(schemas.many, f"{name}[]", named)
                data = f"{data}[]" if method == "create" else data
                yield self._method(method, data, many, id="null")

    def _method(self, method: str, data: str, result: str, *, id: str = "Id") -> str:
        """Return the signature of a method.

        :param data: The type of its data, if it takes any.
        :param id: The type of its identifier, if it takes one.
        """
        types = {"id": id, "data": data}
        names = method_named(method).arguments
        arguments = [f"{each}: {types[each]}" for each in names]
        arguments.append(f"params?: CallParams<{self._name}Query>")
        return f"{method}({', '.join(arguments)}): Promise<{result}>"


def _or(schema: Schema | None, default: str, named: Named) -> str:
    """Return the type of a result, or a default if it has no schema."""
    return default if schema is None else type_of(schema, named)


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
