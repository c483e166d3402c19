"""The calls of a service with their schemas, before they have verbs and paths."""

from __future__ import annotations

import inspect
import typing as t
from dataclasses import dataclass
from dataclasses import field

from ..globals import current_records
from ..service.schemas import CustomSchemas
from ..service.schemas import page_of
from ..signals import BODIES
from .answers import reference
from .examples import body_example
from .type_names import type_names

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping

    from ..service import Service
    from ..service.schemas import Schema
    from ..service.schemas import Schemas

PACKAGE: t.Final = __name__.partition(".")[0]

ENDS: t.Final = ("", "Page", *[method.title() for method in BODIES])
"""The ends of the names of the schemas of a service."""

RESERVED: t.Final = ("Error",)
"""The names of other schemas."""

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

DEFAULT: t.Final = "default"

SHOWING: t.Final = ("$select", "$populate")
"""The parts of a query that say what is shown of records."""

DATA: t.Final[Schema] = {"anyOf": [{"type": "object"}, {"type": "array", "items": {}}]}
"""The body of a custom method."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One way to call a service."""

    id: str
    """The name of the call, which no other one has."""

    method: str
    """The method."""

    summary: str
    """A line about it."""

    description: str | None
    """A text of the application about it."""

    result: Schema
    """The result."""

    body: Schema | None = None
    """The data, if the method takes any."""

    example: t.Any = None
    """An example of the data, or ``None``."""

    query: Mapping[str, Schema] = field(default_factory=dict)
    """The schemas of the parts of the query, by name."""

    is_public: bool = False
    """``True`` if it needs no login."""


class Calls:
    """Describes the calls of one service.

    :param service: The service.
    :param schemas: The schemas of the caller.
    """

    def __init__(self, service: Service, schemas: Schemas) -> None:
        self.name = name_of(service)
        """The name of the service in names of schemas and calls."""
        self._service = service
        self._schemas = schemas

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that calls refer to, with their names."""
        yield self.name, self._schemas.record

        for method in BODIES:
            if method in self._service.methods:
                schema: Schema = getattr(self._schemas, method)
                yield f"{self.name}{method.title()}", schema

        if self._schemas.is_paged:
            records = {"type": "array", "items": reference("schemas", self.name)}
            yield f"{self.name}Page", page_of(records)

    @property
    def id(self) -> Schema:
        """The schema of the identifier of a record."""
        properties = self._schemas.record.get("properties", {})
        name = self._service.capabilities.id
        schema = {**properties.get(name, {"type": "string"})}
        schema.pop("readOnly", None)
        return schema

    @property
    def description(self) -> str | None:
        """The text of the application about the service."""
        text = self._schemas.record.get("description")
        return text or docstring(self._service.target)

    def of_many(self) -> Iterator[Call]:
        """Yield the calls without an identifier."""
        methods, record = self._service.methods, reference("schemas", self.name)
        records: Schema = {"type": "array", "items": record}

        if "find" in methods:
            page = reference("schemas", f"{self.name}Page")
            listed = page if self._schemas.is_paged else records
            found = listed if self._schemas.found is None else self._schemas.found
            yield self._call("find", found, self._query)

        if "create" in methods:
            is_multi = "create" in self._schemas.multi
            created: Schema = {"anyOf": [record, records]} if is_multi else record
            yield self._call("create", created, self._selection)

        for method in self._service.custom_methods:
            custom = self._schemas.custom.get(method, CustomSchemas())
            yield self._call(method, custom.result or {}, {}, custom.data or DATA)

        for method in ("patch", "remove"):
            if method in methods and method in self._schemas.multi:
                written = records if self._schemas.many is None else self._schemas.many
                yield self._call(method, written, self._query_of_writes, is_many=True)

    def of_one(self) -> Iterator[Call]:
        """Yield the calls with an identifier."""
        record = reference("schemas", self.name)

        for method in ("get", "update", "patch", "remove"):
            if method in self._service.methods:
                yield self._call(method, record, self._selection)

    def _call(
        self,
        method: str,
        result: Schema,
        query: Mapping[str, Schema],
        body: Schema | None = None,
        *,
        is_many: bool = False,
    ) -> Call:
        summaries = MANY_SUMMARIES if is_many else SUMMARIES
        return Call(
            id=f"{method}{self.name}{'Many' if is_many else ''}",
            method=method,
            summary=self._schemas.summaries.get(method)
            or summaries.get(method, f"Call {method}"),
            description=docstring(getattr(self._service.target, method)),
            result=result,
            body=self._body(method) if method in BODIES else body,
            example=self._example(method),
            query=query,
            is_public=method in self._service.public,
        )

    def _body(self, method: str) -> Schema:
        schema = reference("schemas", f"{self.name}{method.title()}")

        if method == "create" and "create" in self._schemas.multi:
            return {"anyOf": [schema, {"type": "array", "items": schema}]}

        return schema

    def _example(self, method: str) -> t.Any:
        is_known = method in BODIES
        return body_example(getattr(self._schemas, method)) if is_known else None

    @property
    def _query(self) -> Mapping[str, Schema]:
        properties: Mapping[str, Schema] = self._schemas.query.get("properties", {})
        return properties

    @property
    def _query_of_writes(self) -> Mapping[str, Schema]:
        """The query of writes of many records, which have no pages."""
        query = dict(self._query)

        if "$limit" in query:
            query["$limit"] = {k: v for k, v in query["$limit"].items() if k != DEFAULT}

        return query

    @property
    def _selection(self) -> Mapping[str, Schema]:
        query = self._query
        return {name: query[name] for name in SHOWING if name in query}


def name_of(service: Service) -> str:
    """Return the name of a service in names of schemas and calls, which no other one of
    the application has.
    """
    services = current_records.services.values()
    return type_names(services, ENDS, RESERVED, by_model=False)[service.path]


def docstring(part: t.Any) -> str | None:
    """Return the text of the application about an object, or about a method of it."""
    is_own = not part.__module__.startswith(f"{PACKAGE}.")
    return inspect.getdoc(part) if is_own else None
