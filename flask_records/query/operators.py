"""The operators, each a row in a table."""

from __future__ import annotations

import enum
import operator
import re
import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from .. import problems
from ..errors import BadRequest
from ..problems import Problem
from .dialects import contains_any_case, Grouped, like_any_case, like_exactly, SameJSON
from .field import Field, shown
from .syntax import items_of, NOT, POPULATE, Syntax
from .values import is_json

Column: t.TypeAlias = "sa.ColumnElement[t.Any]"
Expression: t.TypeAlias = "sa.ColumnElement[bool]"
Join: t.TypeAlias = "Callable[[Sequence[Expression]], Expression]"
Compare: t.TypeAlias = Callable[[t.Any, t.Any], Expression]

MAX_TEXT: t.Final = 10_000
"""The longest text that is searched for. SQLite refuses somewhat longer ones."""

MAX_PATTERN: t.Final = 200
"""The longest pattern, which a database may compare with a text at each place."""

MAX_DOCUMENTS: t.Final = 100
"""The number of JSON documents in a list, each of which becomes a term."""

MAX_WIDTH: t.Final = 32
"""The number of conditions that are joined without parentheses."""

FLAGS: t.Final = {"true": True, "false": False, True: True, False: False}

LOOSE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


def one(field: Field, value: t.Any) -> t.Any:
    """Read one value of the field's type."""
    return field.compared(value)


def many(field: Field, value: t.Any) -> list[t.Any]:
    """Read a list of values of the field's type. One value is a list of one."""
    items = items_of(value)

    if items and len(items) > MAX_DOCUMENTS and is_json(field.column.type):
        raise _wrong(field, value, problems.too_long(MAX_DOCUMENTS, "documents"))

    return [field.compared(item) for item in ([value] if items is None else items)]


def pair(field: Field, value: t.Any) -> list[t.Any]:
    """Read two values of the field's type."""
    values = many(field, value)

    if len(values) != 2 or any(each is None for each in values):
        raise _wrong(field, value, problems.NO_PAIR)

    return values


def text(field: Field, value: t.Any) -> str:
    """Read text for a field that holds text."""
    if not field.conversion.is_text:
        why = problems.NO_TEXT
        raise BadRequest(f"'{field.name}' {why}.", errors={field.name: why})

    if not isinstance(value, str):
        raise _wrong(field, value, problems.NO_TEXT)

    if len(value) > MAX_TEXT:
        raise _wrong(field, value, problems.too_long(MAX_TEXT, "characters"))

    return t.cast(str, field.compared(value))


def like(field: Field, value: t.Any) -> str:
    """Read a LIKE pattern for a field that holds text."""
    expression = _short(field, value)

    # PostgreSQL refuses a backslash that has nothing to escape.
    if LOOSE_ESCAPE.search(expression):
        raise _wrong(field, value, problems.LOOSE_BACKSLASH)

    return expression


def pattern(field: Field, value: t.Any) -> str:
    """Read a regular expression for a field that holds text."""
    expression = _short(field, value)

    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError):
        raise _wrong(field, value, problems.NO_PATTERN) from None

    return expression


def _short(field: Field, value: t.Any) -> str:
    expression = text(field, value)

    if len(expression) > MAX_PATTERN:
        raise _wrong(field, value, problems.too_long(MAX_PATTERN, "characters"))

    return expression


def flag(field: Field, value: t.Any) -> bool:
    """Read ``true`` or ``false``, whatever the field holds."""
    if not isinstance(value, (str, bool)) or value not in FLAGS:
        raise _wrong(field, value, problems.NO_BOOLEAN)

    return FLAGS[value]


def _wrong(field: Field, value: t.Any, why: Problem) -> BadRequest:
    return BadRequest(
        f"'{field.name}' can't be compared with {shown(value)}, which {why}.",
        errors={field.name: why},
    )


class Bound(enum.Enum):
    """The way in which an operator's value is bound to a statement that is cached."""

    ONE = "one value"
    MANY = "a list of values"


@dataclass(frozen=True)
class Listed:
    """A list of values, for :data:`Bound.MANY`."""

    values: t.Any
    """The values other than null, or the parameter that stands for them."""

    has_null: bool
    """``True`` if the list has null, too."""

    @classmethod
    def of(cls, values: Sequence[t.Any] | Listed) -> Listed:
        """Return a list, or one in this form already, with null apart."""
        if isinstance(values, Listed):
            return values

        others = [value for value in values if value is not None]
        return cls(others, len(others) < len(values))


# Two operators are equal only if they are the same object.
@dataclass(frozen=True, eq=False)
class Operator:
    """An operator below a field of a query, such as ``$gt``.

    An application gives a service its own ones:

    .. code-block:: python

        starts_with = Operator(lambda column, value: column.startswith(value), text)
        SQLAlchemyService(Message, operators={"$startsWith": starts_with})
    """

    compare: Compare
    """Returns the condition for the column and the value that was read."""

    read: Callable[[Field, t.Any], t.Any] = one
    """Reads the value: :func:`one`, :func:`many`, :func:`pair`, :func:`text`,
    :func:`like`, :func:`pattern`, :func:`flag` or a function like these.
    """

    needs_order: bool = False
    """``True`` if the values of the field need an order."""

    bound: Bound | None = None
    """The way in which the value is bound, if the condition is the same for all values
    but null, so that its statement is built once: ``compare`` then gets ``None``, a
    parameter, or a :class:`Listed` one. By default it gets the value itself, and a
    statement is built for each call.
    """


def _equals(column: Column, value: t.Any) -> Expression:
    if not is_json(column.type):
        return column.is_(None) if value is None else column == value

    same = SameJSON(column, sa.cast(sa.literal(value, column.type), sa.Text))
    return sa.or_(column.is_(None), same) if value is None else same


def _differs(column: Column, value: t.Any) -> Expression:
    if is_json(column.type):
        return _is_not_true(_equals(column, value))

    return column.is_not(None) if value is None else column.is_distinct_from(value)


def _is_in(column: Column, values: Sequence[t.Any] | Listed) -> Expression:
    if is_json(column.type):
        documents = t.cast("Sequence[t.Any]", values)
        return _any_of([_equals(column, each) for each in documents])

    listed = Listed.of(values)
    is_in = column.in_(listed.values)
    return sa.or_(column.is_(None), is_in) if listed.has_null else is_in


def _is_not_true(condition: Expression) -> Expression:
    """Return the opposite of a condition that may be null, which counts as false."""
    return sa.not_(sa.func.coalesce(condition, sa.false()))


def _ordered(compare: Compare) -> Operator:
    def compare_values(column: Column, value: t.Any) -> Expression:
        # Null is neither less nor greater than anything.
        return sa.false() if value is None else compare(column, _bound(column, value))

    return Operator(compare_values, needs_order=True, bound=Bound.ONE)


def _is_null(column: Column, value: bool) -> Expression:
    return _equals(column, None) if value else _differs(column, None)


def _between(column: Column, value: Sequence[t.Any]) -> Expression:
    lower, upper = (_bound(column, bound) for bound in value)
    return column.between(lower, upper)


def _bound(column: Column, value: t.Any) -> t.Any:
    """Return a value that a column can be less or greater than."""
    # SQLAlchemy takes no plain True and False there.
    is_expression = isinstance(value, sa.ColumnElement)
    return value if is_expression else sa.literal(value, column.type)


def _any_of(terms: Sequence[Expression]) -> Expression:
    # An or_() of nothing is deprecated. A leading false() leaves no trace in the SQL.
    return _balanced(lambda terms: sa.or_(sa.false(), *terms), terms)


def all_of(terms: Sequence[Expression]) -> Expression:
    """Return the condition that all conditions hold."""
    return _balanced(lambda terms: sa.and_(sa.true(), *terms), terms)


def _balanced(join: Join, terms: Sequence[Expression]) -> Expression:
    """Join conditions in groups of groups: SQLite makes a tree of ``a OR b OR c`` that
    is as deep as it is long, and refuses one of a thousand levels.
    """
    while len(terms) > MAX_WIDTH:
        starts = range(0, len(terms), MAX_WIDTH)
        terms = [Grouped(join(terms[start : start + MAX_WIDTH])) for start in starts]

    return join(terms)


def _none_of(terms: Sequence[Expression]) -> Expression:
    return _is_not_true(_any_of(terms))


ORDERS: dict[str, Callable[[t.Any, t.Any], t.Any]] = {
    "$lt": operator.lt,
    "$lte": operator.le,
    "$gt": operator.gt,
    "$gte": operator.ge,
}
"""The comparisons with less and greater."""

BUILT_IN: dict[str, Operator] = {
    "$eq": Operator(_equals, bound=Bound.ONE),
    "$ne": Operator(_differs, bound=Bound.ONE),
    "$in": Operator(_is_in, many, bound=Bound.MANY),
    "$nin": Operator(
        lambda column, values: _is_not_true(_is_in(column, values)),
        many,
        bound=Bound.MANY,
    ),
    **{name: _ordered(compare) for name, compare in ORDERS.items()},
}
"""The operators that every service has. See section 4.2 of the specification."""

ON_WHITELIST: dict[str, Operator] = {
    "$like": Operator(like_exactly, like),
    "$notLike": Operator(
        lambda column, value: _is_not_true(like_exactly(column, value)), like
    ),
    "$ilike": Operator(like_any_case, like),
    "$regex": Operator(lambda column, value: column.regexp_match(value), pattern),
    "$search": Operator(contains_any_case, text),
    "$null": Operator(_is_null, flag),
    "$between": Operator(_between, pair, needs_order=True),
}
"""The operators that a service has if its ``whitelist`` names them."""

GROUPS: dict[str, Callable[[Sequence[Expression]], Expression]] = {
    "$and": all_of,
    "$or": _any_of,
    "$nor": _none_of,
    NOT: _none_of,
}
"""The groups of conditions, by name."""


def operators_of(
    whitelist: Collection[str], own: Mapping[str, Operator]
) -> dict[str, Operator]:
    """Return the operators of a service by name.

    :param whitelist: The names that queries may use besides those of every service.
    :param own: The operators of the application.
    :raises TypeError: The operators are not a mapping.
    :raises ValueError: The whitelist has an unknown name.
    """
    if not isinstance(own, Mapping):
        raise TypeError(
            "'operators' maps names to operators:"
            f' operators={{"$startsWith": Operator(...)}}, not {own!r}.'
        )

    operators = {**BUILT_IN, **own}

    for name in whitelist:
        if name in ON_WHITELIST:
            operators.setdefault(name, ON_WHITELIST[name])
        elif name not in operators and name not in (*GROUPS, POPULATE):
            raise ValueError(
                f"'whitelist' names '{name}', which is not known. Give it in"
                " 'operators', or let a before hook take it out of the query."
            )

    return operators


def syntax_of(whitelist: Collection[str], operators: Collection[str]) -> Syntax:
    """Return the names that a service understands.

    :param whitelist: The names that queries may use besides those of every service.
    :param operators: The names of its operators.
    """
    allowed = set(whitelist)
    return Syntax(
        operators=frozenset({*operators, *({NOT} & allowed)}),
        groups=frozenset({"$or", "$and", *(set(GROUPS) & allowed)}),
        populates=POPULATE in allowed,
    )
