"""The JSON Schemas of a model, as one caller sees it."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import orm

from ..globals import current_records
from ..query.operators import flag, like, many, one, pair, pattern, text
from ..query.syntax import POPULATE
from ..query.values import nullable
from ..service.schemas import Schemas
from ..signals import METHODS

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..pagination import Pagination
    from ..query import Field, Fields, Operator, Syntax
    from ..service.schemas import Relation, Schema
    from .multi import Multi
    from .related import WritableRelation

BIG_INTEGER: t.Final = {"type": "string", "pattern": "^-?[0-9]+$"}
"""The schema of an integer that clients get as text."""

TEXT: t.Final = {"type": "string"}

EXAMPLE: t.Final = "example"
"""The key of a column's ``info`` with a value for documents, as JSON has it."""

READ_BY: t.Final[Mapping[t.Any, Callable[[t.Any], Schema]]] = {
    one: lambda value: value,
    many: lambda value: {"type": "array", "items": value},
    pair: lambda value: {"type": "array", "items": value, "minItems": 2, "maxItems": 2},
    text: lambda value: TEXT,
    like: lambda value: TEXT,
    pattern: lambda value: {**TEXT, "format": "regex"},
    flag: lambda value: {"type": "boolean"},
}
"""The schema of an operator's value, by the function that reads it."""

FOR_TEXT: t.Final = (text, like, pattern)
"""The functions that read values of operators for fields of text."""


class ModelSchemas:
    """Makes the schemas of a model.

    :param fields: The fields that the caller knows of, on the application's database.
    :param relations: The relationships that bodies may name.
    :param texts: The names of the fields whose integers clients get as text.
    """

    def __init__(
        self,
        fields: Fields,
        relations: Mapping[str, WritableRelation],
        texts: Collection[str],
    ) -> None:
        self._fields = fields
        self._relations = relations
        self._texts = texts

    def all(
        self,
        operators: Mapping[str, Operator],
        syntax: Syntax,
        pagination: Pagination,
        multi: Multi,
        related: Mapping[str, Relation],
    ) -> Schemas:
        """Return the schemas of a service.

        :param operators: The operators that may stand below a field, by name.
        :param syntax: The names that queries may use.
        :param related: The relationships that records can be shown with.
        """
        return Schemas(
            record=self._record(),
            create=self._body("create"),
            update=self._body("update"),
            patch=self._body("patch"),
            query=self._query(operators, syntax, pagination, related),
            is_paged=pagination.is_on,
            multi=frozenset([name for name in METHODS if name in multi]),
            relations=related,
        )

    def _record(self) -> Schema:
        fields = self._fields
        shown = [fields.id] if fields.composite else []
        properties = {}

        for field in [*shown, *fields]:
            is_sent = fields.body.is_sent(field.name)
            properties[field.name] = {
                **self._value(field),
                **described(field),
                **({} if is_sent else {"readOnly": True}),
            }

        for name, computed in fields.computed.items():
            properties[name] = {**computed.schema, "readOnly": True}

        schema: dict[str, t.Any] = {
            "type": "object",
            "properties": properties,
            "required": [fields.id.name],
        }
        doc = _docstring(fields.model)
        return {**schema, "description": doc} if doc else schema

    def _body(self, method: str) -> Schema:
        fields = self._fields
        kept = fields.fixed | fields.write_once if method != "create" else frozenset()
        named = [each for each in fields.body.sent() if each.name not in kept]
        properties = {
            field.name: {
                **self._sent(field),
                **described(field),
                **({} if field.name in fields.names else {"writeOnly": True}),
                **(default_of(field) if method != "patch" else {}),
            }
            for field in named
        }
        related = {name: _related(each) for name, each in self._relations.items()}
        by_relations = {c for each in self._relations.values() for c in each.columns}
        required = [
            field.name
            for field in named
            if field.is_required and field.name not in by_relations
        ]
        schema: dict[str, t.Any] = {
            "type": "object",
            "properties": properties | related,
        }
        return {**schema, "required": required} if method != "patch" else schema

    def _query(
        self,
        operators: Mapping[str, Operator],
        syntax: Syntax,
        pagination: Pagination,
        related: Collection[str],
    ) -> Schema:
        fields = self._fields
        shown = [fields.id, *[each for each in fields if each is not fields.id]]
        names = [field.name for field in shown]
        ordered = [each.name for each in fields if each.conversion.is_ordered]
        compared = {each.name: self._compared(each, operators) for each in shown}
        limit: dict[str, t.Any] = {"type": "integer", "minimum": 0}
        group = {"type": "array", "items": {"type": "object", "properties": compared}}
        paging: dict[str, t.Any] = {
            "$limit": limit,
            "$skip": {"type": "integer", "minimum": 0},
            "$sort": {
                "type": "object",
                "properties": {name: {"enum": [1, -1]} for name in ordered},
                "additionalProperties": False,
            },
            "$select": {
                "type": "array",
                "items": {"enum": [*names, *fields.computed]},
            },
        }

        if related:
            paging[POPULATE] = {"type": "array", "items": {"enum": [*related]}}

        if pagination.is_on:
            limit["default"] = pagination.default

        groups = {name: group for name in sorted(syntax.groups)}
        return {"type": "object", "properties": {**compared, **paging, **groups}}

    def _compared(self, field: Field, operators: Mapping[str, Operator]) -> Schema:
        """Return the schema of a field in a query: a value, or operators."""
        value = self._value(field, is_nullable=False)
        allowed = {
            name: READ_BY.get(operator.read, lambda value: {})(value)
            for name, operator in operators.items()
            if field.conversion.is_ordered or not operator.needs_order
            if field.conversion.is_text or operator.read not in FOR_TEXT
        }
        operations = {
            "type": "object",
            "properties": allowed,
            "additionalProperties": False,
        }
        return {"anyOf": [value, operations]}

    def _value(self, field: Field, *, is_nullable: bool = True) -> Schema:
        """Return the schema of a field in an answer."""
        is_text = field.name in self._texts
        schema = BIG_INTEGER if is_text else field.conversion.schema
        may_be_null = is_nullable and field.is_nullable
        may_be_null = may_be_null and field not in self._fields.identifying
        return nullable(schema) if may_be_null else schema

    def _sent(self, field: Field) -> Schema:
        """Return the schema of a field in a body."""
        schema = field.conversion.schema

        if field.name in self._texts or schema.get("format") == "decimal":
            schema = {"anyOf": [schema, {"type": "number"}]}

        may_be_null = field.is_nullable or field.has_default
        return nullable(schema) if may_be_null else schema


def described(field: Field) -> Schema:
    """Return what a model says of a field."""
    prop = getattr(field.column, "property", None)
    column = next(iter(getattr(prop, "columns", ())), None)
    texts = [getattr(prop, "doc", None), getattr(column, "comment", None)]
    info = {**getattr(column, "info", {}), **getattr(prop, "info", {})}
    examples = {"examples": [info[EXAMPLE]]} if EXAMPLE in info else {}
    return next(({"description": text} for text in texts if text), {}) | examples


def default_of(field: Field) -> Schema:
    """Return the default of a field that a body leaves out, if it is a value."""
    prop = getattr(field.column, "property", None)
    column = next(iter(getattr(prop, "columns", ())), None)
    default = getattr(column, "default", None)
    value = default.arg if default is not None and default.is_scalar else None

    # Only values of these types are the same in JSON.
    return {"default": value} if type(value) in (str, int, float, bool) else {}


def _related(relation: WritableRelation) -> Schema:
    id: Schema = {"description": "The identifier of a record."}
    return {"type": "array", "items": id} if relation.is_list else id


def _docstring(model: type[t.Any]) -> str | None:
    # A dataclass has one that shows its arguments.
    doc = vars(model).get("__doc__")
    is_own = doc and not doc.startswith(f"{model.__name__}(")
    return inspect.cleandoc(doc) if is_own else None


def references(fields: Fields) -> dict[str, str]:
    """Return the paths of the services whose records fields identify, by the names of
    the fields: those of foreign keys.

    :param fields: The fields that the caller knows of.
    """
    paths = _paths_by_column()
    named = {}

    for field in fields:
        targets = (key.column for key in _foreign_keys(fields.mapper, field.name))
        path = next((paths[each] for each in targets if each in paths), None)

        if path is not None:
            named[field.name] = path

    return named


def _paths_by_column() -> dict[sa.Column[t.Any], str]:
    """Return the paths of services by the columns that identify their records. The
    first service over a model counts.
    """
    paths: dict[sa.Column[t.Any], str] = {}

    for path, service in current_records.services.items():
        if service.capabilities.model is not None:
            mapper = sa.inspect(service.capabilities.model)

            for column in _columns(mapper, service.capabilities.id):
                paths.setdefault(column, path)

    return paths


def _foreign_keys(mapper: orm.Mapper[t.Any], name: str) -> list[sa.ForeignKey]:
    return [key for each in _columns(mapper, name) for key in each.foreign_keys]


def _columns(mapper: orm.Mapper[t.Any], name: str) -> list[sa.Column[t.Any]]:
    prop = mapper.attrs.get(name)
    columns = prop.columns if isinstance(prop, orm.ColumnProperty) else ()
    return [column for column in columns if isinstance(column, sa.Column)]
