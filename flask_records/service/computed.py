"""Computed fields in the answers of objects that are no models."""

from __future__ import annotations

import datetime as dt
import enum
import typing as t
from collections.abc import Mapping
from dataclasses import replace

from ..errors import BadRequest
from ..pagination import with_records
from ..problems import READ_ONLY
from ..query import names_in
from ..query.computed_fields import compute, not_in_queries
from ..query.python_types import conversion_of_class
from ..query.same_values import is_same
from ..query.syntax import items_of
from ..query.values import cast
from ..signals import call, METHODS
from .plain_records import plain

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..context import HookContext, Params
    from ..query.computed_fields import ComputedField
    from ..typing import Record
    from .schemas import Schema, Schemas
    from .target import Capabilities

SELECT: t.Final = "$select"

PLACE: t.Final = "The result of '{context.path}.{context.method}'"


class ComputedAnswers:
    """Computes fields of the records that an object gives.

    :param fields: The fields, by name.
    """

    def __init__(self, fields: Mapping[str, ComputedField]) -> None:
        self._fields = fields

    def __bool__(self) -> bool:
        return bool(self._fields)

    def run(
        self, context: HookContext, method: Callable[[HookContext, Params], t.Any]
    ) -> t.Any:
        """Return the result of a call, with the computed fields that its query names.

        :param method: Calls the method of the object.
        :raises BadRequest: The query compares a computed field, or the data has another
            value for it.
        """
        if context.method not in METHODS:
            return method(context, context.params)

        self._check_query(context.params.query)
        self._check_bodies(context)
        names = _selected(context.params.query)
        asked = [
            field for name, field in self._fields.items() if not names or name in names
        ]

        if not asked:
            return method(context, context.params)

        result = method(context, _without_select(context.params))
        result = plain(result, PLACE.format(context=context))
        id = context.service.capabilities.id
        return _with(result, asked, {*names, id} if names else None)

    def schemas_for(self, capabilities: Capabilities) -> Capabilities:
        """Return the capabilities of an object, whose schemas have the fields."""

        def with_fields(params: Params | None) -> Schemas:
            schemas = capabilities.schemas_for(params)
            return schemas._replace(record=self._record(schemas.record))

        return replace(
            capabilities,
            schemas_for=with_fields,
            computed_fields=capabilities.computed_fields | self._fields.keys(),
        )

    def _record(self, record: Schema) -> Schema:
        own = {n: {**each.schema, "readOnly": True} for n, each in self._fields.items()}
        properties = {**record.get("properties", {}), **own}
        return {"type": "object", **record, "properties": properties}

    def _check_query(self, query: Record) -> None:
        sort = query.get("$sort")
        sorted_by = sort if isinstance(sort, Mapping) else ()
        compared = names_in(query)

        for name in self._fields:
            if name in compared or name in sorted_by:
                raise not_in_queries(name)

    def _check_bodies(self, context: HookContext) -> None:
        """Leave out of the data what a record has already.

        :raises BadRequest: It has something else.
        """
        if not isinstance(context.data, (dict, list)):
            return

        is_list = isinstance(context.data, list)
        bodies = context.data if is_list else [context.data]
        problems = {
            f"{place}.{name}" if is_list else name: READ_ONLY
            for place, body in enumerate(bodies)
            for name in self._changed(context, body)
        }

        if problems:
            text = ", ".join(
                f"'{name}' {problem}" for name, problem in problems.items()
            )
            raise BadRequest(f"The data is not valid: {text}.", errors=problems)

        rest = [_without(body, self._fields.keys()) for body in bodies]
        context.data = rest if is_list else rest[0]

    def _changed(self, context: HookContext, body: t.Any) -> list[str]:
        names = [name for name in self._fields if _has(body, name)]
        get = getattr(context.service.target, "get", None)

        if not names or context.id is None or get is None:
            return names

        record = plain(
            call(get, context.id, _without_select(context.params)),
            PLACE.format(context=context),
        )
        record = _with(record, [self._fields[name] for name in names], None)
        return [name for name in names if not is_shown(body[name], record[name])]


def is_shown(sent: t.Any, value: t.Any) -> bool:
    """Return ``True`` if a value of a body is the form in JSON of a value in an answer,
    whose type no column tells.
    """
    value = plain(value, "A computed value")

    if isinstance(value, Mapping):
        return (
            isinstance(sent, Mapping)
            and sent.keys() == value.keys()
            and all(is_shown(sent[name], value[name]) for name in value)
        )

    if isinstance(value, (list, tuple)):
        is_alike = isinstance(sent, list) and len(sent) == len(value)
        return is_alike and all(map(is_shown, sent, value))

    if isinstance(value, enum.Enum):
        return is_shown(sent, value.value)

    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)

    # Python takes an integer for a float.
    conversion = None if sent == value else conversion_of_class(type(value))

    try:
        sent = cast(conversion, sent, in_query=False) if conversion else sent
    except ValueError:
        return False

    return is_same(sent, value)


def _with(
    result: t.Any, fields: Collection[ComputedField], names: Collection[str] | None
) -> t.Any:
    """Return a result whose records have computed fields. Those of the object stay as
    they are, since it may store them.

    :param names: The names of the fields that records have. All by default.
    """
    records: list[Record] = []

    def collect(record: Record) -> Record:
        records.append(dict(record))
        return record

    with_records(result, collect)
    compute(records, fields)

    if names is not None:
        records = [{n: each[n] for n in each if n in names} for each in records]

    rest = iter(records)
    return with_records(result, lambda record: next(rest))


def _selected(query: Record) -> Collection[str]:
    """Return the names that a query selects, or none if it selects all."""
    value = query.get(SELECT)
    items = [value] if isinstance(value, str) else items_of(value) or ()
    return [each for each in items if isinstance(each, str)]


def _without_select(params: Params) -> Params:
    """Return the params for whole records, which functions compute fields of."""
    if SELECT not in params.query:
        return params

    return replace(params, query=_without(params.query, (SELECT,)))


def _without(record: t.Any, names: Collection[str]) -> t.Any:
    if not any(_has(record, name) for name in names):
        return record

    return {name: value for name, value in record.items() if name not in names}


def _has(body: t.Any, name: str) -> bool:
    return isinstance(body, Mapping) and name in body
