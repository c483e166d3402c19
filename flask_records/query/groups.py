"""Groups of records, with counts, sums and the like of each."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial

import sqlalchemy as sa

from .. import problems
from .bounds import INDEX, refused
from .conversions import Unreadable
from .operators import POPULATE, SELECT, SORT
from .periods import is_zone, period, UNITS, UTC
from .readers import items_of
from .syntax import is_descending, names_listed, resolve_sort

if t.TYPE_CHECKING:
    from ..typing import Record
    from .field import Field
    from .syntax import Paths
    from .where import SortPath

GROUP: t.Final = "$group"
"""The special parameter that names the fields by which records are grouped."""

NUMBERS: t.Final = (sa.Integer, sa.Numeric)
ORDERED: t.Final = (*NUMBERS, sa.String, sa.DateTime, sa.Date, sa.Time, sa.Interval)
TIMES: t.Final = (sa.DateTime, sa.Date)

ZONE: t.Final = "$zone"
"""The special parameter that names the time zone of days and other periods."""


class Function(t.NamedTuple):
    """A function of the values of a field in a group."""

    of: Callable[[t.Any, str], t.Any]
    """Returns the expression for a column and the name of a dialect."""

    types: tuple[type[t.Any], ...] = (sa.types.TypeEngine,)
    """The types of columns that it takes."""

    show: Callable[[Field, t.Any], t.Any] = lambda field, value: value
    """Returns the value on the wire."""

    def takes(self, type_: t.Any) -> bool:
        """Return ``True`` for a type of columns that the function takes."""
        # An enumeration is a text, too, and in each database in another order.
        is_text = sa.String in self.types and isinstance(type_, sa.Enum)
        return isinstance(type_, self.types) and not is_text


def _sum(column: t.Any, dialect: str) -> t.Any:
    # SQLite refuses a sum of more than 64 bits.
    is_big = dialect == "sqlite" and isinstance(column.type, sa.BigInteger)
    return sa.func.sum(sa.cast(column, sa.Double) if is_big else column)


def _show_sum(field: Field, value: t.Any) -> t.Any:
    # Servers answer decimals for sums of integers.
    return int(value) if isinstance(field.column.type, sa.Integer) else value


def _average(column: t.Any, dialect: str) -> t.Any:
    return sa.func.avg(sa.cast(column, sa.Double), type_=sa.Double())


@lru_cache(maxsize=500)
def _period(unit: str, zone: str) -> Function:
    # A date is the same in all zones, and has no hours.
    of_dates = zone == UTC and unit != "hour"
    return Function(partial(period, unit, zone), TIMES if of_dates else TIMES[:1])


def _show_own(field: Field, value: t.Any) -> t.Any:
    show = field.conversion.show

    try:
        return value if show is None else show(value)
    except Unreadable:
        # The name of a group can't be left out.
        return None


AGGREGATES: t.Final[Mapping[str, Function]] = {
    "$count": Function(lambda column, dialect: sa.func.count(column)),
    "$sum": Function(_sum, NUMBERS, _show_sum),
    "$avg": Function(_average, NUMBERS),
    "$min": Function(lambda column, dialect: sa.func.min(column), ORDERED, _show_own),
    "$max": Function(lambda column, dialect: sa.func.max(column), ORDERED, _show_own),
}
"""The functions, by the special parameters that name their fields."""

OWN: t.Final = Function(lambda column, dialect: column, show=_show_own)
"""The value of a field itself, by which records are grouped."""

PERIODS: t.Final = {unit: _period(unit, UTC) for unit in UNITS}
"""The periods of times in UTC, by which records are grouped."""

PARAMETERS: t.Final = frozenset({GROUP, *AGGREGATES})


class GroupColumn(t.NamedTuple):
    """A value of each group. Equal ones have the same SQL."""

    field: Field
    """The field."""

    function: Function
    """The function of the field."""

    aggregate: str | None
    """The special parameter of the function, or ``None`` for a key of the groups."""

    path: SortPath | None = None
    """The path to the field, if it is one of a related record."""

    @property
    def name(self) -> str:
        """The name in an order: a field, or such as ``$sum.cost``."""
        name = self.field.name
        return name if self.aggregate is None else f"{self.aggregate}.{name}"

    def select_on(self, dialect: str) -> t.Any:
        """Return the expression that is selected.

        :param dialect: The name of the dialect of the database.
        """
        column = self.field.column if self.path is None else self.path.column
        value, select = self.function.of(column, dialect), self.field.conversion.select
        return select(value) if select and self.function.show is _show_own else value

    def show(self, value: t.Any) -> t.Any:
        """Return the value on the wire of a value that was selected."""
        return None if value is None else self.function.show(self.field, value)


class Groups(t.NamedTuple):
    """The groups that a query asks for."""

    keys: tuple[GroupColumn, ...]
    """The columns by which records are grouped. All records are one group without."""

    aggregates: tuple[GroupColumn, ...]
    """The values of each group."""

    sort: tuple[tuple[GroupColumn, bool], ...]
    """The order, and ``True`` for what is in descending order."""

    @property
    def columns(self) -> tuple[GroupColumn, ...]:
        """The columns of a statement."""
        return (*self.keys, *self.aggregates)

    def label(self, column: GroupColumn) -> str:
        """Return the name of a column in a statement."""
        return f"records_{self.columns.index(column)}"

    def expression(self, column: GroupColumn) -> t.Any:
        """Return the expression that groups or sorts by a column."""
        # PostgreSQL takes an expression with parameters for another one.
        return sa.literal_column(self.label(column))

    def record(self, row: Sequence[t.Any]) -> Record:
        """Return the record of a row: the values of the keys by their names, and those
        of each function by its name and the names of the fields.
        """
        record: Record = {}

        for column, value in zip(self.columns, row, strict=True):
            name = column.aggregate
            place = record if name is None else record.setdefault(name, {})
            place[column.field.name] = column.show(value)

        return record


def is_grouping(query: Mapping[str, t.Any]) -> bool:
    """Return ``True`` for a query that asks for groups."""
    return not PARAMETERS.isdisjoint(query)


def resolve_groups(
    query: Mapping[str, t.Any], paths: Paths, allowed: Collection[str] | None
) -> tuple[Groups, dict[str, t.Any]]:
    """Return the groups that a query asks for, and the rest of the query.

    :param paths: The fields that the caller may name, and the paths to others.
    :param allowed: The names of the fields, and the paths over one relationship, that
        have groups and aggregates, or ``None`` for all.
    :raises BadRequest: A part is not understood, or the caller may not ask for it.
    """
    scope = paths.scope

    for name in (SELECT, POPULATE):
        if name in query:
            raise refused(name, problems.NOT_OF_GROUPS)

    def column(name: str, function: Function, aggregate: str | None) -> GroupColumn:
        field, path = scope.fields.stored.get(name), None
        is_key, is_allowed = aggregate is None, allowed is None or name in allowed

        if is_key and is_allowed and name.count(".") == 1:
            [path, *others] = t.cast("Sequence[SortPath]", resolve_sort(paths, name))
            field = None if others else t.cast("Field", path.target)
            is_fit = function is OWN
        else:
            field = scope[name]
            is_fit = not field.parts and name in scope.plain
            is_fit = is_fit and (field.conversion.is_sorted or not is_key)

        if field is None or not is_allowed or not is_fit:
            raise refused(name, problems.NOT_GROUPED)

        if not function.takes(field.column.type):
            raise refused(name, problems.NO_SUCH_VALUE)

        return GroupColumn(field, function, aggregate, path)

    keys = tuple([column(name, each, None) for name, each in _keys(query)])
    aggregates = tuple(
        [
            column(name, function, parameter)
            for parameter, function in AGGREGATES.items()
            for name in dict.fromkeys(names_listed(parameter, query.get(parameter, ())))
        ]
    )

    if not (keys or aggregates):
        raise refused(GROUP, problems.no_names(GROUP))

    sort = _sort(query.get(SORT, {}), (*keys, *aggregates))
    rest = {n: query[n] for n in query if n not in {*PARAMETERS, SORT, ZONE}}
    return Groups(keys, aggregates, sort), rest


def _keys(query: Mapping[str, t.Any]) -> list[tuple[str, Function]]:
    """Return the names of the fields to group by, each itself or by a period."""
    value, zone = query.get(GROUP), query.get(ZONE, UTC)

    if not isinstance(value, Mapping) or items_of(value) is not None:
        value = dict(enumerate(names_listed(GROUP, () if value is None else value)))

    keys: dict[str, Function] = {}

    if not is_zone(zone):
        raise refused(ZONE, problems.NO_ZONE)

    for name, unit in value.items():
        # A query string has a list and names in one: $group[]=a&$group[b]=day.
        if isinstance(unit, str) and INDEX.fullmatch(str(name)):
            keys[unit] = OWN
        elif isinstance(unit, str) and unit in UNITS:
            keys[name] = _period(unit, zone)
        else:
            raise refused(name, problems.NO_UNIT)

    if ZONE in query and all(each is OWN for each in keys.values()):
        raise refused(ZONE, problems.NO_ZONE)

    return [*keys.items()]


def _sort(
    value: t.Any, columns: Sequence[GroupColumn]
) -> tuple[tuple[GroupColumn, bool], ...]:
    """Return the order of a query, and then of the keys."""
    if not isinstance(value, Mapping):
        raise refused(SORT, problems.NO_ORDER)

    by_name = {column.name: column for column in columns}

    for name in value:
        if name not in by_name:
            raise refused(name, problems.NOT_IN_GROUPS)

    ways = {name: is_descending(name, way) for name, way in value.items()}
    keys = {column.name: False for column in columns if column.aggregate is None}
    return tuple(
        [(by_name[name], way) for name, way in ({**ways, **keys} | ways).items()]
    )
