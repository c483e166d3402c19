"""The types of a service in modules of Python."""

from __future__ import annotations

import typing as t

from ..query.syntax import POPULATE
from ..service.schemas import CustomSchemas
from .null_queries import with_nulls
from .python_forms import form_of
from .python_types import ANY
from .python_types import title
from .rights import event_names
from .rights import METHODS

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping

    from ..client.values import Form
    from ..service import Service
    from ..service.schemas import Schema
    from ..service.schemas import Schemas
    from .python_types import Declarations

BODIES: t.Final[Mapping[str, str]] = {
    "create": "Data",
    "update": "Update",
    "patch": "Patch",
}
"""The ends of the names of bodies, by method."""

IDS: t.Final = frozenset({"int", "str", "UUID", "dt.date", "dt.datetime", "Decimal"})
"""The types of identifiers."""


class Value(t.NamedTuple):
    """The values of a schema."""

    type: str
    """The name of their type."""
    form: Form
    """The form that clients read them by."""


class CustomMethod(t.NamedTuple):
    """A custom method of a service."""

    data: str
    """The name of the type of its data."""
    result: Value


class Types(t.NamedTuple):
    """The names of the types of a service."""

    record: str
    id: str
    query: str
    bodies: Mapping[str, str]
    """Those of bodies by method."""
    is_paged: bool
    multi: frozenset[str]
    """The methods that take many records."""
    found: Value | None
    """The answer of find, if it is neither a list of records nor a page."""
    many: Value | None
    """The answers for many records, if they are no lists of records."""
    custom: Mapping[str, CustomMethod]
    """The custom methods."""
    events: Mapping[str, Value | None]
    """The data of events that clients may get, or ``None`` for a record."""


class ServiceTypes:
    """The types of one service.

    :param schemas: Its schemas.
    :param names: The names of the records of all services, by path.
    :param declarations: Where the types are declared.
    """

    def __init__(
        self,
        service: Service,
        schemas: Schemas,
        names: Mapping[str, str],
        declarations: Declarations,
    ) -> None:
        self._service = service
        self._schemas = schemas
        self._names = names
        self._name = names[service.path]
        self._declarations = declarations

    def types(self) -> Types:
        """Declare the types, and return their names."""
        service, schemas = self._service, self._schemas
        properties = schemas.record.get("properties", {})
        ruled = service.capabilities.field_rules.visible
        declare = self._declarations.object_type
        id = properties.get(service.capabilities.id, {})
        id_type = self._declarations.type_of(id, f"{self._name}Id")
        always = properties.keys() - ruled.keys()
        bodies: dict[str, str] = {}
        record = declare(self._name, schemas.record, always, self._relations())

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
            multi=schemas.multi,
            found=self._value(schemas.found, "Found"),
            many=self._value(schemas.many, "Many"),
            custom=dict(self._custom()),
            events={
                event: self._event(event) for event in event_names(service, schemas)
            },
        )

    def _relations(self) -> Iterator[tuple[str, str]]:
        """Yield the relationships, which are in a record if they are asked for."""
        for name, relation in self._schemas.relations.items():
            other = self._names[relation.path]
            yield name, f"list[{other}]" if relation.is_list else f"{other} | None"

    def _custom(self) -> Iterator[tuple[str, CustomMethod]]:
        for name in self._service.custom_methods:
            schemas = self._schemas.custom.get(name, CustomSchemas())
            data = self._value(schemas.data or {}, f"{title(name)}Data")
            result = self._value(schemas.result or {}, f"{title(name)}Result")
            yield name, CustomMethod(data.type, result)

    def _event(self, name: str) -> Value | None:
        default: Schema | None = None if name in METHODS else {}
        schema = self._schemas.events.get(name, default)
        return self._value(schema, f"{title(name)}Event")

    @t.overload
    def _value(self, schema: Schema, end: str) -> Value: ...

    @t.overload
    def _value(self, schema: Schema | None, end: str) -> Value | None: ...

    def _value(self, schema: Schema | None, end: str) -> Value | None:
        """Return the values of a schema, if there is one.

        :param end: The end of the name of their type.
        """
        if schema is None:
            return None

        type_ = self._declarations.type_of(schema, f"{self._name}{end}")
        return Value(type_, form_of(schema) or {})

    def _query(self) -> str:
        name, schemas = f"{self._name}Query", self._schemas
        schema = with_nulls(schemas.query, schemas.record)

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

        if key == POPULATE:
            type_ = self._declarations.type_of(schema["items"], "")
            return f"{type_} | list[{type_}]"

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
