"""What one kind of caller knows of a model."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..query import Fields
from ..query import Operator
from ..query import Statements
from ..query import Translator
from .direct import Direct
from .writing import Writer


@dataclass(frozen=True)
class Audience:
    """A kind of caller: clients, or the application itself."""

    fields: Fields
    """The fields that it knows of."""

    translator: Translator
    """Makes statements of its queries."""

    statements: Statements
    """Keeps the statements of its reads."""

    writer: Writer
    """Checks and writes its bodies."""

    direct: Direct
    """Writes what needs no unit of work."""

    @classmethod
    def of(cls, fields: Fields, operators: Mapping[str, Operator]) -> t.Self:
        """Return the kind of caller that knows of some fields.

        :param fields: The fields.
        :param operators: What may stand below a field.
        """
        translator = Translator(fields, operators)
        writer = Writer(fields)
        return cls(
            fields,
            translator,
            Statements(fields, translator),
            writer,
            Direct(fields, translator, writer),
        )
