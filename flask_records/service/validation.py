"""The calls of a service, checked by schemas."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import not_an_object
from ..pagination import Page
from ..problems import Problem, UNKNOWN_FIELD
from ..query.bounds import MAX_ERRORS, shortened
from ..query.refusals import refuse
from ..signals import METHODS
from ..validation.schema import Beside, InvalidData

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..context import HookContext
    from ..typing import Record
    from ..validation import DataSchema, MethodSchemas
    from .target import Capabilities

UNFIT: t.Final = "The result of '{path}.{method}' does not fit its schema: {error}."


class MethodValidation:
    """Checks the calls of a method by its schemas, and converts their values.

    A record that is written in Python may leave out what a schema requires, and have
    what the schema does not.

    :param method: The name of the method.
    :param schemas: The schemas.
    """

    def __init__(self, method: str, schemas: MethodSchemas) -> None:
        self._body = None if schemas.data is None else BodySchema.of(schemas.data)
        self._query = schemas.query
        self._result = schemas.result
        self._is_own = method in METHODS
        self._is_patch = method == "patch"

    def check_query(self, context: HookContext) -> None:
        """Check the query of a call.

        :raises BadRequest: It does not fit.
        """
        schema = self._query

        if schema is None:
            return

        query, is_client = context.params.query, context.params.provider is not None
        others = {name: query[name] for name in query if name not in schema.names}
        own = {name: query[name] for name in query if name in schema.names}
        values, problems = _tried(schema, own)

        if is_client and schema.others != "allow":
            names = others if schema.others == "refuse" else ()
            problems |= _unknown(names)
            others = {}

        refuse(_placed(problems, "query"), "query")
        context.params.query = {**others, **values}

    def check_data(self, context: HookContext) -> None:
        """Check the data of a call. Its values are converted.

        :raises BadRequest: It does not fit.
        """
        body, data, params = self._body, context.data, context.params

        if body is None or data is None:
            return

        try:
            if type(data) is list:
                self._check_list(context, body)
            else:
                context.data = self._checked(context, body, data)
        except InvalidData as error:
            refuse(_placed(error.problems, "data"))

        if params.provider is not None:
            params.schema_fields = body.fields

            if body.is_renamed:
                sent = params.client_fields
                fields = body.schema.names
                params.client_fields = {fields.get(name, name) for name in sent}

    def _check_list(self, context: HookContext, body: BodySchema) -> None:
        """Check the bodies of a list. Those after the first :data:`.MAX_ERRORS`
        problems are not looked at.

        :raises InvalidData: One of them does not fit.
        """
        checked = []
        problems: dict[str, Problem] = {}

        if context.method != "create":
            raise not_an_object(context.method)

        for index, data in enumerate(context.data):
            try:
                checked.append(self._checked(context, body, data))
            except InvalidData as error:
                problems |= _placed(error.problems, "data", str(index))

                if len(problems) > MAX_ERRORS:
                    break

        if problems:
            raise InvalidData(problems)

        context.data = checked

    def checked_result(self, context: HookContext, result: t.Any) -> t.Any:
        """Return the result of a method in its form for clients.

        :param result: The result.
        :raises ValueError: It does not fit.
        """
        schema = self._result

        if schema is None:
            return result

        try:
            if not self._is_own:
                return schema.shown(result)

            if isinstance(result, Page):
                records = [schema.shown(each) for each in result.data]
                return Page(result.total, result.limit, result.skip, records)

            if isinstance(result, list):
                return [schema.shown(each) for each in result]

            return schema.shown(result)
        except ValueError as error:
            place = {"path": context.path, "method": context.method}
            raise ValueError(UNFIT.format(**place, error=error)) from error

    def _checked(self, context: HookContext, body: BodySchema, data: Record) -> Record:
        """Return the converted values of an object.

        :raises BadRequest: It is no object.
        :raises InvalidData: It does not fit.
        """
        if not isinstance(data, dict):
            raise not_an_object(context.method)

        is_client = context.params.provider is not None
        # The model tells what a record needs that is made in Python.
        is_partial = self._is_patch or (self._is_own and not is_client)
        schema = body.schema

        if body.names.issuperset(data):
            return schema.check(data, is_partial=is_partial)

        own = {name: data[name] for name in data if name in schema.names}
        others = {name: data[name] for name in data if name not in schema.names}

        if not is_client:
            # Python names fields as hooks do.
            named = body.renamed.keys() & others.keys()
            own = {body.renamed[name]: others.pop(name) for name in named} | own

        values, problems = _tried(schema, own, is_partial=is_partial)

        if is_client:
            # Hooks may have added names before the check.
            sent = others.keys() & context.params.client_fields
            theirs = {name: others[name] for name in data if name in sent}
            # A field must not come in by a name that is not checked.
            hidden = [name for name in theirs if name in body.renamed]
            problems |= _unknown(hidden)
            theirs = {n: theirs[n] for n in theirs if n not in body.renamed}

            if schema.others != "allow":
                others = {name: others[name] for name in others if name not in sent}
                beside = _beside(context, theirs if schema.others == "refuse" else {})
                problems |= beside.problems
                others |= beside.compared

        if problems:
            raise InvalidData(problems)

        return {**values, **others}


@dataclass(frozen=True)
class BodySchema:
    """A schema of bodies, with what is known of it before the first one."""

    schema: DataSchema
    """The schema."""

    names: frozenset[str]
    """Its names on the wire."""

    fields: frozenset[str] | None
    """The fields that a client may write, or ``None`` for any."""

    is_renamed: bool
    """``True`` if a field has another name on the wire, be it besides its own."""

    renamed: Mapping[str, str]
    """The names on the wire of fields that do not go by their own."""

    @classmethod
    def of(cls, schema: DataSchema) -> BodySchema:
        """Return a schema as it is used."""
        names = schema.names
        fields = None if schema.others == "allow" else frozenset(names.values())
        renamed = {each: name for name, each in names.items() if each not in names}
        is_renamed = any(name != each for name, each in names.items())
        return cls(schema, frozenset(names), fields, is_renamed, renamed)


def _tried(
    schema: DataSchema, data: Mapping[str, t.Any], *, is_partial: bool = False
) -> tuple[Record, dict[str, Problem]]:
    """Return the converted values of an object, or its problems."""
    try:
        return schema.check(data, is_partial=is_partial), {}
    except InvalidData as error:
        return {}, dict(error.problems)


def _beside(context: HookContext, body: Mapping[str, t.Any]) -> Beside:
    """Return the fate of values of a client whose names a schema does not have."""
    parts: Capabilities = context.service.capabilities

    if not body or parts.beside_schema is None or context.method not in METHODS:
        # An identifier in a body is ignored, since the address tells it.
        ignored = (parts.id,) if context.method in ("update", "patch") else ()
        names = [name for name in body if name not in ignored]
        return Beside(_unknown(names), {})

    is_many = context.method == "patch" and context.id is None
    return parts.beside_schema(context.method, body, context.params, is_many=is_many)


def _unknown(names: Collection[str]) -> dict[str, Problem]:
    return {shortened(name): UNKNOWN_FIELD for name in names}


def _placed(
    problems: Mapping[str, Problem], whole: str, place: str = ""
) -> dict[str, Problem]:
    """Return problems by their paths in a part of a call.

    :param whole: The name of the part, for a problem of all of it.
    :param place: The place in a list. None by default.
    """
    if place:
        return {
            f"{place}.{name}" if name else place: each
            for name, each in problems.items()
        }

    return {name or whole: each for name, each in problems.items()}
