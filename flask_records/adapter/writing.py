"""Writes by the unit of work of a session, which honours all that a model has."""

from __future__ import annotations

import logging
import typing as t

import sqlalchemy as sa
from sqlalchemy import orm
from werkzeug.exceptions import HTTPException

from ..database.database_errors import not_kept
from ..errors import BadRequest, MethodNotAllowed
from ..problems import NOT_VALID, Problem, READ_ONLY
from ..query.bounds import json_size, refuse
from ..query.paths import key_names
from ..query.plans import Selection
from ..settings import names_of
from .bodies import Constructor, KEEP, SQLDefault
from .references import load_related, RelatedInstances
from .resolved_call import chunks, identifier, max_records

if t.TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..database.driver_cursor import Rows
    from ..service.context import Params
    from ..typing import Record
    from .fast_path import Write
    from .model import Model

# No method updates many records, but section 2.4 of the specification lists it.
MULTI_METHODS: t.Final = ("create", "update", "patch", "remove")

NARROW: t.Final = "Narrow the query, or send a $limit."
"""The cure for a query that finds too many records."""

READ_IN_PYTHON: t.Final = (sa.TypeDecorator, sa.Enum, sa.ARRAY)
"""The types whose code in Python may fail for a stored value."""

NOT_MAPPED: t.Final = (AssertionError, sa.exc.InvalidRequestError)
"""The errors of SQLAlchemy for a discriminator of no mapped class, and for null."""

UNKNOWN_CLASS: t.Final = "A record whose class is not mapped can only be read."

FAILURE: t.Final = "The code of '%s' has failed for the data of a client."

logger = logging.getLogger(__package__)


def multi_of(multi: bool | Collection[str]) -> frozenset[str]:
    """Return the methods that take many records."""
    methods = MULTI_METHODS if multi is True else multi or ()
    names = frozenset(names_of("multi", methods))

    for name in names.difference(MULTI_METHODS):
        raise ValueError(
            f"'multi' names '{name}'. It takes some of these:"
            " multi=['create', 'patch', 'remove']."
        )

    return names


def check_number(method: str, params: Params, number: int) -> None:
    """Refuse a call on more records than a client may write at once."""
    limit = max_records(params)

    if limit is not None and number > limit:
        cure = "Send the list in parts." if method == "create" else NARROW
        raise BadRequest(
            f"Can not {method} more than {limit} records in one call. {cure}"
        )


class UnitOfWork:
    """Writes records through instances of the model, with all that listens to them."""

    def __init__(self, model: Model) -> None:
        self._fields = model.fields
        self._plans = model.plans
        self._served = model.served
        self._constructor = Constructor(model.fields)
        self._keys_of_related = {
            each.key: key_names(each)[0]
            for each in model.fields.mapper.relationships
            if self._constructor.is_own and each.direction is orm.MANYTOONE
        }
        self._read_in_python = tuple(
            [
                field
                for name, field in model.fields.stored.items()
                if isinstance(field.column.type, READ_IN_PYTHON)
                and name in model.fields.columns.keys() - model.fields.fixed
            ]
        )

    def create(self, write: Write) -> list[Record]:
        """Return new records."""
        bodies, session = load_related(self._served, write), write.writing.session
        instances = [
            self._instance(write, values, f"{index}." if write.is_list else "")
            for index, values in enumerate(bodies)
        ]

        with write.writing.of(instances):
            session.add_all(instances)
            _flush(write, write.bodies)

        _check_guarded(write, instances)
        return write.call.records(_read(write, instances))

    def patch(self, write: Write) -> list[Record]:
        """Return the record with its new values, or all that meet the query."""
        instances = self._instances(write)
        write = write._replace(bodies=[self._with_defaults(write)])
        write = write._replace(bodies=load_related(self._served, write))

        _check_guarded(write, instances)
        # To load what a value replaces would write those before it.
        with write.writing.of(instances), write.writing.session.no_autoflush:
            if (answer := write.call.answer_size) is not None:
                answer.add(len(instances) * json_size(write.bodies[0]))

            for instance in instances:
                self._assign(write, instance, write.bodies[0])

            _flush(write, write.bodies)

        return write.call.records(_read(write, instances))

    def _with_defaults(self, write: Write) -> Record:
        """Return the body with the values of defaults that the database computes."""
        body, columns = write.bodies[0], self._fields.columns
        computed = {n: each for n, each in body.items() if isinstance(each, SQLDefault)}

        if not computed:
            return body

        dialect = write.writing.dialect
        values = [
            _evaluate(each.expression, columns[name], dialect)
            for name, each in computed.items()
        ]
        row = write.writing.values_of(values)
        return {**body, **dict(zip(computed, row, strict=True))}

    def remove(self, write: Write) -> list[Record]:
        """Return the record that is removed, or all that meet the query."""
        instances = self._instances(write)
        records = write.call.records(_read(write, instances))

        with write.writing.of(instances):
            for instance in instances:
                write.writing.session.delete(instance)

            _flush(write, [])

        return records

    def _instances(self, write: Write) -> list[t.Any]:
        """Return the instances to write, which nobody else writes until the commit. A
        value that its type can't read does not keep a record from being written.
        """
        call, is_one = write.call, write.id is not None

        if call.query.limit == 0 and not is_one:
            return []

        id = identifier(self._fields, write.id) if is_one else ()

        def load(**options: t.Any) -> list[t.Any]:
            limit = 1 if is_one else write.limit
            plan = self._plans.instances(call.query, limit, id, **options)
            plan = plan if is_one else call.limit_size(plan, _size_of_instances)
            return write.writing.instances(plan)

        try:
            instances = load()
        except Exception as error:
            is_inherited = self._fields.mapper.polymorphic_on is not None

            if is_inherited and type(error) in NOT_MAPPED:
                raise MethodNotAllowed(UNKNOWN_CLASS) from error

            is_other = isinstance(error, (HTTPException, sa.exc.SQLAlchemyError))

            if is_other or not self._read_in_python:
                raise

            instances = load(deferred=self._read_in_python)

        if not is_one:
            check_number(write.method, call.params, len(instances))

        return instances

    def _instance(self, write: Write, values: Record, place: str) -> t.Any:
        arguments: Record = {}

        try:
            if self._constructor.is_own:
                present = {n: _with_instances(each) for n, each in values.items()}
                session = write.writing.session
                arguments = self._constructor.arguments(present, session)

            instance = self._fields.model(**arguments)
        except Exception as error:
            _refuse(write, error)

        # A constructor may ignore an argument.
        present = arguments.keys() & vars(instance).keys()
        rest = {name: values[name] for name in values if name not in present}
        self._assign(write, instance, rest, place)

        # A constructor that has no related record must not undo the key of the body.
        for name, keys in self._keys_of_related.items():
            is_none = vars(instance).get(name, KEEP) is None

            if is_none and any(values.get(key) is not None for key in keys):
                orm.attributes.set_committed_value(instance, name, None)

        return instance

    def _assign(
        self, write: Write, instance: t.Any, values: Record, place: str = ""
    ) -> None:
        """Set the values of an instance.

        :param place: The place of the body, before the names of its fields in errors.
        """
        for name, value in values.items():
            full = f"{place}{name}"

            try:
                if isinstance(value, RelatedInstances):
                    value.set(instance)
                else:
                    setattr(instance, name, value)
            except Exception as error:
                _refuse(write, error, full)


def _check_guarded(write: Write, instances: Sequence[t.Any]) -> None:
    """Refuse values that a client may not write to the records of instances, which are
    new ones, or as they are stored. The value that a record has already is accepted, if
    the client sees it.
    """
    guards, visible, problems = write.call.guards, write.call.scope.plain, {}
    is_new, model = write.method == "create", write.call.model

    if not guards:
        return

    bodies = write.bodies if is_new else [*write.bodies] * len(instances)
    paths = model.paths

    if is_new:
        parts = model.fields.identifying
        ids = [[getattr(new, part.name) for part in parts] for new in instances]
        paths = model.paths_beside(ids if len(parts) > 1 else [id for [id] in ids])

    selection = Selection((), conditions=model.conditions(guards, paths))
    rows = _read(write, instances, selection)

    for index, (body, row) in enumerate(zip(bodies, rows, strict=True)):
        for name, is_met in zip(guards, row, strict=False):
            if is_met or name not in body:
                continue

            value = getattr(instances[index], name)

            # A client that can't read a field must not be able to probe its value.
            if is_new or name not in visible or value != body[name]:
                place = f"{index}." if write.is_list else ""
                problems[f"{place}{name}"] = READ_ONLY

    refuse(problems)


def _with_instances(value: t.Any) -> t.Any:
    return value.instances if isinstance(value, RelatedInstances) else value


def _evaluate(
    expression: t.Any, column: sa.Column[t.Any], dialect: sa.Dialect
) -> sa.ColumnElement[t.Any]:
    """Return an expression for the value of a default in a column."""
    type_: t.Any = column.type

    # SQLAlchemy reads but a part of some defaults there.
    if getattr(dialect, "is_mariadb", False) and column.default is None:
        return sa.func.default(column, type_=type_)

    is_number = issubclass(type_._type_affinity, (sa.Integer, sa.Numeric))
    is_temporal = issubclass(type_._type_affinity, (sa.Date, sa.DateTime, sa.Time))
    is_cast = is_number if dialect.name == "sqlite" else is_temporal

    if is_cast or dialect.name == "postgresql":
        return sa.cast(expression, type_)

    # A type would bind a text as a value of Python, and not read it as a stored one.
    return sa.type_coerce(sa.select(expression).scalar_subquery(), type_)


def _flush(write: Write, bodies: Sequence[Record]) -> None:
    """Write the changes of instances. A ``ValueError`` of a listener is a 400."""
    try:
        write.writing.flush(bodies)
    except ValueError as error:
        _refuse(write, error)


def _refuse(write: Write, error: Exception, name: str = "") -> t.NoReturn:
    """Raise the error of the client for one that the code of the model has raised for a
    field, or that error if it is not the client's.
    """
    is_meant, model = isinstance(error, ValueError), write.call.model.fields.model
    is_client = write.call.params.provider is not None
    is_other = isinstance(error, (HTTPException, sa.exc.SQLAlchemyError))

    if is_other or not (is_meant or is_client):
        raise error

    # Other errors may reveal the code of the application.
    problem = Problem.of(error) if is_meant else NOT_VALID
    reason = f": {problem}" if is_meant else "."

    if not is_meant:
        logger.warning(FAILURE, model.__name__, exc_info=error)

    about = f"'{name}'" if name else "The data"
    errors = {name: problem} if name else {}
    raise BadRequest(f"{about} is not valid{reason}", errors=errors) from error


def _size_of_instances(rows: Rows) -> int:
    return json_size([vars(instance) for (instance,) in rows])


def _read(
    write: Write, instances: Sequence[t.Any], selection: Selection | None = None
) -> Rows:
    """Return the rows of instances, in their order."""
    model, selection = write.call.model, selection or write.call.selection
    identify = model.fields.mapper.primary_key_from_instance
    keys = [tuple(identify(instance)) for instance in instances]
    length = len(model.fields.primary_key)

    def read(part: Sequence[tuple[t.Any, ...]]) -> Rows:
        values = part if length > 1 else [key[0] for key in part]
        return write.writing.rows(model.plans.records_by_key(selection, values))

    rows = {tuple(row[-length:]): row for part in chunks(keys) for row in read(part)}

    # A type, or the database, may read a key in another form than it was written in.
    for key in keys:
        if key not in rows:
            part = read([key])

            if len(part) != 1:
                raise not_kept(model.fields)

            rows[key] = part[0]

    return [rows[key] for key in keys]
