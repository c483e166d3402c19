"""The services of an application as types of TypeScript, and a client with them."""

from __future__ import annotations

import json
import re
import typing as t
from itertools import starmap
from pathlib import Path

from ..authentication.records import current_records
from ..names import EVENTS, method_named
from ..query.groups import PARAMETERS as GROUPING
from ..query.operators import POPULATE, SELECT
from .description import describe, type_names

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ..service.schemas import Schema
    from .description import CallDescription, ServiceDescription

    Aliases: t.TypeAlias = Sequence[tuple[Schema, str]]

BODY_ENDS: t.Final = {"create": "Data", "update": "Update", "patch": "Patch"}
"""The ends of the names of bodies, by method."""

ENDS: t.Final = (
    *("", *BODY_ENDS.values(), "Field", "Query", "Groups", "Events", "Service"),
)
"""The ends of the names of the types of a service."""

CLIENT: t.Final = (Path(__file__).parent / "client.ts").read_text()
"""The parts of a module that are the same for all applications."""

LOGINS: t.Final = (Path(__file__).parent / "logins.ts").read_text()
"""The functions of a module that keep users logged in. They use no types with names
that services may have, but for their own.
"""

CLIENT_NAMES: t.Final = [
    *re.findall(r"\b[A-Z]\w*", CLIENT),
    *re.findall(r"^(?:export )?(?:interface|type) (\w+)", LOGINS, re.MULTILINE),
    "Promise",
]
"""The names of types that a module has or uses besides its services' types."""

OWN_METHODS: t.Final = frozenset(
    "addListener emit eventNames getMaxListeners listenerCount listeners off on once"
    " prependListener prependOnceListener rawListeners removeAllListeners"
    " removeListener setMaxListeners after all around before error hooks publish setup"
    " teardown".split()
)
"""The names that no custom method can have in a client of FeathersJS."""

NAME = re.compile(r"[A-Za-z_$][\w$]*")


def typescript() -> str:
    """Return a module of TypeScript with the types of the services of the current
    application, as clients see them, a client that knows them, and functions that keep
    users logged in. A field that not all clients see is optional.
    """
    services = describe()
    names = type_names(ENDS, CLIENT_NAMES)
    records = [(each.schemas.record, names[each.path]) for each in services]
    pairs = [each for each in records if "properties" in each[0]]
    members = [
        member(path, f"{names[service.path]}Service")
        for service in services
        for path in _paths_of(service)
    ]
    issuers = [names[path] for path in current_records.authentications]
    logins = " | ".join(f"{name}Data" for name in issuers) or "never"
    types = [
        *[text for each in services for text in _Types(each, names, pairs).declare()],
        interface("ServiceTypes", members),
        f"export type LoginData = {logins}\n",
        f"export type LoginResult = {' | '.join(issuers) or 'never'}\n",
    ]
    methods = {
        next(_paths_of(each)): [m for m in each.methods if m not in OWN_METHODS]
        for each in services
    }
    module = CLIENT.replace("// types", "\n".join(types), 1)
    module = module.replace("{ /* methods */ }", json.dumps(methods), 1)
    return f"{module}\n{LOGINS}" if issuers else module


def _paths_of(service: ServiceDescription) -> Iterator[str]:
    """Yield the path of a service as clients have it, where the name of a placeholder
    begins with a colon, and a pattern of the paths with values in it.
    """
    yield service.path_with(":{}").lstrip("/")

    if service.placeholders:
        yield f"[path: `{service.path_with('${{string}}').lstrip('/')}`]"


class _Types:
    """The types of one service, among the names and schemas of all records."""

    def __init__(
        self, service: ServiceDescription, names: Mapping[str, str], aliases: Aliases
    ) -> None:
        self._service = service
        self._schemas = service.schemas
        self._names = names
        self._name = names[service.path]
        self._aliases = aliases
        self._properties = self._schemas.record.get("properties", {})
        self._parts = self._schemas.query.get("properties", {})
        self._fields = self._parts.get(SELECT, {}).get("items", {}).get("enum", ())
        field = f"{self._name}Field"
        self._generic = f"<S extends {field} = {field}>" if self._fields else ""

    def declare(self) -> Iterator[str]:
        """Yield the declarations of the service, and of what it takes and returns."""
        service, schemas = self._service, self._schemas
        name, names = self._name, self._names
        ruled = service.service.capabilities.field_rules.visible
        # Events of other writes do not have what hooks add.
        always = self._properties.keys() - ruled.keys() - schemas.extra
        relations = [
            member(field, names[to.path] + ("[]" if to.is_list else " | null"), "?")
            for field, to in schemas.relations.items()
        ]
        yield declaration(name, schemas.record, always, relations, self._aliases)

        for method, end in BODY_ENDS.items():
            if method in service.methods:
                body: Schema = getattr(schemas, method)
                yield declaration(f"{name}{end}", body, body.get("required", ()))

        if self._fields:
            yield f"export type {name}Field = {type_of({'enum': self._fields})}\n"

        yield self._query()

        if schemas.groups is not None:
            yield declaration(f"{name}Groups", schemas.groups)

        events = dict.fromkeys(EVENTS.values(), name)
        events |= {each: "any" for each in service.event_names if each not in events}
        yield interface(f"{name}Events", starmap(member, events.items()))
        calls = [each for each in service.calls if each.method not in OWN_METHODS]
        # TypeScript takes the first signature that fits a call.
        methods = [*self._groups(), *map(self._method, calls)]
        yield interface(f"{name}Service extends ServiceEvents<{name}Events>", methods)

    def _query(self) -> str:
        name, parts, query = f"{self._name}Query", self._parts, self._schemas.query
        # Groups such as $or have queries in them.
        aliases = [
            (each, f"{name}[]")
            for each in parts.values()
            if "properties" in each.get("items", {})
        ]

        if self._fields:
            aliases.append((parts[SELECT], "readonly S[]"))

        for part in [parts[each] for each in (POPULATE, *GROUPING) if each in parts]:
            [names, *_] = part.get("anyOf", [part])
            aliases.append((part, f"{type_of(names['items'])} | {type_of(part)}"))

        required = query.get("required", ())
        return declaration(f"{name}{self._generic}", query, required, aliases=aliases)

    def _page_of(self, record: str) -> str:
        page = f"Paginated<{record}>"
        return page if self._service.pages.total else f"Uncounted<{page}>"

    def _groups(self) -> Iterator[str]:
        """Yield the signature of a find of groups, if clients may ask for some."""
        name, service = self._name, self._service

        if self._schemas.groups is not None and "find" in service.methods:
            groups = " | ".join([f'"{n}"' for n in self._parts if n in GROUPING])
            page = self._page_of(f"{name}Groups")
            result = page if service.page else f"{name}Groups[]"
            params = f"GroupsParams<{name}Query, {groups}>"
            yield f"find(params: {params}): Promise<{result}>"

    def _method(self, call: CallDescription) -> str:
        """Return the signature of a method."""
        service, record, query = self._service, self._name, f"{self._name}Query"
        generic = "" if call.is_custom else self._generic

        if generic:
            query = f"{query}<S>"
            fields = f"S | {json.dumps(service.id)}"
            record = f"Selected<{record}, {record}Field, {fields}>"

        pairs = [(each, record) for each in (self._schemas.record, self._schemas.item)]
        pairs += [(service.page, self._page_of(record))] if service.page else []
        pairs += self._aliases
        result = "any" if call.result is None else type_of(call.result, pairs)
        result = f"AsyncIterable<{result}>" if call.is_streamed else result
        id = type_of({**self._properties.get(service.id, {}), "examples": ()})
        data = f"{self._name}{BODY_ENDS.get(call.method, '')}"
        data = type_of(call.data or {}) if call.is_custom else data
        types = {
            "id": "null" if call.is_many else "Id" if id == "any" else id,
            "data": f"{data}[]" if call.creates_many else data,
        }
        arguments = [f"{n}: {types[n]}" for n in method_named(call.method).arguments]

        if call.own_query is not None and call.method != "find":
            query = type_of(call.own_query)

        required = call.query.get("required")
        params = f"params: {{ query: {query} }} &" if required else "params?:"
        arguments.append(f"{params} CallParams<{query}>")
        return f"{call.method}{generic}({', '.join(arguments)}): Promise<{result}>"


def declaration(
    name: str,
    schema: Schema,
    required: Collection[str] = (),
    others: Iterable[str] = (),
    aliases: Aliases = (),
) -> str:
    """Return the declaration of a type, with the members of its schema and others.

    :param required: The names of the properties that are always there.
    """
    if "properties" not in schema:
        return f"export type {name} = {type_of(schema)}\n"

    members = [
        _comment(each)
        + member(key, type_of(each, aliases), "" if key in required else "?")
        for key, each in schema["properties"].items()
    ]
    return f"{_comment(schema)}{interface(name, [*members, *others])}"


def interface(name: str, members: Iterable[str]) -> str:
    """Return the declaration of an interface. Members may have several lines."""
    lines = [f"  {line}" for each in members for line in each.splitlines()]
    return "\n".join([f"export interface {name} {{", *lines, "}\n"])


def member(name: str, type: str, mark: str = "") -> str:
    """Return a member of an interface, with a mark if it may be left out."""
    is_plain = NAME.fullmatch(name) or name.startswith("[path: ")
    return f"{name if is_plain else json.dumps(name)}{mark}: {type}"


def type_of(schema: Schema, aliases: Aliases = ()) -> str:
    """Return the type of the values of a schema. Some schemas have names."""
    name = next((name for each, name in aliases if each == schema), None)

    if name is not None:
        return name

    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(map(json.dumps, values))

    ways = [
        type_of(each, aliases)
        for key in ("anyOf", "oneOf")
        for each in schema.get(key, ())
    ]
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    types = ways or [_type_of_kind(kind, schema, aliases) for kind in kinds]
    return " | ".join(dict.fromkeys(types)) or "any"


def _type_of_kind(kind: str, schema: Schema, aliases: Aliases) -> str:
    """Return the type of the values of a schema that are of one type of JSON."""
    if kind == "array":
        item = type_of(schema.get("items", {}), aliases)
        return f"({item})[]" if " " in item else f"{item}[]"

    if kind != "object":
        return "number" if kind == "integer" else kind

    required, values = schema.get("required", ()), schema.get("additionalProperties")
    members = [
        member(name, type_of(each, aliases), "" if name in required else "?")
        for name, each in schema.get("properties", {}).items()
    ]

    if values is True or not members:
        value = type_of(values, aliases) if isinstance(values, dict) else "any"
        members.append(f"[name: string]: {value}")

    return f"{{ {'; '.join(members)} }}"


def _comment(schema: Schema) -> str:
    text = schema.get("description")
    return "/** {} */\n".format(text.replace("*/", "*\\/")) if text else ""
