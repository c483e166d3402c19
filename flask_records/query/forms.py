"""The forms on the wire of types of the application, found by trying each type once.

A value of a class that Python has is its own form: the text of an encrypted column, a
document, a time. The form of an object, such as a country, is the value that its type
binds, if an equal object comes back from it.
"""

from __future__ import annotations

import datetime as dt
import enum
import typing as t
import uuid
from contextlib import suppress
from decimal import Decimal
from itertools import chain

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator
from werkzeug.datastructures import FileStorage

from ..problems import no_choice, NOT_VALID
from .conversions import as_naive_moment, Cast, python_type, Unreadable

if t.TYPE_CHECKING:
    Pair: t.TypeAlias = tuple[t.Any, t.Any]
    """The form of a value, and the value."""

PLAIN: t.Final = (
    *(str, bytes, bool, int, float, Decimal, list, dict, uuid.UUID),
    *(dt.datetime, dt.date, dt.time, dt.timedelta),
)
"""The classes of values that are their own form."""

UNKNOWN: t.Final = "sample-text-1"
"""A text that no list of choices has."""

MOMENT: t.Final = dt.datetime(2026, 1, 1)
ZONED: t.Final = MOMENT.replace(tzinfo=dt.UTC)

# A document stands before its text, a date before a time, and no number has a fraction
# to round.
SAMPLES: t.Final[tuple[t.Any, ...]] = (
    *({"a": [1]}, ["a"], [1], UNKNOWN, 5, True, 5.0, Decimal(5)),
    *(MOMENT.date(), MOMENT, ZONED, MOMENT.time(), dt.timedelta(days=1)),
    *(uuid.UUID(int=2**127), b"bytes"),
    *("US", "USD", "en", "UTC", "Europe/Paris", "red", "127.0.0.1", "+12125552368"),
    *("1010101", "[1,5)", "[2026-01-01,2026-02-01)"),
    *("a@example.com", "https://example.com/"),
)
"""The values that a type is tried with, the last ones texts that stand for objects."""

COERCED: t.Final = (int, float, Decimal, uuid.UUID)
"""The classes of columns that take values of other classes, and give back their own."""


class Trial:
    """A type of the application that is tried on a database."""

    def __init__(self, type_: TypeDecorator[t.Any], dialect: sa.Dialect) -> None:
        self.impl = impl = type_.load_dialect_impl(dialect)
        """The type of the values that the database has."""

        # An interval of SQLAlchemy is a decorator, too, which gives times as spans.
        while isinstance(impl, TypeDecorator) and not isinstance(impl, sa.Interval):
            impl = impl.load_dialect_impl(dialect)

        self.stores_documents = isinstance(impl, sa.JSON)
        self.stored_class = None if self.stores_documents else python_type(impl)
        """The class of these values, if they are all of one that is known."""
        self._bind = _processor(type_, "process_bind_param", dialect)
        self._result = _processor(type_, "process_result_value", dialect)
        self._members: dict[t.Any, t.Any] = {}
        self._gives_others = self._reads_stored = False
        own = [self._try(each) for each in _samples_of(type_)]
        # The times of a column with a zone have one, if its type leaves the choice.
        is_zoned = bool(getattr(impl, "timezone", False))
        samples = sorted(SAMPLES, key=lambda each: each is ZONED, reverse=is_zoned)
        pairs = chain(own, map(self._try, samples), map(self._try_stored, samples))
        none: Pair = (None, None)
        self.form, self._value = next(filter(None, pairs), none)
        """The form of the first value that came back, if any did, and the value."""
        self.is_one_way = self._gives_others and self.form is None
        """``True`` if it gives back other values than it takes, as a hash does."""
        is_taken = own and all(own) and not is_plain(self._value)
        # A type that takes any text has named but some of its values.
        is_closed = is_taken and not self._try(UNKNOWN)
        self.choices = [each[0] for each in own if each and is_closed]
        """The forms of the only values that it takes, if it names them."""

    @property
    def is_random(self) -> bool:
        """``True`` if it binds equal values differently, so that none is found."""
        value = self._value
        return value is not None and bool(self._bind(value) != self._bind(value))

    def reader(self, cast: Cast) -> Cast:
        """Return a function that reads a value on the wire, or one of the model, and
        raises :class:`ValueError`, whatever the type raises.

        :param cast: Casts a value on the wire to the class of the forms.
        """
        problem = no_choice(map(str, self.choices)) if self.choices else NOT_VALID

        def read(value: t.Any) -> t.Any:
            # A call in Python may have an object.
            if is_plain(value) or isinstance(value, FileStorage):
                value = cast(value)

                if self.choices and value not in self.choices:
                    raise ValueError(problem)

            try:
                again = self._read(value)
            except Exception as error:
                raise ValueError(problem) from error

            if again is None:
                raise ValueError(problem)

            return value if is_plain(again) else again

        return read

    def show(self, value: t.Any) -> t.Any:
        """Return the form of a value that the database has.

        :raises Unreadable: The type can't read it, or it has no form.
        """
        try:
            form = self._form_of(self._result(value))
        except Exception as error:
            raise Unreadable(repr(error)) from error

        if self.form is None and form is not None and not self._may_return(form):
            raise Unreadable("its type gives back other values than it takes")

        return form

    def _may_return(self, form: t.Any) -> bool:
        """Return ``True`` if a form comes back, or is not taken at all."""
        with suppress(Exception):
            return _is_equal(self._form_of(self._read(form)), form)

        return is_plain(form)

    def _read(self, value: t.Any) -> t.Any:
        """Return a value as it comes back from the database."""
        if isinstance(value, (str, int)):
            value = self._members.get(value, value)

        if self._reads_stored and is_plain(value):
            value = self._result(value)

        return self._result(self._store(value))

    def _store(self, value: t.Any) -> t.Any:
        """Return a value as the column has it: a float in a column of decimals as a
        decimal, the text of a UUID as a UUID.
        """
        stored, class_ = self._bind(value), self.stored_class

        if class_ not in COERCED or stored is None or isinstance(stored, class_):
            return stored

        return int(stored) if class_ is int else class_(str(stored))

    def _form_of(self, value: t.Any) -> t.Any:
        return value if value is None or is_plain(value) else self._bind(value)

    def _try(self, sample: t.Any) -> Pair | None:
        """Return the form of a sample, and its value, if that comes back."""
        try:
            value = self._read(sample)
        except Exception:
            return None

        try:
            form, stored = self._form_of(value), self._store(value)
        except Exception:
            # An object that its own type does not take, such as the hash of a password.
            self._gives_others = True
            return None

        if not is_plain(form) or not self._fits(stored):
            return None

        # The members of an enumeration are read by their forms.
        if isinstance(form, (str, int)) and not is_plain(sample):
            self._members[form] = sample

        with suppress(Exception):
            if _is_equal(self._form_of(self._read(form)), form):
                return form, value

            self._gives_others = True

        return None

    def _try_stored(self, sample: t.Any) -> Pair | None:
        """Return the form and the value that the type makes of a sample as if it were
        stored: a key with a prefix, or an object if the type takes nothing else.
        """
        if self._gives_others or not self._fits(sample):
            return None

        with suppress(Exception):
            value = self._result(sample)

            if is_plain(value):
                return self._try(value)

            # From now on, values of clients are read as stored ones. A pickle of a type
            # is not the sample, and never read: it may run code.
            self._reads_stored = value is not None and self._bind(value) == sample
            return (self._form_of(value), value) if self._reads_stored else None

        return None

    def _fits(self, value: t.Any) -> bool:
        """Return ``True`` if the type below stores a value as it is."""
        class_ = self.stored_class

        # A type that only the database knows is an object for SQLAlchemy.
        if class_ in (None, object):
            return self.stores_documents or not isinstance(value, (dict, list))

        # SQLAlchemy has a class of texts for bits.
        return isinstance(value, str if issubclass(class_, str) else class_)


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


def _samples_of(type_: TypeDecorator[t.Any]) -> list[t.Any]:
    """Return the values that a type itself names: members of enumerations, and items of
    lists of choices, or the first of each if they are pairs.
    """
    own = [base for base in type(type_).__mro__ if "sqlalchemy." not in base.__module__]
    attributes = [item for each in (*own, type_) for item in vars(each).items()]
    values = [value for name, value in attributes if not name.startswith("_")]
    samples: list[t.Any] = []

    for value in (*values, python_type(type_)):
        if isinstance(value, type) and issubclass(value, enum.Enum):
            samples += value
        elif isinstance(value, (list, tuple, dict)):
            has_pairs = all(isinstance(each, (list, tuple)) and each for each in value)
            samples += [each[0] for each in value] if has_pairs else value

    return samples


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
