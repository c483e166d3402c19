"""Values on the wire, converted to values of a column and back by its type."""

from __future__ import annotations

import datetime as dt
import typing as t
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator, TypeEngine

from ..problems import Problem

Cast: t.TypeAlias = Callable[[t.Any], t.Any]
Check: t.TypeAlias = Callable[[t.Any], None]
Schema: t.TypeAlias = Mapping[str, t.Any]

NULL_TEXTS: t.Final = ("", "null")
"""The texts that are null, where a column can't hold them."""


class Unreadable(ValueError):
    """The database has a value that its type can't read."""


@dataclass(frozen=True)
class Conversion:
    """Converts the values of one column. Each function raises :class:`ValueError` with
    a phrase that follows the name of the field, such as ``is not a number``.
    """

    cast: Cast
    """Casts a value on the wire to the column's type."""

    check: Check | None = None
    """Refuses a value that the column can't hold."""

    is_text: bool = False
    """``True`` if the column holds text."""

    null_texts: Collection[str] = NULL_TEXTS
    """The texts that stand for null."""

    is_ordered: bool = True
    """``True`` if values are less or greater than others."""

    is_sorted: bool = True
    """``True`` if records can be sorted by them."""

    reads_json: bool = False
    """``True`` if text in a query is JSON text."""

    is_null_only: bool = False
    """``True`` if values can't be compared, but with null."""

    compared_by_database: bool = False
    """``True`` if only the database can compare values."""

    has_item: Callable[[t.Any, t.Any], t.Any] | None = None
    """Returns the condition that the list in a column has an item. ``None`` for types
    that have no lists whose items are compared.
    """

    select: Callable[[t.Any], t.Any] | None = None
    """Returns the expression that is selected for a column, where that is not the
    column itself.
    """

    show: Cast | None = None
    """Returns the value on the wire of a value that was selected, where the application
    defines it. It may raise :class:`Unreadable`.
    """

    schema: Schema = field(default_factory=dict)
    """The JSON Schema of the values on the wire, other than null. Empty if they may be
    anything, such as what a driver makes of a type that only it knows.
    """

    doubt: t.Literal["", "untried", "one-way"] = ""
    """The reason why the values of a type of the application have no certain form:
    ``untried`` if no value was found that it takes, ``one-way`` if it gives back others
    than it takes, so that they must not be shown.
    """

    def selected(self, name: str, expression: t.Any) -> t.Any:
        """Return the expression that is selected for a field.

        :param expression: The column, or the attribute of the model.
        """
        if self.select is None:
            return expression

        return self.select(expression).label(name)


def nullable(schema: Schema) -> Schema:
    """Return the JSON Schema of values that may be null."""
    if not isinstance(schema.get("type"), str):
        return schema if not schema else {"anyOf": [schema, {"type": "null"}]}

    enum = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **enum}


def is_json(type_: t.Any) -> bool:
    """Return ``True`` if a column type holds JSON documents, plain or decorated."""
    is_own = isinstance(type_, TypeDecorator)
    return is_json(type_.impl_instance) if is_own else isinstance(type_, sa.JSON)


def python_type(type_: t.Any) -> type[t.Any] | None:
    """Return the class of the values of a column, if it is known."""
    try:
        class_ = type_.python_type
    except NotImplementedError:
        return None

    return class_ if isinstance(class_, type) else None


def is_same(sent: t.Any, stored: t.Any) -> bool:
    """Return ``True`` for values that are the same once a client has read and sent
    them: JavaScript cuts times to milliseconds, and numbers to 53 bits.
    """
    if isinstance(sent, int) and isinstance(stored, int):
        return float(sent) == float(stored)

    return bool(_in_milliseconds(sent) == _in_milliseconds(stored))


def _in_milliseconds(value: t.Any) -> t.Any:
    if not isinstance(value, dt.datetime):
        return value

    return value.replace(microsecond=value.microsecond // 1000 * 1000)


@dataclass(frozen=True)
class Converter:
    """The form on the wire of a type, or of a field, of the application:

    .. code-block:: python

        SQLAlchemyService(Offer, converters={MoneyType: Converter(Money.parse, str)})
    """

    read: t.Callable[[t.Any], t.Any] | None = None
    """Returns the value for the column of a JSON value, or of text in a query. It also
    gets what hooks and calls in Python give. The text of a :exc:`ValueError` is
    shown in a 400. By default, values are read like any value of the type.
    """

    show: t.Callable[[t.Any], t.Any] = str
    """Returns the JSON value of a value of the column."""

    schema: Mapping[str, t.Any] = field(default_factory=dict)
    """The JSON Schema of the values on the wire."""


Converters: t.TypeAlias = Mapping[str | type[t.Any], Converter]


def converters_of(option: t.Any) -> Converters:
    """Return the converters of an option.

    :raises TypeError: The option has another form.
    """
    items = option.items() if isinstance(option, Mapping) else [(None, None)]

    for key, value in items:
        is_type = isinstance(key, type) and issubclass(key, TypeEngine)

        if not (is_type or isinstance(key, str)) or not isinstance(value, Converter):
            raise TypeError(
                "'converters' maps types of columns, or names of fields, to"
                " converters: converters={MoneyType: Converter(Money.parse, str)}, not"
                f" {option!r}."
            )

    return t.cast("Converters", option)


def converter_for(
    converters: Converters, name: str, type_: TypeEngine[t.Any]
) -> Converter | None:
    """Return the converter of a field, by its name or else by the type of its column,
    or ``None`` if there is none.
    """
    keys: tuple[str | type[t.Any], ...] = (name, *type(type_).__mro__)
    return next((converters[key] for key in keys if key in converters), None)


def converted(conversion: Conversion, converter: Converter) -> Conversion:
    """Return the conversion of a field that has a converter.

    :param conversion: The conversion of the type of the column.
    """
    form: dict[str, t.Any] = {
        "show": converter.show,
        "schema": converter.schema,
        "doubt": "",
    }
    read_own = converter.read

    if read_own is None:
        return replace(conversion, select=None, **form)

    def read(value: t.Any) -> t.Any:
        try:
            return read_own(value)
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            # Other errors may reveal the code of the application.
            is_meant = type(error) is ValueError and error.args
            problem = Problem.of(error) if is_meant else Problem("is not valid")
            raise ValueError(problem) from error

    return Conversion(
        read,
        null_texts=conversion.null_texts,
        is_ordered=conversion.is_ordered,
        is_sorted=conversion.is_sorted,
        is_null_only=conversion.is_null_only,
        compared_by_database=True,
        **form,
    )
