"""The syntax of queries: the forms that are understood, by the fields of a model."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .. import problems
from ..errors import BadRequest
from .bounds import refused, shorten
from .field import are_comparable
from .operators import (
    AND,
    AT_LEAST,
    AT_MOST,
    BETWEEN,
    DIFFERENT,
    EQUAL,
    IN,
    LIMIT,
    LISTS,
    NOT,
    NULL,
    OF_SHORT_TIMES,
    Operator,
    OR,
    PAGING,
    POPULATE,
    SELECT,
    SKIP,
    SORT,
)
from .readers import as_list, items_of
from .rules import FromRecord
from .where import (
    ResolvedComparison,
    ResolvedGroup,
    ResolvedPath,
    ResolvedQuery,
    SortPath,
)

if t.TYPE_CHECKING:
    from .field import Field
    from .operators import Syntax
    from .paths import Relationship
    from .scope import Scope
    from .where import Term

MAX_DEPTH: t.Final = 20
"""The number of levels of a query."""

MAX_INTEGER: t.Final = 2**63 - 1
"""The largest number that every database takes as a limit."""

COUNT = re.compile(r"\+?[0-9]{1,100}")
DIRECTIONS = {"1": False, "-1": True, 1: False, -1: True}

_Raw: t.TypeAlias = Mapping[str, t.Any]


class Paths(t.Protocol):
    """A model as a caller sees it, and the paths that the caller may follow."""

    scope: Scope
    """The fields that the caller may name."""

    origin: Scope | None
    """The fields at the beginning of the path. ``None`` for clients."""

    relationship: Relationship
    """The relationship to the model, if it is at the end of a path."""

    @property
    def shown_if(self) -> Mapping[str, ResolvedQuery]:
        """The queries of the records in which the caller sees a field, by its name. A
        comparison of the field holds in no other record.
        """

    @property
    def rule(self) -> ResolvedQuery:
        """The query of the records that the caller sees."""

    def follow(self, name: str) -> Paths | None:
        """Return the model at the end of a relationship, or ``None`` if there is no
        such relationship for the caller.

        :raises RecordsError: The caller may not find the records of its service.
        """


def resolve(query: _Raw, syntax: Syntax, paths: Paths) -> ResolvedQuery:
    """Parse a query, look up its fields, and cast its values.

    :param query: The nested mapping of ``params.query``.
    :param syntax: The names that queries may use.
    :param paths: The model as the caller sees it.
    :raises BadRequest: Any part of the query is not understood.
    """
    if not query:
        return paths.scope.everything

    conditions = _Conditions(syntax, paths, [])
    sort, select = _sort(paths, query.get(SORT)), query.get(SELECT)
    paging = (*PAGING, POPULATE) if syntax.populates else PAGING
    terms = conditions.all_of(query, paging, 0)
    return ResolvedQuery(
        paths.scope.select(None if select is None else names_listed(SELECT, select)),
        terms,
        conditions.values,
        sort,
        _count(LIMIT, query.get(LIMIT)),
        _count(SKIP, query.get(SKIP)) or 0,
        names_listed(POPULATE, query[POPULATE]) if POPULATE in query else (),
    )


@dataclass(eq=False)
class _Conditions:
    """Parses conditions at any depth, and takes their values apart."""

    syntax: Syntax
    paths: Paths
    values: list[t.Any]

    def all_of(
        self, query: _Raw, paging: Collection[str], depth: int
    ) -> tuple[Term, ...]:
        terms: list[Term] = []
        related: dict[str, dict[str, t.Any]] = {}

        for name, value in query.items():
            if "." in name and not name.startswith("$"):
                first, _, rest = name.partition(".")
                related.setdefault(first, {})[rest] = value
            elif not name.startswith("$"):
                terms += self._of_field(name, value, depth)
            elif name in self.syntax.groups:
                terms.append(self._group(name, value, depth + 1))
            elif name not in paging:
                # The query around it may hold conditions that hooks have added.
                raise _unknown(name, {name: value} if depth == 0 else query)

        terms += [self._path(name, each, depth) for name, each in related.items()]
        return tuple(terms)

    def _path(self, name: str, query: _Raw, depth: int) -> ResolvedPath:
        """Return the conditions that one related record has to meet.

        :param query: The conditions by the rests of their paths.
        """
        related = self.paths.follow(name)
        wrong = [rest for rest in query if related is None or rest.startswith("$")]

        if related is None or wrong:
            unknown = f"{self.paths.scope.path}{name}.{wrong[0]}"
            raise refused(unknown, problems.UNKNOWN_FIELD)

        self.values += related.rule.values
        there = _Conditions(self.syntax, related, self.values)
        terms = there.all_of(query, (), depth + 1)
        return ResolvedPath(related.relationship, (*related.rule.terms, *terms))

    def _group(self, name: str, value: t.Any, depth: int) -> ResolvedGroup:
        if depth > MAX_DEPTH:
            raise refused(name, problems.too_deep(MAX_DEPTH))

        items = [value] if name == NOT else items_of(value)

        if items is None or not all(isinstance(item, Mapping) for item in items):
            raise refused(name, problems.no_queries(name))

        terms = [self.all_of(item, (), depth) for item in items]
        return ResolvedGroup(name, tuple([ResolvedGroup(AND, each) for each in terms]))

    def _of_field(self, name: str, value: t.Any, depth: int) -> list[Term]:
        if depth > MAX_DEPTH:
            raise refused(name, problems.too_deep(MAX_DEPTH))

        items = items_of(value)

        if items is not None:
            return [self._term(name, "$in", items)]

        if not isinstance(value, Mapping):
            return [self._term(name, "$eq", value)]

        if not value:
            raise refused(name, problems.OBJECT_OPERATOR)

        return [self._compare(name, item, value, depth) for item in value]

    def _compare(self, name: str, operator: str, place: _Raw, depth: int) -> Term:
        value = place[operator]

        if not operator.startswith("$"):
            raise refused(name, problems.OBJECT_OPERATOR)

        if operator == NOT and NOT in self.syntax.groups:
            terms = tuple(self._of_field(name, value, depth + 1))
            return ResolvedGroup(NOT, (ResolvedGroup(AND, terms),))

        if operator not in self.syntax.operators:
            raise _unknown(operator, place)

        return self._term(name, operator, value)

    def _term(self, name: str, operator: str, value: t.Any) -> Term:
        shown_if = self.paths.shown_if.get(name)

        if shown_if is None:
            return self._resolve(name, operator, value)

        # A field that the caller does not see can't decide whether it gets the record.
        self.values += shown_if.values
        comparison = self._resolve(name, operator, value)
        return ResolvedGroup(AND, (*shown_if.terms, comparison))

    def _resolve(self, name: str, operator_name: str, operand: t.Any) -> Term:
        operator, field = self.syntax.operators[operator_name], self.paths.scope[name]

        if FromRecord in map(type, as_list(operand)):
            same = [self._same(field, operator, each) for each in as_list(operand)]
            return ResolvedGroup(OR, tuple(same))

        if operator.fields is not None and name not in operator.fields:
            raise refused(field.name, problems.not_for(operator_name))

        if operator.needs_order and not field.conversion.is_ordered:
            raise refused(field.name, problems.UNORDERED)

        value = operator.read(field, operand)

        if operator is NULL:
            return self._comparison(field, EQUAL if value else DIFFERENT, None)

        if operator is BETWEEN:
            ends = zip((AT_LEAST, AT_MOST), value, strict=True)
            return ResolvedGroup(
                AND, tuple([self._comparison(field, *e) for e in ends])
            )

        if operator not in LISTS:
            return self._comparison(field, operator, value)

        others = [each for each in value if each is not None]

        if len(others) == len(value):
            return self._comparison(field, operator, value)

        parts = [(EQUAL, None), (IN, others)] if others else [(EQUAL, None)]
        comparisons = [self._comparison(field, *part) for part in parts]
        return ResolvedGroup(LISTS[operator], tuple(comparisons))

    def _same(self, field: Field, operator: Operator, item: t.Any) -> Term:
        if (origin := self.paths.origin) is None:
            raise TypeError("FromRecord is for rules, and for restrict() in hooks.")

        other = origin[item.field] if isinstance(item, FromRecord) else None

        if operator not in (EQUAL, IN) or not (other and are_comparable(field, other)):
            raise refused(field.name, problems.NOT_THE_SAME)

        self.values.append(None)
        steps = self.paths.scope.path.count(".")
        return ResolvedComparison(field, EQUAL, True, (other, steps))

    def _comparison(
        self, field: Field, operator: Operator, value: t.Any
    ) -> ResolvedComparison:
        if operator.is_bound and value is not None and field.conversion.is_null_only:
            raise refused(field.name, problems.NULL_ONLY)

        if field.has_short_times and value is not None:
            operator = OF_SHORT_TIMES.get(operator, operator)

        self.values.append(value)
        return ResolvedComparison(field, operator, value is None)


def _unknown(name: str, place: t.Any) -> BadRequest:
    """Return the error for a name with a dollar sign that is not understood."""
    return BadRequest(f"Invalid query parameter {shorten(name)}", data=place)


def _count(name: str, value: t.Any) -> int | None:
    if value is None or value == "":
        return None

    if isinstance(value, str) and COUNT.fullmatch(value):
        value = int(value)

    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return min(value, MAX_INTEGER)

    raise refused(name, problems.NO_COUNT)


def _sort(paths: Paths, value: t.Any) -> tuple[tuple[Field | SortPath, bool], ...]:
    """Return the order."""
    if value is None:
        return ()

    if not isinstance(value, Mapping):
        raise refused(SORT, problems.NO_ORDER)

    ways = [(name, is_descending(name, way)) for name, way in value.items()]
    return tuple([(e, way) for name, way in ways for e in resolve_sort(paths, name)])


def resolve_sort(paths: Paths, name: str) -> Sequence[Field | SortPath]:
    """Return the fields, or the paths to fields, that a name sorts by.

    :raises BadRequest: There is no such field for the caller, or it has no order.
    """
    first, dot, rest = name.partition(".")

    if not dot:
        return paths.scope.resolve_sort(name)

    related = paths.follow(first)

    if related is None:
        raise refused(f"{paths.scope.path}{name}", problems.UNKNOWN_FIELD)

    if related.relationship.uselist:
        raise refused(f"{related.scope.path}{rest}", problems.SEVERAL)

    targets = resolve_sort(related, rest)
    return [SortPath(related.relationship, related.rule, each) for each in targets]


def is_descending(name: str, way: t.Any) -> bool:
    """Return ``True`` for ``-1``, the descending order.

    :raises BadRequest: It is neither that nor ``1``.
    """
    if type(way) not in (str, int) or way not in DIRECTIONS:
        raise refused(name, problems.BAD_ORDER)

    return DIRECTIONS[way]


def names_listed(name: str, value: t.Any) -> tuple[str, ...]:
    """Return the names that a special parameter lists.

    :raises BadRequest: It is neither a name nor a list of names.
    """
    items = [value] if isinstance(value, str) else items_of(value)

    if items is None or not all(isinstance(item, str) for item in items):
        raise refused(name, problems.no_names(name))

    return tuple(items)
