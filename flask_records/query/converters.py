"""Conversions that the application defines for types and fields of its own."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..problems import Problem
from .values import anything, Conversion


@dataclass(frozen=True)
class Converter:
    """The form on the wire of a type, or of a field, of the application:

    .. code-block:: python

        SQLAlchemyService(Offer, converters={Money: Converter(Money.parse, str)})
    """

    read: t.Callable[[t.Any], t.Any]
    """Returns the value for the column of a JSON value, or of text in a query. It also
    gets what hooks and calls in Python give. The text of a :exc:`ValueError` is that of
    a 400.
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
    is_mapping = isinstance(option, Mapping)

    for key, value in option.items() if is_mapping else [(None, None)]:
        if not isinstance(key, (str, type)) or not isinstance(value, Converter):
            raise TypeError(
                "'converters' maps types, or names of fields, to converters:"
                f" converters={{Money: Converter(Money.parse, str)}}, not {option!r}."
            )

    return t.cast("Converters", option)


def converter_for(
    converters: Converters, name: str, type_: t.Any
) -> tuple[Converter | None, type[t.Any] | None]:
    """Return the converter of a field, if there is one, and the class of its values if
    that is known. That of its name comes first, then that of the type of its column,
    then that of the Python type of this.
    """
    python_type = _python_type(type_)

    if name in converters:
        return converters[name], None

    for base in type(type_).__mro__:
        if base in converters:
            return converters[base], python_type

    for base in () if python_type is None else python_type.__mro__:
        if base in converters:
            return converters[base], base

    return None, None


def converted(
    conversion: Conversion, converter: Converter, class_: type[t.Any] | None
) -> Conversion:
    """Return the conversion of a field that has a converter.

    :param conversion: The conversion of the type of the column.
    :param class_: The class of its values, which are taken as they are.
    """

    def read(value: t.Any) -> t.Any:
        if class_ not in (None, str) and isinstance(value, t.cast(type, class_)):
            return value

        try:
            return converter.read(value)
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise ValueError(_problem(error)) from error

    return replace(
        conversion,
        cast=read,
        check=anything,
        is_text=False,
        null_texts=() if conversion.is_text else conversion.null_texts,
        from_text=None,
        is_foreign=False,
        compared_by_database=True,
        select=None,
        show=converter.show,
        schema=converter.schema,
    )


def _problem(error: Exception) -> Problem:
    # Other errors may tell of the code of the application.
    is_meant = type(error) is ValueError and error.args
    return Problem.of(error) if is_meant else Problem("is not valid")


def _python_type(type_: t.Any) -> type[t.Any] | None:
    try:
        python_type = type_.python_type
    except NotImplementedError:
        return None

    return python_type if isinstance(python_type, type) else None
