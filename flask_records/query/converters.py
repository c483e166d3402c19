"""Converters: the forms on the wire that an application gives its values."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlalchemy.types import TypeEngine

from ..problems import Problem
from .conversions import Conversion


@dataclass(frozen=True)
class Converter:
    """The form on the wire of a type, or of a field, of the application, such as
    ``converters={MoneyType: Converter(Money.parse, str)}``.
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


def apply_converter(conversion: Conversion, converter: Converter) -> Conversion:
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
