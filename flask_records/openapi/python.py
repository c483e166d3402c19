"""The services of an application as a client in Python."""

from __future__ import annotations

import typing as t

from ..globals import current_records
from .python_clients import client_of
from .python_forms import form_of
from .python_methods import class_of
from .python_methods import KINDS
from .python_runtime import runtime
from .python_service_types import BODIES
from .python_service_types import ServiceTypes
from .python_types import Declarations
from .python_types import quoted
from .type_names import type_names

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..service.schemas import Schemas

HEAD: t.Final = '''\
"""A client of an application's services.

Made by ``flask records types --lang py``: change the services, and make it again.
It needs httpx 0.27 or later. Events need python-socketio 5.12 and aiohttp 3.10, too.
"""

# ruff: noqa
# fmt: off
# pyright: basic, reportInvalidTypeVarUse=false

from __future__ import annotations
'''
"""The beginning of a module."""

ENDS: t.Final = ("", "Query", "Service", *BODIES.values())
"""The ends of the names of the types of a service."""


def python() -> str:
    """Return a module of Python with clients of the services of the current
    application, one for threads and one for event loops, and their types: a field that
    not all clients see may be missing.
    """
    shared = runtime()
    taken = shared.names | {"Client", "AsyncClient", "FORMS"}
    services = list(current_records.services.values())
    starts = [kind.prefix for kind in KINDS]
    names = type_names(services, (*ENDS, "Sort"), taken, starts=starts)
    schemas = {each.path: each.capabilities.schemas_for(None) for each in services}
    declarations = Declarations(
        taken,
        {f"{name}{end}" for name in names.values() for end in ENDS},
        [
            (each.record, names[path])
            for path, each in schemas.items()
            if "properties" in each.record
        ],
    )
    types = {
        each.path: ServiceTypes(each, schemas[each.path], names, declarations).types()
        for each in services
    }
    classes = [
        class_of(kind, names[each.path], each, types[each.path])
        for kind in KINDS
        for each in services
    ]
    parts = [
        str(declarations),
        _forms(schemas),
        *classes,
        *[client_of(kind, services, names) for kind in KINDS],
    ]
    head = f"{HEAD}\n{shared.imports}\n\n{shared.text}"
    return "\n\n\n".join([head, *parts]) + "\n"


def _forms(schemas: Mapping[str, Schemas]) -> str:
    """Return the declaration of the forms of records, and of the records that
    ``$populate`` shows in them.

    :param schemas: The schemas of services by path.
    """
    lines = [
        f"    {quoted(path)}: {form_of(each.record) or {}!r},"
        for path, each in schemas.items()
    ]
    relations = [
        f"FORMS[{quoted(path)}][{quoted(name)}] = FORMS[{quoted(relation.path)}]"
        for path, each in schemas.items()
        for name, relation in each.relations.items()
    ]
    head = "FORMS: t.Final[dict[str, t.Any]] = {"
    return "\n".join([head, *lines, "}", *relations])
