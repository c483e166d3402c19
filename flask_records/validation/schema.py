"""The schema of an object that a client sends, or gets."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import typing as t
import uuid
from collections.abc import Mapping
from decimal import Decimal

if t.TYPE_CHECKING:
    from ..problems import Problem
    from ..typing import Record


PLAIN: t.Final = frozenset(
    {
        *(type(None), str, int, float, bool, bytes, Decimal, uuid.UUID),
        *(dt.datetime, dt.date, dt.time, dt.timedelta),
    }
)
"""The types of values that are taken as they are."""


def is_plain_value(value: t.Any) -> bool:
    """Return ``True`` for a value that is taken as it is, as members of enums are."""
    return type(value) in PLAIN or isinstance(value, enum.Enum)


def is_class(value: t.Any) -> bool:
    """Return ``True`` for a model of pydantic, a dataclass, or a ``TypedDict``."""
    if getattr(value, "__pydantic_root_model__", False):
        return False

    return isinstance(value, type) and (
        hasattr(value, "__pydantic_core_schema__")
        or dataclasses.is_dataclass(value)
        # A class of typing_extensions is not a TypedDict for typing.
        or hasattr(value, "__required_keys__")
    )


class InvalidData(ValueError):
    """An object does not fit a schema.

    :param problems: All problems by their paths, such as ``address.zip``.
    """

    def __init__(self, problems: Mapping[str, Problem]) -> None:
        super().__init__(problems)
        self.problems = problems
        """All problems by their paths."""


class Beside(t.NamedTuple):
    """The names of a body that a schema does not have. Those in neither part are left
    out.
    """

    problems: dict[str, Problem]
    """The problems of those that are refused."""

    compared: dict[str, t.Any]
    """Values that the method refuses unless the record has them."""


@t.runtime_checkable
class DataSchema(t.Protocol):
    """A schema, made of a class of a library, or an object of the application."""

    names: Mapping[str, str]
    """The fields by their names on the wire."""

    others: t.Literal["refuse", "ignore", "allow"]
    """The fate of names that the schema does not have."""

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Record:
        """Return the converted values of an object, by the names of the fields.

        :param data: The object. It has names of the schema only.
        :param is_partial: ``True`` to look at what is there: nothing is required, and
            no default is filled in.
        :raises InvalidData: It does not fit.
        """

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients.

        :raises ValueError: It does not fit.
        """

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or
        of results, without references.
        """
