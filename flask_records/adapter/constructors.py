"""Constructors of models."""

from __future__ import annotations

import inspect
import typing as t

if t.TYPE_CHECKING:
    from ..query import Fields
    from ..typing import Record

NAMELESS: t.Final = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)
"""The kinds of parameters that take any arguments."""


class Constructor:
    """The constructor of a model."""

    def __init__(self, fields: Fields) -> None:
        parameters = inspect.signature(fields.model).parameters.values()
        named = [each for each in parameters if each.kind not in NAMELESS]
        without_default = [
            each.name for each in named if each.default is inspect.Parameter.empty
        ]
        mapped = fields.mapper.attrs.keys()

        self.required = [name for name in without_default if name in mapped]
        """The names of the fields and relationships that it can't do without."""

        self.takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
        """``True`` if it takes arguments of all names."""

        self._names = frozenset([each.name for each in named])
        self._without_default = without_default

    def arguments(self, values: Record) -> Record:
        """Return the arguments that it takes, of the values of a new record. Its own
        defaults stand for what is left out, and null where it has none.
        """
        taken = values.keys() if self.takes_any else values.keys() & self._names
        nulls: Record = dict.fromkeys(self._without_default)
        return nulls | {name: values[name] for name in taken}


def has_constructor(fields: Fields) -> bool:
    """Return ``True`` if a model has another constructor than that of SQLAlchemy."""
    constructor = fields.mapper.class_manager.original_init
    return not constructor.__module__.startswith("sqlalchemy.")
