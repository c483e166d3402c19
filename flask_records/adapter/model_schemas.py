"""The JSON Schemas of a model, as one caller sees it."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from sqlalchemy import orm

from ..database.transaction import Transaction
from ..names import BODIES
from ..query.conversions import nullable
from ..query.groups import AGGREGATES, GROUP, PERIODS, ZONE
from ..query.operators import LIMIT, POPULATE, SELECT, SKIP, SORT
from ..query.readers import contained, flag, listed, many, one, pair, pattern, text
from ..service.globals import current_records
from ..service.schemas import COUNT, DIRECTION, list_of, object_of, Relation, Schemas
from .bodies import Constructor
from .call_paths import sees_keys
from .populate import service_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import sqlalchemy as sa

    from ..pagination import Pagination
    from ..query import Field, Scope
    from ..query.paths import Relationship
    from ..service.context import Params
    from ..service.schemas import Schema
    from .model import Model, ServedModel

TEXT: t.Final = {"type": "string"}
NULL: t.Final = {"type": "null"}

BOUNDS: t.Final = frozenset({"maxLength", "minimum", "maximum"})
"""The keywords of JSON Schema with the bounds of a column."""

EXAMPLE: t.Final = "example"
"""The key of a column's ``info`` with a value for documents, as JSON has it."""

ITEM: t.Final = {"type": ["string", "number", "boolean"]}
"""The schema of the items of lists that may have any."""

READ_BY: t.Final[Mapping[t.Any, Callable[[t.Any], Schema]]] = {
    one: lambda value: value,
    many: list_of,
    pair: lambda value: {**list_of(value), "minItems": 2, "maxItems": 2},
    text: lambda value: TEXT,
    contained: lambda value: TEXT,
    pattern: lambda value: {**TEXT, "format": "regex"},
    flag: lambda value: {"type": "boolean"},
    listed: lambda value: list_of(value.get("items", ITEM)),
}
"""The schema of an operator's value, by the function that reads it."""

FOR_TEXT: t.Final = (text, contained, pattern)
"""The functions that read values of operators for fields of text."""


def model_schemas(
    model: ServedModel,
    params: Params | None,
    pagination: Pagination,
    multi: frozenset[str],
) -> Schemas:
    """Return the schemas of a model as one caller, or every client, sees it."""
    schemas = ModelSchemas(model, params)
    return Schemas(
        record=schemas.record(),
        **{method: schemas.body(method) for method in BODIES},
        query=schemas.query(pagination),
        groups=schemas.groups(),
        is_paged=pagination.is_on,
        multi=multi,
        extra=frozenset(model.options.extra),
        relations=schemas.relations,
    )


class ModelSchemas:
    """Makes the schemas of a model, on the application's database."""

    def __init__(self, model: ServedModel, params: Params | None) -> None:
        with Transaction(writes=False):
            served = model.current

        self._model = model
        self._params = params
        self._scope = model.scope_of(params, served)
        self._fields = self._scope.fields
        # Some callers or records do not take these.
        conditional = self._scope.conditional
        self._optional = model.rules.writable if params is None else conditional
        # The relationships that queries may follow, with the fields there.
        self._paths = _paths(served, self._scope, params)
        populates = model.syntax.populates
        self.relations = _relations(model, self._scope) if populates else {}

    def record(self) -> Schema:
        """Return the schema of a record in an answer."""
        scope, fields = self._scope, self._fields
        ids = [fields.id] if fields.composite else []
        properties = {}

        for field in [*ids, *scope]:
            is_sent = field.name in scope.writable
            properties[field.name] = {
                **self._in_answer(field),
                **_describe(field),
                **({} if is_sent else {"readOnly": True}),
            }

        for name, schema in fields.options.extra.items():
            properties[name] = {**_without_bounds(schema), "readOnly": True}

        doc = docstring(fields.model)
        description = {"description": doc} if doc else {}
        return object_of(properties, required=[fields.id.name], **description)

    def body(self, method: str) -> Schema:
        """Return the schema of the body of a method."""
        scope, relations = self._scope, self._model.writable
        fields, names = scope.fields, scope.writable

        if method != "create":
            names = names - fields.fixed - {*fields.options.write_once}

        writable = [field for name, field in fields.writable.items() if name in names]
        properties: dict[str, Schema] = {
            field.name: {
                **self._in_body(field, method),
                **_describe(field),
                **({} if field.name in scope.names else {"writeOnly": True}),
            }
            for field in writable
        }
        related = list_of({"description": "The identifier of a record."})
        properties |= dict.fromkeys(relations, related)

        if method == "patch":
            return object_of(properties)

        arguments = Constructor(fields).required if method == "create" else []
        required = [
            field.name
            for field in writable
            if (field.is_required or field.name in arguments)
            and field.name not in self._optional
        ]
        return object_of(properties, required=required)

    def query(self, pagination: Pagination) -> Schema:
        """Return the schema of the query of find. Of paths to other records it has
        those over one relationship.
        """
        scope, id = self._scope, self._fields.id
        fields = [id, *[field for field in scope if field is not id]]
        names = [field.name for field in fields]
        ordered = _sorted_names(scope)
        by_name = {each.name: self._in_query(each) for each in fields}

        for name, (_, there) in self._paths.items():
            by_name |= {f"{name}.{each.name}": self._in_query(each) for each in there}

        grouped = self._grouped
        ordered += self._at_paths
        ordered += [f"{n}.{each}" for n in AGGREGATES for each in grouped.get(n, ())]
        default = {"default": pagination.default} if pagination.is_on else {}
        directions = dict.fromkeys(ordered, DIRECTION)
        paging: dict[str, Schema] = {
            LIMIT: {**COUNT, **default},
            SKIP: COUNT,
            SORT: object_of(directions, additionalProperties=False),
            SELECT: list_of({"enum": [*names, *scope.fields.options.extra]}),
        }

        if populated := [*self.relations, *_further(self.relations, self._params)]:
            paging[POPULATE] = list_of({"enum": populated})

        for name, names in grouped.items():
            text = {"description": f"The fields of {name}."}
            paging[name] = {**list_of({"enum": names}), **text}

            if name == GROUP and self._units:
                paging[name] = {"anyOf": [paging[name], object_of(self._units)]}
                paging[ZONE] = {**TEXT, "description": "The time zone of periods."}

        group = list_of(object_of(by_name))
        groups = dict.fromkeys(sorted(self._model.syntax.groups), group)
        return object_of({**by_name, **paging, **groups})

    def groups(self) -> Schema | None:
        """Return the schema of groups and sums of records, if clients have any."""
        fields = {**self._fields.stored, **self._at_paths}
        properties: dict[str, t.Any] = {}

        for name in self._grouped.get(GROUP, ()):
            schema = self._in_answer(fields[name])

            if name in self._units:
                # A period, such as "2026-W09", is neither a date nor a time.
                schema = {key: schema[key] for key in schema if key != "format"}
                schema["description"] = "A period, or a time."

            properties[name] = schema

        for function in [name for name in self._grouped if name != GROUP]:
            names = self._grouped[function]
            values = {name: _aggregate(function, fields[name]) for name in names}
            properties[function] = object_of(values)

        return object_of(properties) if properties else None

    @cached_property
    def _grouped(self) -> dict[str, list[str]]:
        """The names of the fields that clients may group by, or ask a value of, by
        special parameter.
        """
        aggregates, fields = self._model.aggregates, self._fields.stored
        names = [each for each in aggregates if each in self._scope.plain]
        keys = [each for each in names if fields[each].conversion.is_sorted]
        keys += [each for each in aggregates if each in self._at_paths]
        by_function = {
            name: [each for each in names if function.takes(fields[each].column.type)]
            for name, function in AGGREGATES.items()
        }
        return {
            name: each for name, each in ({GROUP: keys} | by_function).items() if each
        }

    @cached_property
    def _units(self) -> dict[str, Schema]:
        """The periods, such as days, of the fields in groups that have some."""
        fields = self._fields.stored
        names = [name for name in self._grouped.get(GROUP, ()) if name in fields]
        units = {
            name: [n for n in PERIODS if PERIODS[n].takes(fields[name].column.type)]
            for name in names
        }
        return {name: {"enum": each} for name, each in units.items() if each}

    @cached_property
    def _at_paths(self) -> Mapping[str, Field]:
        """The fields of related records that groups may have, by their paths."""
        return {
            # A record may refer to none that the caller sees.
            f"{name}.{each}": replace(there.fields.stored[each], is_nullable=True)
            for name, (relationship, there) in self._paths.items()
            if not relationship.uselist
            for each in _sorted_names(there)
        }

    def _in_query(self, field: Field) -> Schema:
        """Return the schema of a field in a query: a value, or operators."""
        value = field.conversion.schema
        # A query string has no null, but texts that mean it where they are not values.
        or_null = self._value(field) if "null" in field.conversion.null_texts else value
        is_null_only = field.conversion.is_null_only
        operators = {
            name: READ_BY.get(operator.read, lambda value: {})(
                value if operator.needs_order else or_null
            )
            for name, operator in self._model.syntax.operators.items()
            if field.conversion.is_ordered or not operator.needs_order
            if operator.fields is None or field.name in operator.fields
            if field.conversion.is_text or operator.read not in FOR_TEXT
            if field.conversion.has_item or operator.read is not listed
            if not (is_null_only and operator.is_bound)
        }
        operations = object_of(operators, additionalProperties=False)
        return {"anyOf": [NULL if is_null_only else or_null, operations]}

    def _in_answer(self, field: Field) -> Schema:
        """Return the schema of a field in an answer."""
        schema = self._value(field)
        # SQLAlchemy takes the type of an expression from one of its operands.
        return schema if field.name in self._fields.columns else _without_bounds(schema)

    def _value(self, field: Field) -> Schema:
        schema = field.conversion.schema
        is_nullable = field.is_nullable and field not in self._fields.identifying
        return nullable(schema) if is_nullable else schema

    def _in_body(self, field: Field, method: str) -> Schema:
        """Return the schema of a field in a body."""
        schema = field.conversion.schema

        if schema.get("format") == "decimal":
            schema = {"anyOf": [schema, {"type": "number"}]}

        # A new record has the default in place of null.
        has_default = method == "create" and field.has_default
        may_be_null = field.is_nullable or has_default
        return nullable(schema) if may_be_null else schema


def _aggregate(function: str, field: Field) -> Schema:
    """Return the schema of the value of a function of a field in a group."""
    if function == "$count":
        return {"type": "integer"}

    schema = {"type": "number"} if function == "$avg" else field.conversion.schema
    return nullable(_without_bounds(schema) if function == "$sum" else schema)


def _without_bounds(schema: Schema) -> Schema:
    """Return the schema of values that may be larger than the column's."""
    unbounded = {name: each for name, each in schema.items() if name not in BOUNDS}
    is_whole = "integer" in schema.get("type", ())
    return {**unbounded, "format": "int64"} if is_whole else unbounded


def _sorted_names(scope: Scope) -> list[str]:
    names = [field.name for field in scope if field.conversion.is_sorted]
    return [name for name in names if name in scope.plain]


def _describe(field: Field) -> Schema:
    """Return what a model says of a field."""
    prop = getattr(field.column, "property", None)
    column = next(iter(getattr(prop, "columns", ())), None)
    texts = [getattr(prop, "doc", None), getattr(column, "comment", None)]
    info = {**getattr(column, "info", {}), **getattr(prop, "info", {})}
    examples = {"examples": [info[EXAMPLE]]} if EXAMPLE in info else {}
    return next(({"description": text} for text in texts if text), {}) | examples


def _relations(model: ServedModel, scope: Scope) -> dict[str, Relation]:
    """Return the relationships that a service shows, by name."""
    relations = {}

    for name, key in model.link_keys.items():
        link = model.mapper.relationships[name]
        service = service_of(link, model.populate_paths)

        if service is not None and key in scope.names:
            # The other end, or a table between the two, may refer to this one.
            own = key if link.direction is orm.MANYTOONE else None
            relations[name] = Relation(service.path, bool(link.uselist), own)

    return relations


def _paths(
    model: Model, scope: Scope, params: Params | None
) -> dict[str, tuple[Relationship, Scope]]:
    """Return the relationships that queries of a caller may follow, and the fields at
    their end, by the names of the relationships.
    """
    paths: dict[str, tuple[Relationship, Scope]] = {}
    served = model.served

    for name in served.relations:
        relationship = served.mapper.relationships[name]
        service = service_of(relationship, served.populate_paths)

        if service is not None and "find" in service.methods:
            related = served.follow(relationship, service)
            there = related.on(t.cast("sa.Dialect", model.fields.dialect))
            other = related.scope_of(params, there)

            if sees_keys(relationship, scope, other):
                paths[name] = relationship, other

    return paths


def _further(relations: Mapping[str, Relation], params: Params | None) -> Iterator[str]:
    """Yield the paths to relationships of related records that a service shows."""
    for name, relation in relations.items():
        parts = current_records.services[relation.path].capabilities
        served, scope = getattr(parts, "served", None), parts.scope_for(params)

        if served is not None and scope is not None and served.syntax.populates:
            yield from [f"{name}.{each}" for each in _relations(served, scope)]


def docstring(model: type[t.Any]) -> str | None:
    """Return the docstring of a model."""
    # A dataclass has one that shows its arguments.
    doc = vars(model).get("__doc__")
    is_own = doc and not doc.startswith(f"{model.__name__}(")
    return inspect.cleandoc(doc) if is_own else None
