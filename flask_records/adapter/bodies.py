"""Bodies of calls, checked and cast."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping, Set

from ..errors import not_an_object
from ..problems import Problem, READ_ONLY, REQUIRED, UNKNOWN_FIELD
from ..query.bounds import MAX_ERRORS, shortened
from ..query.refusals import refuse
from ..validation.schema import Beside
from .constructors import Constructor, has_constructor
from .defaults import default_of, KEEP

if t.TYPE_CHECKING:
    from ..query import Fields
    from ..query.body_fields import Body
    from ..typing import Record
    from .related import Relations
    from .view import Views

NOTHING: t.Final[frozenset[str]] = frozenset()


class Bodies:
    """Checks the bodies of one kind of caller, and casts their values.

    :param relations: The relationships that bodies may name.
    """

    def __init__(self, fields: Fields, relations: Relations) -> None:
        self._fields = fields
        self._writable = relations.writable
        self._shown = relations.shown
        self._fixed = frozenset() if fields.composite else fields.fixed
        # The parts of an identifier are fields that a client writes in create.
        self._kept = fields.fixed if fields.composite else frozenset()
        self._required = Constructor(fields).required
        # The model may itself fill in fields that a body leaves out.
        self._fills_in = has_constructor(fields) or bool(
            fields.mapper.dispatch.before_insert
        )

    def created(self, data: t.Any, client_fields: Collection[str]) -> list[Record]:
        """Return the values of new records.

        :param data: The body of one, or a list of bodies.
        :param client_fields: The names in it that came from a client.
        :raises BadRequest: Any of the bodies is wrong. The problems are told together,
            and those after the first :data:`.MAX_ERRORS` are not looked for.
        """
        records: list[Record] = []
        problems: dict[str, Problem] = {}

        for index, body in enumerate(data if isinstance(data, list) else [data]):
            values, errors, _ = self._read(
                _mapping("create", body),
                sent=client_fields,
                skip=self._ignored(body),
                new=True,
            )

            for name in self._missing({*body, *self._set_by_relations(body)}):
                errors[name] = REQUIRED

            for name, problem in errors.items():
                name = f"{index}.{name}" if isinstance(data, list) else name
                problems[name] = problem

            if len(problems) > MAX_ERRORS:
                break

            records.append(values)

        refuse(problems)
        return records

    def replaced(
        self,
        body: t.Any,
        client_fields: Collection[str],
        schema_fields: Collection[str] | None = None,
    ) -> Body:
        """Return the body of an update, with null or the default for the fields that it
        leaves out.

        :param client_fields: The names in it that came from a client.
        :param schema_fields: The fields that the client may write, by a schema. Others
            keep their values.
        :raises BadRequest: The body is not an object.
        """
        replaced = self._read(
            _mapping("update", body),
            sent=client_fields,
            skip=self._fixed | self._populated(body),
            keep=self._kept | _beside(client_fields, schema_fields),
            new=True,
            is_compared=True,
        )
        values, errors, _ = replaced
        others = self._set_by_relations(body)

        for field in self._fields.body.replaceable():
            if field.name in values or field.name in errors or field.name in others:
                continue

            if schema_fields is not None and field.name not in schema_fields:
                continue

            value = default_of(field)

            if value is None and not field.is_nullable:
                errors[field.name] = REQUIRED
            elif value is not KEEP:
                values[field.name] = value

        return replaced

    def merged(
        self,
        body: t.Any,
        client_fields: Collection[str],
        schema_fields: Collection[str] | None = None,
        *,
        is_many: bool = False,
    ) -> Body:
        """Return the body of a patch.

        :param client_fields: The names in it that came from a client.
        :param schema_fields: The fields that the client may write, by a schema.
        :param is_many: ``True`` for a patch of all records that meet a query.
        :raises BadRequest: The body is not an object.
        """
        body = _mapping("patch", body)
        populated = self._ignored(body) if is_many else self._populated(body)
        return self._read(
            body,
            sent=client_fields,
            skip=self._fixed | populated,
            keep=self._kept | _beside(client_fields, schema_fields),
            new=False,
            is_compared=not is_many,
        )

    def _read(self, body: Mapping[str, t.Any], **options: t.Any) -> Body:
        """Return a body, with the identifiers of relationships among its values."""
        if self._writable.keys().isdisjoint(body):
            return self._fields.body.values(body, **options)

        fields = {name: body[name] for name in body if name not in self._writable}
        read = self._fields.body.values(fields, **options)

        for name in body.keys() & self._writable.keys():
            try:
                read.values[name] = self._writable[name].read(body[name])
            except ValueError as error:
                read.errors[name] = Problem.of(error)

        return read

    def _populated(self, body: Mapping[str, t.Any]) -> Set[str]:
        """Return the names under which a body has related records. Front ends send a
        whole record back, with what ``$populate`` has put into it.
        """
        if self._shown.isdisjoint(body):
            return NOTHING

        return {name for name in self._shown & body.keys() if _is_populated(body[name])}

    def _ignored(self, body: Mapping[str, t.Any]) -> Set[str]:
        """Return the names of related records that a body has without a record to
        compare it with.
        """
        return self._populated(body) if self._fields.ignores_readonly else NOTHING

    def _set_by_relations(self, body: Mapping[str, t.Any]) -> Collection[str]:
        """Return the names of the fields that relationships of a body set."""
        named = [each for name, each in self._writable.items() if name in body]
        return {name for relation in named for name in relation.columns}

    def _missing(self, names: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and is not given."""
        if not self._fills_in:
            return self._fields.body.missing(names)

        return [name for name in self._required if name not in names]


def _is_populated(value: t.Any) -> bool:
    """Return ``True`` for values that a relationship can be shown with."""
    others = value if isinstance(value, list) else [value]
    return value is None or all(isinstance(other, Mapping) for other in others)


def _mapping(method: str, body: t.Any) -> Mapping[str, t.Any]:
    if not isinstance(body, Mapping):
        raise not_an_object(method)

    return body


def _beside(
    client_fields: Collection[str], schema_fields: Collection[str] | None
) -> Set[str]:
    """Return the names that a client has sent beside those of a schema."""
    return NOTHING if schema_fields is None else {*client_fields} - {*schema_fields}


def beside_schema(
    views: Views, body: Mapping[str, t.Any], *, is_compared: bool
) -> Beside:
    """Return the fate of values whose names a schema does not have.

    Front ends send whole records back. So values of fields that the schema leaves out
    are taken if the record has them, and are refused as those of read-only fields
    otherwise.

    :param is_compared: ``True`` if there is a record to compare the values with.
    """
    fields, relations = views.fields, views.relations
    beside = Beside({}, {})

    for name, value in body.items():
        is_shown = name in fields.names or name in relations.shown
        is_shown = is_shown and name not in relations.writable

        if is_compared and is_shown:
            beside.compared[name] = value
        elif name not in fields.names:
            beside.problems[shortened(name)] = UNKNOWN_FIELD
        # Front ends send a new record with a null for its identifier.
        elif not (value is None and name == fields.id.name):
            if not fields.body.is_ignored(name):
                beside.problems[name] = READ_ONLY

    return beside
