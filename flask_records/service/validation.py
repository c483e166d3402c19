"""The calls of a service, checked by schemas."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..context import names_of_bodies
from ..errors import not_an_object
from ..names import BODIES, METHODS
from ..pagination import Page
from ..problems import Problem, READ_ONLY, UNKNOWN_FIELD
from ..query.bounds import MAX_ERRORS, refuse, shortened
from ..validation.schema import InvalidData

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from ..context import HookContext
    from ..typing import Record
    from ..validation import DataSchema, MethodSchemas

CHANGES: t.Final = ("update", "patch")
"""The methods whose data changes a record."""

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
        self.has_data = self._body is not None
        """``True`` if there is a schema of the data."""
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

        if params.provider is None:
            return

        params._state.schema_fields = body.fields

        if body.has_aliases or body.schema.others == "ignore":
            fields, kept = body.schema.names, names_of_bodies(context.data)
            sent = {fields.get(name, name) for name in params._state.client_fields}
            # A hook may write what a client has sent in vain.
            params._state.client_fields = kept.intersection(sent)

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
            others, problems_of_others = _checked_others(context, body, others)
            problems |= problems_of_others

        if problems:
            raise InvalidData(problems)

        return {**values, **others}


def check_types(context: HookContext) -> None:
    """Refuse the data of a client if values are not of the type of their field, so that
    hooks do not meet them.

    :raises BadRequest: There is one, or a body is not an object.
    """
    if context.method not in BODIES or context.data is None:
        return

    data = context.data
    problems: dict[str, Problem] = {}
    is_list = context.method == "create" and isinstance(data, list)

    for index, body in enumerate(data if is_list else [data]):
        if not isinstance(body, dict):
            raise not_an_object(context.method)

        misfits = _misfits(context, body)
        problems |= _placed(misfits, "data", str(index) if is_list else "")

        if len(problems) > MAX_ERRORS:
            break

    refuse(problems)


def _misfits(context: HookContext, body: Record) -> dict[str, Problem]:
    """Return the problems of values that are not of the type of their field."""
    if context.method not in METHODS:
        return {}

    find = context.service.capabilities.body_problems
    return find(context.method, body, context.params)


@dataclass(frozen=True)
class BodySchema:
    """A schema of bodies, with what is known of it before the first one."""

    schema: DataSchema
    """The schema."""

    names: frozenset[str]
    """Its names on the wire."""

    fields: frozenset[str] | None
    """The fields that a client may write, or ``None`` for any."""

    renamed: Mapping[str, str]
    """The names on the wire of fields that do not go by their own."""

    has_aliases: bool
    """``True`` if there are names on the wire that no field has."""

    @classmethod
    def of(cls, schema: DataSchema) -> BodySchema:
        """Return a schema as it is used."""
        names = schema.names
        fields = None if schema.others == "allow" else frozenset(names.values())
        renamed = {each: name for name, each in names.items() if each not in names}
        has_aliases = any(name != each for name, each in names.items())
        return cls(schema, frozenset(names), fields, renamed, has_aliases)


def _tried(
    schema: DataSchema, data: Mapping[str, t.Any], *, is_partial: bool = False
) -> tuple[Record, dict[str, Problem]]:
    """Return the converted values of an object, or its problems."""
    try:
        return schema.check(data, is_partial=is_partial), {}
    except InvalidData as error:
        return {}, dict(error.problems)


def _checked_others(
    context: HookContext, body: BodySchema, others: Record
) -> tuple[Record, dict[str, Problem]]:
    """Return the values of a client whose names a schema does not have, as far as they
    are kept, and their problems.
    """
    client_fields = context.params._state.client_fields
    # Hooks may have added names before the check.
    added = {name: others[name] for name in others if name not in client_fields}
    sent = {name: others[name] for name in others if name not in added}
    # A field must not come in by a name that is not checked.
    problems = _unknown([name for name in sent if name in body.renamed])
    sent = {name: sent[name] for name in sent if name not in body.renamed}

    if body.schema.others == "ignore":
        return added, problems

    if body.schema.others == "allow":
        return added | sent, problems | _misfits(context, sent)

    kept = sent if _is_compared(context) else {}
    return added | kept, problems | _beside(context, sent)


def _is_compared(context: HookContext) -> bool:
    """Return ``True`` if values that a client may not write are compared with those of
    a record.
    """
    is_model = context.service.capabilities.model is not None
    return is_model and context.method in CHANGES and context.id is not None


def _beside(context: HookContext, body: Mapping[str, t.Any]) -> dict[str, Problem]:
    """Return the problems of values of a client whose names a schema does not have."""
    parts = context.service.capabilities
    scope, id = parts.scope_for(context.params), parts.id
    is_own = context.method in METHODS
    known = scope.names if scope is not None and is_own else frozenset()
    allowed: set[str] = set()

    if _is_compared(context):
        allowed |= known | parts.relationships

    # The address tells an identifier, and a new record has none yet.
    if context.method in CHANGES or body.get(id, UNKNOWN_FIELD) is None:
        allowed.add(id)

    return {
        shortened(name): READ_ONLY if name in known else UNKNOWN_FIELD
        for name in body
        if name not in allowed
    }


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
