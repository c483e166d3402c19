"""The calls of a service, checked by schemas."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from io import IOBase

from ..errors import BadRequest, not_an_object
from ..names import BODIES, METHODS
from ..pagination import Page
from ..problems import Problem, too_deep, UNKNOWN_FIELD
from ..query.bounds import MAX_ERRORS, refuse, shorten
from ..query.conversions import is_deeper, MAX_JSON_DEPTH
from .capabilities import check_methods
from .context import names_of_bodies
from .results import cut_throughout, NOBODY

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ..typing import Record
    from .context import HookContext
    from .data_schema import DataSchema

UNFIT: t.Final = "The result of '{path}.{method}' does not fit its schema: {error}."

NO_SCHEMA: t.Final = """\
{place} of '{path}' can't be a schema: {value!r}. Give a model of pydantic. For a list \
or a single value, give a model with a field for it.\
"""

NO_SHAPE: t.Final = """\
it is a '{type}'. The 'result' of find is 'list[Model]' for a list of records, \
'Page[Model]' for a page, and 'Model' for one\
"""

NO_PACKAGE: t.Final = """\
{place} of '{path}' is {value!r}, which needs 'flask-record-services[pydantic]'.\
"""


@dataclass(frozen=True)
class MethodSchemas:
    """The schemas of one method, which check its calls and convert their values."""

    data: DataSchema | None = None
    """The schema of a body."""

    query: DataSchema | None = None
    """The schema of the query."""

    result: DataSchema | None = None
    """The schema of a record in the result, or of a custom method's result."""

    shape: type[t.Any] | None = None
    """``list`` or :class:`.Page` if find gives several records, ``None`` for one."""

    def check_query(self, context: HookContext) -> None:
        """Check the query of a call, and convert its values."""
        schema = self.query

        if schema is None:
            return

        values, others, problems = schema.check(context.params.query)

        if context.params.provider is not None and schema.others != "allow":
            problems |= _unknown(others if schema.others == "forbid" else ())
            others = {}

        refuse({name or "query": each for name, each in problems.items()}, "query")
        context.params.query = {**others, **values}

    def check_data(self, context: HookContext) -> None:
        """Check the data of a call, and convert its values."""
        schema, params = self.data, context.params

        if schema is None or context.data is None:
            return

        context.data = _each_body(context, partial(self._check_body, context, schema))

        if params.provider is None:
            return

        state, names = params._state, schema.names
        state.schema_fields = None if schema.others == "allow" else schema.fields

        # A model keeps the names that the client has sent otherwise.
        if names.keys() != schema.fields or schema.others == "ignore":
            fields = [names.get(name, name) for name in state.client_fields]
            state.client_fields = names_of_bodies(context.data).intersection(fields)

    def _check_body(
        self, context: HookContext, schema: DataSchema, body: Record
    ) -> tuple[Record, dict[str, Problem]]:
        method, params = context.method, context.params
        parts, is_client = context.service.capabilities, params.provider is not None
        is_plain = method not in METHODS
        # The model says what a record needs that is made in Python.
        is_partial = method == "patch" or not (is_plain or is_client)
        values, others, problems = schema.check(body, is_partial=is_partial)

        if not is_client or not others:
            return {**values, **others}, problems

        if schema.others == "ignore":
            return values, problems

        # A mapped class says what a client may not write, as without a schema.
        if schema.others == "allow" or (parts.model is not None and not is_plain):
            problems |= parts.body_check(method, params)(others)
            return {**values, **others}, problems

        # The address has the identifier, and a new record has none yet.
        if method in ("update", "patch") or others.get(parts.id) is None:
            others.pop(parts.id, None)

        return values, problems | _unknown(others)

    def check_result(self, context: HookContext, result: t.Any) -> t.Any:
        """Return the result of a method in its form for clients."""
        schema = self.result

        if schema is None:
            return result

        is_client = context.params.provider is not None
        viewer = context.params.user if is_client else NOBODY
        result = cut_throughout(result, viewer)

        is_several = isinstance(result, (list, Page)) and context.method in METHODS
        fits = isinstance(result, self.shape) if self.shape else not is_several

        try:
            if context.method == "find" and not fits:
                raise ValueError(NO_SHAPE.format(type=type(result).__name__))

            if not is_several:
                return schema.show(result)

            if isinstance(result, Page):
                return replace(result, data=[schema.show(e) for e in result.data])

            return [schema.show(each) for each in result]
        except ValueError as error:
            place = {"path": context.path, "method": context.method}
            raise ValueError(UNFIT.format(**place, error=error)) from error


def check_depth(context: HookContext) -> None:
    """Refuse data of a client that nests too deep to be answered as JSON."""
    is_client = context.params.provider is not None

    if is_client and is_deeper(context.data, MAX_JSON_DEPTH):
        raise BadRequest(f"The data {too_deep(MAX_JSON_DEPTH)}.")


def check_types(context: HookContext) -> None:
    """Refuse values of a client that do not fit their field, before hooks meet them."""
    is_client = context.params.provider is not None
    # A stream has no values yet.
    is_read = not isinstance(context.data, IOBase)

    if is_client and is_read and context.method in BODIES:
        parts = context.service.capabilities
        find_problems = parts.body_check(context.method, context.params)
        _each_body(context, lambda body: (body, find_problems(body)))


def read_schemas(
    path: str, option: t.Any, methods: Collection[str], *, is_model: bool
) -> dict[str, MethodSchemas]:
    """Return the schemas of a service by method.

    :param is_model: ``True`` if the six methods belong to a mapped class, whose
        queries and records have rules of their own.
    """
    if not isinstance(option, Mapping):
        raise TypeError(
            f"'schemas' of '{path}' maps methods to models of pydantic:"
            f" schemas={{'create': UserCreate}}, not {option!r}."
        )

    check_methods("schemas", path, option, methods)
    schemas = {}

    for method, parts in option.items():
        parts = parts if isinstance(parts, Mapping) else {"data": parts}
        allowed = ["data"] if method not in METHODS or method in BODIES else []
        allowed += [] if is_model and method in METHODS else ["query", "result"]
        checked: dict[str, t.Any] = {}

        for part, value in parts.items():
            if part not in allowed:
                text = ", ".join(allowed) or "none: its columns have its rules"
                raise ValueError(
                    f"'schemas' of '{path}' has '{part}' for '{method}', which takes"
                    f" {text}."
                )

            shape, model = t.cast("t.Any", t.get_origin(value)), value

            if (method, part) == ("find", "result") and shape in (list, Page):
                checked["shape"], [model] = shape, t.get_args(value)

            checked[part] = _schema_of(f"schemas[{method!r}][{part!r}]", path, model)

        schemas[method] = MethodSchemas(**checked)

    return schemas


def _schema_of(place: str, path: str, value: t.Any) -> DataSchema:
    # Pydantic is an extra.
    try:
        from pydantic import BaseModel, RootModel

        from .data_schema import DataSchema
    except ModuleNotFoundError as error:
        message = NO_PACKAGE.format(place=place, path=path, value=value)
        raise RuntimeError(message) from error

    is_model = isinstance(value, type) and issubclass(value, BaseModel)

    if not is_model or issubclass(value, RootModel):
        raise TypeError(NO_SCHEMA.format(place=place, path=path, value=value))

    return DataSchema(value)


def _each_body(
    context: HookContext, check: Callable[[Record], tuple[Record, dict[str, Problem]]]
) -> Record | list[Record]:
    """Return the data of a call with each body replaced by a checked one, up to
    :data:`.MAX_ERRORS` problems.
    """
    is_one = isinstance(context.data, dict)
    bodies, checked = [context.data] if is_one else context.bodies, []

    if not is_one and context.method != "create":
        raise not_an_object(context.method)

    all_problems: dict[str, Problem] = {}

    for index, each in enumerate(bodies):
        body, problems = check(each)
        checked.append(body)
        place = () if is_one else (str(index),)

        for name, problem in problems.items():
            all_problems[".".join(filter(None, (*place, name))) or "data"] = problem

        if len(all_problems) > MAX_ERRORS:
            break

    refuse(all_problems)
    return checked[0] if is_one else checked


def _unknown(names: Iterable[str]) -> dict[str, Problem]:
    return {shorten(name): UNKNOWN_FIELD for name in names}
