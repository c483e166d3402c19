"""One service, as the explorer shows it to one caller."""

from __future__ import annotations

import typing as t

from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from ..openapi.calls import BODIES
from ..openapi.calls import Calls
from ..openapi.calls import docstring
from ..pagination import Pagination
from ..service.schemas import CustomSchemas
from ..signals import READS

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..openapi.rights import DescribedService
    from ..service import Service
    from ..service.schemas import Schemas
    from ..typing import Record


def is_readable(service: Service) -> bool:
    """Return whether a service, with the methods that a caller may use, shows records
    to the caller.
    """
    return not frozenset(READS).isdisjoint(service.methods)


def described(shown: DescribedService, readable: Collection[str]) -> Record:
    """Return the description of a service, as JSON values.

    :param shown: The service with what the caller may use.
    :param readable: The paths of the services that show records to the caller.
    """
    service, schemas, events = shown
    sizes = getattr(service.target, "pagination", None)
    sizes = sizes if isinstance(sizes, Pagination) else Pagination()
    return {
        "path": service.path,
        "placeholders": placeholders_of(rule_of(service.path)),
        "description": Calls(service, schemas).description,
        "methods": [n for n in service.methods if n not in service.custom_methods],
        "publicMethods": [name for name in service.methods if name in service.public],
        "customMethods": service.custom_methods,
        "custom": {n: _custom(service, schemas, n) for n in service.custom_methods},
        "events": events,
        "id": service.capabilities.id,
        "isPaged": schemas.is_paged,
        "pageSize": sizes.default,
        "maxPageSize": sizes.max,
        "multi": [name for name in service.methods if name in schemas.multi],
        **_bodies(service, schemas),
        **(_shown(schemas, readable) if is_readable(service) else NOTHING),
    }


NOTHING: t.Final[Record] = {
    "record": {},
    "query": {},
    "relations": {},
    "references": {},
}
"""The place of what records show, for callers that may not read them."""


def _shown(schemas: Schemas, readable: Collection[str]) -> Record:
    """Return what records show, and relationships to the records of others."""
    return {
        "record": schemas.record,
        "query": schemas.query,
        "relations": {
            name: {"path": each.path, "isList": each.is_list, "field": each.field}
            for name, each in schemas.relations.items()
            if each.path in readable
        },
        "references": {
            name: path for name, path in schemas.references.items() if path in readable
        },
    }


def _bodies(service: Service, schemas: Schemas) -> Record:
    """Return the schemas of bodies, empty for methods that the caller may not use."""
    return {
        name: getattr(schemas, name) if name in service.methods else {}
        for name in BODIES
    }


def _custom(service: Service, schemas: Schemas, method: str) -> Record:
    known = schemas.custom.get(method, CustomSchemas())
    text = docstring(getattr(service.target, method))
    return {**known._asdict(), "description": text}
