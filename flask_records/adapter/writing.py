"""From the body of a call to an instance of the model."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from itertools import islice

import sqlalchemy as sa

from ..errors import BadRequest
from ..query.bounds import MAX_ERRORS
from ..query.bounds import MORE_ERRORS
from ..query.values import is_json

if t.TYPE_CHECKING:
    from ..query import Field
    from ..query import Fields
    from ..typing import Record

SHOWN_PROBLEMS: t.Final = 5
"""How many problems the message of an error tells. Its ``errors`` has more."""

KEEP: t.Final = object()
"""What stands for the default of a field that only the database knows."""


class Writer:
    """Checks bodies, and writes them to instances.

    :param fields: The fields that the caller knows of.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._model = fields.model
        self._init_names = _init_names(fields.model)
        self._needed = _needed_by(fields.model)
        self.has_constructor = _has_constructor(fields)
        """Whether the model has another constructor than that of SQLAlchemy."""
        # The model may itself fill in what a body leaves out.
        self._fills_in = self.has_constructor or bool(
            fields.mapper.dispatch.before_insert
        )

    def created(self, data: t.Any, sent: Collection[str]) -> list[Record]:
        """Return the values of new records.

        :param data: The body of one, or a list of such.
        :param sent: The names in it that a client has sent.
        :raises BadRequest: Any of the bodies is wrong. The problems are told together,
            and those after the first :data:`.MAX_ERRORS` are not looked for.
        """
        every = []
        problems: dict[str, str] = {}

        for place, body in enumerate(data if isinstance(data, list) else [data]):
            values, errors = self._fields.values(
                _mapping("create", body), sent=sent, new=True
            )

            for name in self._missing({*body, *values}):
                errors[name] = "is required"

            for name, why in errors.items():
                problems[f"{place}.{name}" if isinstance(data, list) else name] = why

            if len(problems) > MAX_ERRORS:
                break

            every.append(values)

        _refuse(problems)
        return every

    def replaced(self, body: t.Any, sent: Collection[str]) -> Record:
        """Return the values of an update: those of the body, and null or the default
        for the fields that it leaves out.

        :param body: The body.
        :param sent: The names in it that a client has sent.
        :raises BadRequest: The body is wrong. All problems are told together.
        """
        values, errors = self._fields.values(
            _mapping("update", body), sent=sent, skip=self._fields.fixed, new=True
        )

        for field in self._fields.replaceable():
            if field.name in values or field.name in errors:
                continue

            value = _default_of(field)

            if value is None and not field.is_nullable:
                errors[field.name] = "is required"
            elif value is not KEEP:
                values[field.name] = value

        _refuse(errors)
        return values

    def merged(self, body: t.Any, sent: Collection[str]) -> Record:
        """Return the values of a patch.

        :param body: The body.
        :param sent: The names in it that a client has sent.
        :raises BadRequest: The body is wrong. All problems are told together.
        """
        values, errors = self._fields.values(
            _mapping("patch", body), sent=sent, skip=self._fields.fixed, new=False
        )
        _refuse(errors)
        return values

    def instance(self, values: Record) -> t.Any:
        """Return a new instance of the model.

        :raises BadRequest: A validator of the model refuses a value.
        """
        given, rest = self._split(values)

        try:
            instance = self._model(**given)
        except ValueError as error:
            raise BadRequest(f"The data is not valid: {error}") from error

        self.assign(instance, rest)
        return instance

    def _missing(self, given: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and is not given."""
        if not self._fills_in:
            return self._fields.missing(given)

        return [name for name in self._needed if name not in given]

    def _split(self, values: Record) -> tuple[Record, Record]:
        """Return the values that the constructor takes, and the others."""
        if not self.has_constructor:
            return {}, values

        if self._init_names is None:
            return _with_json_null(self._fields, values), {}

        given = {name: values.get(name) for name in self._init_names}
        return given, {k: v for k, v in values.items() if k not in given}

    def assign(self, instance: t.Any, values: Record) -> None:
        """Set the attributes of an instance.

        :raises BadRequest: A validator of the model refuses a value.
        """
        for name, value in _with_json_null(self._fields, values).items():
            try:
                setattr(instance, name, value)
            except ValueError as error:
                raise BadRequest(
                    f"'{name}' is not valid: {error}", errors={name: str(error)}
                ) from error


def _mapping(method: str, body: t.Any) -> Mapping[str, t.Any]:
    if not isinstance(body, Mapping):
        raise BadRequest(f"First parameter for '{method}' must be an object")

    return body


def _refuse(problems: Mapping[str, str]) -> None:
    if not problems:
        return

    errors = dict(islice(problems.items(), MAX_ERRORS))
    told = [f"'{name}' {why}" for name, why in errors.items()]
    text, more = ", ".join(told[:SHOWN_PROBLEMS]), len(told) - SHOWN_PROBLEMS

    if len(problems) > MAX_ERRORS:
        errors[MORE_ERRORS] = "and more"
        text += " and more"
    elif more > 0:
        text += f" and {more} more"

    raise BadRequest(f"The data is not valid: {text}.", errors=errors)


def _init_names(model: type[t.Any]) -> list[str] | None:
    """Return the names that the model is made with, or ``None`` if it takes any."""
    parameters = inspect.signature(model).parameters.values()

    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None

    return [parameter.name for parameter in parameters]


def _needed_by(model: type[t.Any]) -> list[str]:
    """Return the names that a model can't be made without."""
    return [
        parameter.name
        for parameter in inspect.signature(model).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind is not parameter.VAR_KEYWORD
    ]


def _has_constructor(fields: Fields) -> bool:
    """Whether the model has another constructor than that of SQLAlchemy."""
    constructor = fields.mapper.class_manager.original_init
    return not constructor.__module__.startswith("sqlalchemy.")


def _with_json_null(fields: Fields, values: Record) -> Record:
    # SQLAlchemy stores None in a JSON column as the JSON value null.
    nulls = {
        name: sa.null()
        for name, value in values.items()
        if value is None and is_json(fields.mapper.columns[name].type)
    }
    return {**values, **nulls} if nulls else values


def _default_of(field: Field) -> t.Any:
    """Return the value that an update gives a field that the body leaves out."""
    column = field.column.property.columns[0]

    if column.onupdate is not None or column.server_onupdate is not None:
        return KEEP

    default, server_default = column.default, column.server_default

    if default is None and server_default is None:
        return None

    if default is not None and default.is_scalar:
        return default.arg

    if default is not None and default.is_callable:
        # SQLAlchemy wraps a function that takes no context.
        return default.arg(None) if hasattr(default.arg, "__wrapped__") else KEEP

    expression = getattr(
        default if default is not None else server_default, "arg", None
    )

    if isinstance(expression, str):
        return sa.text("'{}'".format(expression.replace("'", "''").replace(":", r"\:")))

    return KEEP if expression is None else expression
