"""The services of an application as a client in Python."""

from __future__ import annotations

import typing as t

from ..globals import current_records
from .python_clients import client_of
from .python_methods import class_of
from .python_methods import KINDS
from .python_methods import Types
from .python_runtime import runtime
from .python_types import ANY
from .python_types import Declarations
from .python_types import form_of
from .python_types import quoted
from .python_types import title
from .type_names import type_names

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from ..service import Service
    from ..service.schemas import Schema
    from ..service.schemas import Schemas

HEAD: t.Final = '''\
"""A client of an application's services.

Made by ``flask records types --lang py``: change the services, and make it again.
It needs httpx 0.27 or later. Events need python-socketio 5.12 and aiohttp 3.10, too.
"""

# ruff: noqa
# fmt: off

from __future__ import annotations
'''
"""The beginning of a module."""

BODIES: t.Final[Mapping[str, str]] = {
    "create": "Data",
    "update": "Update",
    "patch": "Patch",
}
"""The ends of the names of bodies, by method."""

ENDS: t.Final = ("", "Query", "Sort", "Service", *BODIES.values())
"""The ends of the names of all types of a service."""

IDS: t.Final = frozenset({"int", "str", "UUID", "dt.date", "dt.datetime", "Decimal"})
"""The types of identifiers."""


def python() -> str:
    """Return a module of Python with clients of the services of the current
    application, one for threads and one for event loops, and their types: a field that
    not all clients see may be missing.
    """
    shared = runtime()
    taken = shared.names | {"Client", "AsyncClient", "FORMS"}
    services = list(current_records.services.values())
    declarations = Declarations(taken)
    starts = [kind.prefix for kind in KINDS]
    names = type_names(services, ENDS, taken, starts=starts)
    types: dict[str, Types] = {}

    for service in services:
        own = _ServiceTypes(service, names[service.path], declarations)
        types[service.path] = own.declared()

    classes = [
        class_of(kind, names[each.path], each, types[each.path])
        for kind in KINDS
        for each in services
    ]
    parts = [
        str(declarations),
        _forms(services),
        *classes,
        *[client_of(kind, services, names) for kind in KINDS],
    ]
    head = f"{HEAD}\n{shared.imports}\n\n{shared.text}"
    return "\n\n\n".join([head, *parts]) + "\n"


class _ServiceTypes:
    """The types of one service.

    :param name: The name of its records.
    :param declarations: Where they are declared.
    """

    def __init__(self, service: Service, name: str, declarations: Declarations) -> None:
        self._service = service
        self._name = name
        self._declarations = declarations
        self._schemas: Schemas = service.capabilities.schemas_for(None)

    def declared(self) -> Types:
        """Declare the types, and return their names."""
        service, schemas = self._service, self._schemas
        properties = schemas.record.get("properties", {})
        ruled = service.capabilities.field_rules.visible
        declare = self._declarations.object_type
        id = properties.get(service.capabilities.id, {})
        id_type = self._declarations.type_of(id, f"{self._name}Id")
        bodies: dict[str, str] = {}
        record = declare(self._name, schemas.record, properties.keys() - ruled.keys())

        for method, end in BODIES.items():
            if method in service.methods:
                schema: Schema = getattr(schemas, method)
                required = schema.get("required", ())
                bodies[method] = declare(f"{self._name}{end}", schema, required)

        return Types(
            record=record,
            id=id_type if id_type in IDS else "Id",
            query=self._query(),
            bodies=bodies,
            is_paged=schemas.is_paged,
            has_own_pages=schemas.found is not None,
            has_own_lists=schemas.many is not None,
            multi=schemas.multi,
        )

    def _query(self) -> str:
        name, schema = f"{self._name}Query", self._schemas.query

        if "properties" not in schema:
            return self._declarations.object_type(name, schema, ())

        members = [
            (key, self._queried(key, each), None)
            for key, each in schema["properties"].items()
        ]
        return self._declarations.dictionary(name, members)

    def _queried(self, key: str, schema: Schema) -> str:
        """Return the type of a member of a query."""
        if "properties" in schema.get("items", {}):
            # Groups such as $or have queries in them.
            return f'list["{self._name}Query"]'

        if key.startswith("$") or "anyOf" not in schema:
            return self._declarations.type_of(schema, f"{self._name}{title(key)}")

        types = [
            self._declarations.type_of(each, f"{self._name}{title(key)}")
            for each in schema["anyOf"]
            if "properties" not in each
        ]
        # Fields of the same type share their operators.
        plain = " | ".join(dict.fromkeys(types))
        kind = (
            title(key)
            if "[" in plain or ANY in plain
            else title(plain.removeprefix("dt."))
        )
        types += [
            self._declarations.type_of(each, f"{self._name}{kind}Operators")
            for each in schema["anyOf"]
            if "properties" in each
        ]
        return ANY if ANY in types else " | ".join(dict.fromkeys(types))


def _forms(services: Iterable[Service]) -> str:
    """Return the declaration of the forms of records."""
    schemas = {each.path: each.capabilities.schemas_for(None) for each in services}
    lines = [
        f"    {quoted(path)}: {form_of(each.record) or {}!r},"
        for path, each in schemas.items()
    ]
    return "\n".join(["FORMS: t.Final[Mapping[str, Form]] = {", *lines, "}"])
