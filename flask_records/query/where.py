"""The resolved queries, and their conditions and order in SQL."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from functools import cached_property

import sqlalchemy as sa
from sqlalchemy import orm

from .operators import Expression, GROUPS, LISTS, Operator
from .paths import meets

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .field import Field
    from .groups import Groups
    from .paths import Relationship

MAX_TERMS: t.Final = 40
"""The number of terms of a query up to which its statement is cached."""


class ResolvedComparison(t.NamedTuple):
    """A comparison without its value."""

    field: Field
    operator: Operator
    is_null: bool
    origin: tuple[Field, int] | None = None
    """The field that stands for the value, and the number of steps back to its record.
    """


class ResolvedGroup(t.NamedTuple):
    """Conditions joined by ``$and``, ``$or``, ``$nor`` or ``$not``."""

    operator: str
    terms: tuple[Term, ...]


class ResolvedPath(t.NamedTuple):
    """Conditions that one of the records at the end of a relationship has to meet."""

    relationship: Relationship
    terms: tuple[Term, ...]


class SortPath(t.NamedTuple):
    """A field of the one related record, by which records are sorted."""

    relationship: Relationship
    """The relationship to one record."""

    rule: ResolvedQuery
    """The query of the related records that the caller sees."""

    target: Field | SortPath
    """The field, or the path from there."""

    is_nullable: bool = True

    @property
    def column(self) -> t.Any:
        """The expression that is sorted by."""
        return self.at(self.relationship.parent.class_)

    def at(self, entity: t.Any) -> t.Any:
        """Return the expression on the model, or on an alias of it."""
        alias: t.Any = orm.aliased(self.relationship.mapper)
        attribute = getattr(entity, self.relationship.key)
        rules = conditions(self.rule, alias, is_literal=True)
        value = sa.select(self.target.at(alias)).where(attribute.of_type(alias), *rules)
        return value.limit(1).correlate_except(alias).scalar_subquery()


Term: t.TypeAlias = ResolvedComparison | ResolvedGroup | ResolvedPath


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

    sort: tuple[tuple[Field | SortPath, bool], ...] = ()
    """Fields, or paths to fields, and ``True`` for those sorted in descending order."""

    limit: int | None = None
    """The largest number of records, or ``None`` for all."""

    skip: int = 0
    """The number of records to leave out first."""

    populate: tuple[str, ...] = ()
    """The names of the relationships to load."""

    groups: Groups | None = None
    """The groups of the records, whose values are read in their place."""

    prefix: str = "records_"
    """The beginning of the names of its parameters in a statement."""

    def within(self, rule: ResolvedQuery) -> ResolvedQuery:
        """Return a query whose records meet the conditions of another one, too."""
        return replace(
            self,
            terms=(*self.terms, *rule.terms),
            values=[*self.values, *rule.values],
        )

    @cached_property
    def has_shape(self) -> bool:
        """``True`` if queries that differ in their values only have the same statement,
        so that it is built once for all of them.
        """
        return (
            len(self.values) + len(self.sort) <= MAX_TERMS
            and all(
                [
                    e.operator.is_bound and e.field.is_usual
                    for e in comparisons_of(self.terms)
                ]
            )
            # The SQL of a path may have values of rules for the caller.
            and not any([isinstance(each, SortPath) for each, _ in self.sort])
            and not (self.groups and any([e.path for e in self.groups.keys]))
        )

    @cached_property
    def parameters(self) -> Mapping[str, t.Any]:
        """The values by the names of their parameters in the statement of the shape."""
        if not self.has_shape:
            return {}

        return {
            f"{self.prefix}{index}": value
            for index, value in enumerate(self.values)
            if value is not None
        }


def comparisons_of(terms: Sequence[Term]) -> Iterator[ResolvedComparison]:
    """Yield the comparisons among terms, in the order of their values."""
    for term in terms:
        if isinstance(term, ResolvedComparison):
            yield term
        else:
            yield from comparisons_of(term.terms)


def origins_of(terms: Sequence[Term]) -> list[Field]:
    """Return the fields that stand for values in terms."""
    return [each.origin[0] for each in comparisons_of(terms) if each.origin]


def conditions(
    query: ResolvedQuery,
    *path: t.Any,
    is_one: bool = False,
    is_literal: bool = False,
) -> list[Expression]:
    """Return the conditions of a query, all of which have to hold. Parameters stand for
    the values if the query has a shape.

    :param path: The model, an alias of it, or an object that has the columns of the
        fields under their names, after those that lead to it.
    :param is_one: ``True`` if the query is of one record.
    :param is_literal: ``True`` for the values, whatever shape the query has.
    """
    is_bound = query.has_shape and not is_literal
    values = iter(_parameters(query) if is_bound else query.values)
    return [_expression(term, path, values, is_one) for term in query.terms]


def _expression(
    term: Term, path: Sequence[t.Any], values: Iterator[t.Any], is_one: bool
) -> Expression:
    if isinstance(term, ResolvedComparison):
        value, (other, steps) = next(values), term.origin or (None, 0)
        value = other.at(path[-1 - steps]) if other else value
        return term.operator.compare(term.field.at(path[-1]), value)

    if isinstance(term, ResolvedGroup):
        terms = [_expression(each, path, values, is_one) for each in term.terms]
        return GROUPS[term.operator].in_sql(terms)

    alias: t.Any = orm.aliased(term.relationship.mapper)
    # A list of keys would be made anew for each record on which it depends.
    is_one = is_one or bool(origins_of(term.terms))
    there = *path, alias
    terms = [_expression(each, there, values, is_one) for each in term.terms]
    condition = meets(term.relationship, path[-1], alias, terms, is_one=is_one)
    return t.cast("Expression", condition)


def _parameters(query: ResolvedQuery) -> Iterator[t.Any]:
    """Yield the parameters that stand for the values of a query."""
    for index, each in enumerate(comparisons_of(query.terms)):
        name, type_ = f"{query.prefix}{index}", each.field.column.type
        parameter = sa.bindparam(name, type_=type_, expanding=each.operator in LISTS)
        yield None if each.is_null else parameter
