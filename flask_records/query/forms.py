"""The forms on the wire of types of the application, found by trying each type once.

A value of a class that Python has is its own form: the text of an encrypted column, a
document, a time. A type of objects has none, and neither has one that gives back other
values than it takes, as a hash does.
"""

from __future__ import annotations

import datetime as dt
import enum
import typing as t
import uuid
from contextlib import suppress
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeDecorator
from werkzeug.datastructures import FileStorage

from ..problems import NOT_VALID
from .conversions import as_naive_moment, Cast, python_type, Unreadable

PLAIN: t.Final = (
    *(str, bytes, bool, int, float, Decimal, list, dict, uuid.UUID),
    *(dt.datetime, dt.date, dt.time, dt.timedelta),
)
"""The classes of values that are their own form."""

MOMENT: t.Final = dt.datetime(2026, 1, 1)
ZONED: t.Final = MOMENT.replace(tzinfo=dt.UTC)

# A document stands before its text, and no number has a fraction to round.
SAMPLES: t.Final[tuple[t.Any, ...]] = (
    *({"a": [1]}, ["a"], [1], "sample-text-1", 5, 4, True, 5.0, Decimal(5)),
    *(MOMENT, ZONED, MOMENT.date(), MOMENT.time(), dt.timedelta(days=1)),
    *(uuid.UUID(int=2**127), b"bytes"),
    *("US", "USD", "en", "UTC", "Europe/Paris", "red", "127.0.0.1", "+12125552368"),
    *("a@example.com", "https://example.com/"),
)
"""The values that a type is tried with, the last ones texts that it may check."""

NUMBERS: t.Final = (int, float, Decimal)

STORED: t.Final[dict[type[t.Any], tuple[type[t.Any], ...]]] = {
    **dict.fromkeys(NUMBERS, NUMBERS),
    **dict.fromkeys((uuid.UUID, getattr(postgresql, "BitString", str)), (str,)),
}
"""The classes of further values that columns of values of a class store."""


class Trial:
    """A type of the application that is tried on a database."""

    def __init__(self, type_: TypeDecorator[t.Any], dialect: sa.Dialect) -> None:
        self.impl = impl = type_.load_dialect_impl(dialect)
        """The type of the values that the database has."""

        while isinstance(impl, TypeDecorator):
            impl = impl.load_dialect_impl(dialect)

        self.stores_documents = isinstance(impl, sa.JSON)
        self.stored_class = None if self.stores_documents else python_type(impl)
        """The class of these values, if they are all of one that is known."""
        self._bind = _processor(type_, "process_bind_param", dialect)
        self._result = _processor(type_, "process_result_value", dialect)
        # The times of a column with a zone have one, if its type leaves the choice.
        is_zoned = bool(getattr(impl, "timezone", False))
        samples = sorted(SAMPLES, key=lambda each: each is ZONED, reverse=is_zoned)
        forms = map(self._form_of, samples)
        self.form = next((each for each in forms if each is not None), None)
        """The first value that came back, if any did."""

    @property
    def is_random(self) -> bool:
        """``True`` if it binds equal values differently, so that none is found."""
        return bool(self._bind(self.form) != self._bind(self.form))

    def reader(self, cast: Cast) -> Cast:
        """Return a function that reads a value on the wire, or one of the model, and
        raises :class:`ValueError`, whatever the type raises.

        :param cast: Casts a value on the wire to the class of the forms.
        """

        def read(value: t.Any) -> t.Any:
            # A call in Python may have an object.
            if is_plain(value) or isinstance(value, FileStorage):
                value = cast(value)

            try:
                again = self._result(self._bind(value))
            except Exception as error:
                raise ValueError(NOT_VALID) from error

            if again is None:
                raise ValueError(NOT_VALID)

            return value if is_plain(value) else again

        return read

    def show(self, stored: t.Any) -> t.Any:
        """Return the form of a value that the database has.

        :raises Unreadable: The type can't read it, or it has no form.
        """
        try:
            form = self._result(stored)
        except Exception as error:
            raise Unreadable(repr(error)) from error

        # A driver has objects for types that only the database knows.
        if form is None or form is stored or is_plain(form):
            return form

        raise Unreadable(f"it is an object of the class {type(form).__name__}")

    def _form_of(self, sample: t.Any) -> t.Any:
        """Return a sample as it is read from the database, if that comes back."""
        with suppress(Exception):
            form = self._result(self._bind(sample))
            stored = self._bind(form)
            again = self._result(stored)

            if is_plain(form) and self._fits(stored) and _is_equal(again, form):
                return form

        return None

    def _fits(self, stored: t.Any) -> bool:
        """Return ``True`` if the type below stores a value as it is."""
        class_ = self.stored_class

        # A type that only the database knows is an object for SQLAlchemy.
        if class_ in (None, object):
            return self.stores_documents or not isinstance(stored, (dict, list))

        return isinstance(stored, (class_, *STORED.get(class_, ())))


def is_tried(type_: TypeDecorator[t.Any]) -> bool:
    """Return ``True`` for a type that converts values in Python, and none in SQL."""
    names = ("process_bind_param", "process_result_value")
    return (
        any(_has_own(type_, name) for name in names)
        and not _converts_in_sql(type_)
        # Values of an enum are members, and texts in the database.
        and not isinstance(type_.impl_instance, sa.Enum)
    )


def _converts_in_sql(type_: TypeDecorator[t.Any]) -> bool:
    parameter, column = sa.bindparam("value", type_=type_), sa.column("value", type_)
    # A type may have such a method for other databases, or for some of its options.
    bound, selected = type_.bind_expression(parameter), type_.column_expression(column)
    is_plain_value = bound is None or bound is parameter
    return not is_plain_value or not (selected is None or selected is column)


def _has_own(type_: TypeDecorator[t.Any], name: str) -> bool:
    return getattr(type(type_), name) is not getattr(TypeDecorator, name)


def _processor(type_: TypeDecorator[t.Any], name: str, dialect: sa.Dialect) -> Cast:
    process = getattr(type_, name)
    is_own = _has_own(type_, name)
    return lambda value: process(value, dialect) if is_own else value


def is_plain(value: t.Any) -> bool:
    """Return ``True`` for a value that is its own form."""
    return isinstance(value, PLAIN) and not isinstance(value, enum.Enum)


def class_of(value: t.Any) -> type[t.Any]:
    """Return the plain class of a plain value."""
    return next(each for each in type(value).__mro__ if each in PLAIN)


def _is_equal(value: t.Any, other: t.Any) -> bool:
    """Return ``True`` for values that are equal, but for zones and for case."""
    if isinstance(value, dt.datetime) and isinstance(other, dt.datetime):
        return as_naive_moment(value) == as_naive_moment(other)

    if type(value) is type(other) is str:
        return bool(value.casefold() == other.casefold())

    return bool(value == other)
