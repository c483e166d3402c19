"""Queries whose fields are looked up and whose values are cast."""

from __future__ import annotations

import enum
import typing as t
from dataclasses import dataclass
from functools import cached_property

from .field import Field
from .operators import Bound, Operator
from .syntax import Comparison

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .computed_fields import ComputedField
    from .field_conditions import FieldCondition
    from .fields import Fields
    from .syntax import Condition, Query

MAX_TERMS: t.Final = 40
"""The number of terms of a query up to which its statement is cached."""


PREFIX: t.Final = "records_"
"""The beginning of the names of the parameters of a query."""


class Kind(enum.IntEnum):
    """The part of a comparison's value that its SQL depends on."""

    LITERAL = 0
    """The SQL depends on the value itself."""

    NULL = 1
    """The value is null."""

    VALUE = 2
    """The value is one value other than null."""

    LIST = 3
    """The value is a list without null."""

    LIST_WITH_NULL = 4
    """The value is a list with null."""


class ResolvedComparison(t.NamedTuple):
    """A comparison without its value."""

    field: Field
    operator: Operator
    kind: Kind


class ResolvedGroup(t.NamedTuple):
    """Conditions joined by ``$and``, ``$or``, ``$nor`` or ``$not``."""

    operator: str
    terms: tuple[Term, ...]


Term: t.TypeAlias = ResolvedComparison | ResolvedGroup


# A dataclass with slots can't cache its properties.
@dataclass(frozen=True, eq=False)
class ResolvedQuery:
    """A query whose fields are looked up and whose values have the types of their
    columns. Its shape is apart from its values.
    """

    selected: tuple[Field, ...]
    """The fields of the records."""

    terms: tuple[Term, ...] = ()
    """The conditions without their values. All of them have to hold."""

    values: Sequence[t.Any] = ()
    """The values, in the order of the comparisons."""

    kinds: Sequence[Kind] = ()
    """The kind of each value."""

    sort: tuple[tuple[Field, bool], ...] = ()
    """Fields, and ``True`` for those sorted in descending order."""

    limit: int | None = None
    """The largest number of records, or ``None`` for all."""

    skip: int = 0
    """The number of records to leave out first."""

    populate: tuple[str, ...] = ()
    """The names of the relationships to load."""

    size: int = 0
    """The number of terms of a statement: comparisons, groups and sort fields."""

    is_cacheable: bool = True
    """``True`` if statements of the query are small enough to be cached."""

    has_shape: bool = True
    """``True`` if queries that differ in their values only have the same statement, so
    that it is built once for all of them.
    """

    computed: tuple[ComputedField, ...] = ()
    """The fields of the records that functions compute."""

    unshown: tuple[str, ...] = ()
    """The names of selected fields that others are computed from, and nobody sees."""

    conditions: tuple[FieldCondition, ...] = ()
    """The selected fields that a record has only if it meets another query."""

    @property
    def comparisons(self) -> Iterator[ResolvedComparison]:
        """The comparisons among the conditions, in order."""
        return _comparisons_of(self.terms)

    @property
    def fields(self) -> Iterator[Field]:
        """The fields that the conditions compare."""
        for comparison in self.comparisons:
            yield comparison.field

    @cached_property
    def parameters(self) -> Mapping[str, t.Any]:
        """The values by the names of their parameters in the statement of the shape."""
        return self.parameters_with(PREFIX)

    def parameters_with(self, prefix: str) -> Mapping[str, t.Any]:
        """Return the values by the names of their parameters.

        :param prefix: The beginning of the names.
        """
        if not self.values or not self.has_shape:
            return {}

        return {
            f"{prefix}{index}": _parameter(value, self.kinds[index])
            for index, value in enumerate(self.values)
            if value is not None
        }


def resolve(
    query: Query, fields: Fields, operators: Mapping[str, Operator]
) -> ResolvedQuery:
    """Look up the fields of a query, and cast its values.

    :param operators: The operators that may stand below a field, by name.
    :raises BadRequest: A field is unknown or has no order, or a value is not of its
        type.
    """
    selected, computed, unshown = fields.shown(query.select)
    values: list[t.Any] = []
    kinds: list[Kind] = []
    terms = tuple(
        [_term(term, fields, operators, values, kinds) for term in query.where]
    )
    sort = tuple(
        [
            (field, descending)
            for name, descending in query.sort
            for field in fields.sorted_by(name)
        ]
    )
    has_literal = Kind.LITERAL in kinds
    size = _size(terms) + len(sort)

    if has_literal:
        # Each of the items may become a term.
        size += sum([len(value) for value in values if isinstance(value, list)])

    is_cacheable = size <= MAX_TERMS
    return ResolvedQuery(
        selected,
        terms,
        values,
        kinds,
        sort,
        query.limit,
        query.skip,
        query.populate,
        size,
        is_cacheable,
        is_cacheable and not has_literal,
        computed,
        unshown,
    )


def _term(
    term: Condition,
    fields: Fields,
    operators: Mapping[str, Operator],
    values: list[t.Any],
    kinds: list[Kind],
) -> Term:
    if isinstance(term, Comparison):
        operator = operators[term.operator]
        field = (
            fields.ordered(term.field) if operator.needs_order else fields[term.field]
        )
        value = operator.read(field, term.value)
        kind = _kind(field, operator, value)
        values.append(value)
        kinds.append(kind)
        return ResolvedComparison(field, operator, kind)

    terms = [_term(each, fields, operators, values, kinds) for each in term.terms]
    return ResolvedGroup(term.operator, tuple(terms))


def _kind(field: Field, operator: Operator, value: t.Any) -> Kind:
    if operator.bound is None or not field.is_bindable:
        return Kind.LITERAL

    if value is None:
        return Kind.NULL

    if operator.bound is Bound.ONE:
        return Kind.VALUE

    return Kind.LIST_WITH_NULL if None in value else Kind.LIST


def _size(terms: Sequence[Term]) -> int:
    """Return the number of comparisons and groups. A group of one is not written."""
    size = len(terms)

    for term in terms:
        if isinstance(term, ResolvedGroup):
            size += _size(term.terms) - (len(term.terms) == 1)

    return size


def _comparisons_of(terms: Sequence[Term]) -> Iterator[ResolvedComparison]:
    for term in terms:
        if isinstance(term, ResolvedComparison):
            yield term
        else:
            yield from _comparisons_of(term.terms)


def _parameter(value: t.Any, kind: Kind) -> t.Any:
    if kind is not Kind.LIST_WITH_NULL:
        return value

    return [item for item in value if item is not None]
