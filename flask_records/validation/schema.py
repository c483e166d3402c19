"""The schema of an object that a client sends, or gets."""

from __future__ import annotations

import datetime as dt
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


class Checked(t.NamedTuple):
    """An object that a schema has checked."""

    values: Record
    """The converted values, by the names of the fields."""

    problems: Mapping[str, Problem]
    """All problems by their paths, such as ``address.zip``. Empty if there are none."""


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

    def check(self, data: Mapping[str, t.Any], *, is_partial: bool = False) -> Checked:
        """Return an object with its values converted, or with its problems.

        :param data: The object. It has names of the schema only.
        :param is_partial: ``True`` to look at what is there: nothing is required, and
            no default is filled in.
        """

    def shown(self, value: t.Any) -> t.Any:
        """Return a result in its form for clients.

        :raises ValueError: It does not fit.
        """

    def json_schema(self, mode: t.Literal["whole", "partial", "shown"]) -> Record:
        """Return the JSON Schema of objects that are checked in whole or in part, or
        of results, without references.
        """
