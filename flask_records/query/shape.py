"""What the SQL of a query depends on, and apart from it the values."""

from __future__ import annotations

import enum
import typing as t
from dataclasses import dataclass

from .field import Field
from .operators import Operator

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence


class Kind(enum.IntEnum):
    """What the SQL of a comparison depends on besides its field and operator."""

    LITERAL = 0
    """The value itself."""

    NULL = 1
    """The value is null."""

    VALUE = 2
    """Nothing else."""

    LIST = 3
    """The value is a list without null."""

    LIST_WITH_NULL = 4
    """The value is a list with null."""


class Compared(t.NamedTuple):
    """A comparison without its value."""

    field: Field
    operator: Operator
    kind: Kind


class Joined(t.NamedTuple):
    """Conditions joined by ``$and``, ``$or``, ``$nor`` or ``$not``."""

    operator: str
    terms: tuple[Term, ...]


Term: t.TypeAlias = Compared | Joined


@dataclass(frozen=True)
class Reading:
    """A query whose fields are looked up and whose values are of the fields' types,
    apart from everything else.
    """

    terms: tuple[Term, ...]
    """The conditions, all of which have to hold, without the values."""

    values: list[t.Any]
    """The values in the order of the conditions."""

    kinds: list[Kind]
    """What kind each value is of."""

    sort: tuple[tuple[Field, bool], ...]
    """Fields, and whether each is sorted descending."""

    size: int
    """How many terms a statement of the query has: comparisons, groups, sort fields."""

    is_cacheable: bool
    """``True`` if they are few enough for statements to be cached at all."""

    is_kept: bool
    """Whether a statement can be kept for other values: the terms make the same SQL
    for them, and there are not too many.
    """

    @property
    def fields(self) -> Iterator[Field]:
        """The fields that the conditions compare."""
        return _fields_of(self.terms)

    @property
    def parameters(self) -> dict[str, t.Any]:
        """The values by the names of their parameters in a statement that is kept."""
        if not self.is_kept:
            return {}

        return {
            f"records_{place}": _parameter(value, self.kinds[place])
            for place, value in enumerate(self.values)
            if value is not None
        }


def _fields_of(terms: Sequence[Term]) -> Iterator[Field]:
    for term in terms:
        if isinstance(term, Compared):
            yield term.field
        else:
            yield from _fields_of(term.terms)


def _parameter(value: t.Any, kind: Kind) -> t.Any:
    is_partly_null = kind is Kind.LIST_WITH_NULL
    return [each for each in value if each is not None] if is_partly_null else value
