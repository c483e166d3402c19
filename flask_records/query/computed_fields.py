"""Fields of answers that functions of the application compute."""

from __future__ import annotations

import inspect
import types
import typing as t
from collections.abc import Collection, Mapping, Sequence

from ..errors import BadRequest
from ..problems import NOT_IN_QUERIES
from ..signals import call
from .types import conversion_of_class
from .values import nullable

if t.TYPE_CHECKING:
    from ..typing import Computation, Record
    from .field import Field
    from .values import Schema

UNIONS: t.Final = (t.Union, types.UnionType)

FORM: t.Final = """\
'computed' maps names of fields to functions of a list of records that return a list \
of values: computed={{"fullName": full_names}}, not {value!r}.\
"""

WRONG_LENGTH: t.Final = """\
The function of '{name}' in 'computed' has to return a list with a value for each of \
{number} records, not {values!r}.\
"""


class ComputedField(t.NamedTuple):
    """A field of answers that a function of the application computes."""

    name: str
    """Its name."""

    function: Computation
    """Returns the values for some records, in their order."""

    schema: Schema
    """The JSON Schema of the values, and the description of the field."""

    def values(self, records: Sequence[Record]) -> Sequence[t.Any]:
        """Return the values for some records. The function is called once, and not at
        all if there are none.

        :raises RuntimeError: The function does not return a value for each record.
        """
        if not records:
            return ()

        values = call(self.function, list(records))

        if not isinstance(values, (list, tuple)) or len(values) != len(records):
            raise RuntimeError(
                WRONG_LENGTH.format(name=self.name, number=len(records), values=values)
            )

        return values


class Shown(t.NamedTuple):
    """The parts of the records of a query."""

    selected: tuple[Field, ...]
    """The fields to select: those that are shown, and those to compute others from."""

    computed: tuple[ComputedField, ...] = ()
    """The fields to compute."""

    unshown: tuple[str, ...] = ()
    """The names of selected fields that the records do not show."""


def not_in_queries(name: str) -> BadRequest:
    """Return the error for a query that filters or sorts by a computed field."""
    return BadRequest(
        f"'{name}' is computed, so that it can't be filtered or sorted by.",
        errors={name: NOT_IN_QUERIES},
    )


def computed_fields(option: t.Any) -> Mapping[str, ComputedField]:
    """Return the fields of an option, by name.

    :raises TypeError: The option has another form.
    """
    if not isinstance(option, Mapping):
        raise TypeError(FORM.format(value=option))

    return {name: _field(name, function) for name, function in option.items()}


def _field(name: t.Any, function: t.Any) -> ComputedField:
    if not isinstance(name, str) or name.startswith("$") or not callable(function):
        raise TypeError(FORM.format(value={name: function}))

    schema = _schema_of_items(function)
    doc = inspect.getdoc(function) if inspect.isroutine(function) else None
    return ComputedField(
        name, function, {**schema, "description": doc} if doc else schema
    )


def _schema_of_items(function: t.Any) -> Schema:
    """Return the JSON Schema of the items of the list that a function says it returns:
    a type of columns, or one of these or null. Empty for others.
    """
    try:
        hint = t.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return {}

    if t.get_origin(hint) not in (list, Sequence):
        return {}

    [item] = t.get_args(hint)
    members = t.get_args(item) if t.get_origin(item) in UNIONS else [item]
    classes = [each for each in members if each is not types.NoneType]
    class_ = t.get_origin(classes[0]) or classes[0]
    conversion = conversion_of_class(class_) if len(classes) == 1 else None
    schema = conversion.schema if conversion else {}
    return nullable(schema) if len(members) > len(classes) else schema


def compute(records: Sequence[Record], fields: Collection[ComputedField]) -> None:
    """Add computed fields to records. No function sees the value of another one.

    :raises RuntimeError: A function does not return a value for each record.
    """
    columns = [(field.name, field.values(records)) for field in fields]

    for name, values in columns:
        for record, value in zip(records, values, strict=True):
            record[name] = value
