"""Queries that are made up, and their form in a query string."""

import json
from urllib.parse import quote

from hypothesis import strategies as st

from ...models_operators import ALWAYS
from .things import in_json, TEXT_FIELDS, UNORDERED, VALUES

LISTS = ("$in", "$nin")
EQUALITY = ("$eq", "$ne")
COMPARISONS = [name for name in ALWAYS if name not in LISTS]
LIKES = ["$like", "$notLike", "$ilike"]

patterns = st.lists(
    st.sampled_from(["%", "_", "a", "A", "b", "é", "É", " ", r"\%", r"\_", r"\\", "x"]),
    max_size=4,
).map("".join)
expressions = st.sampled_from(
    ["^a", "a$", "^$", "a|b", "[ab]", "A", ".", "a.*b", "(ab)?", "x+", "é", r"\[", "1"]
)
searches = st.sampled_from(["", "a", "A", "É", "%", "_", "\\", "o", "Σ", "ΔΟΣ", "xx"])


def mostly(usual, other):
    """Take from one strategy seven times as often as from the other."""
    return st.integers(0, 7).flatmap(lambda number: other if number == 7 else usual)


def values_of(name):
    """Values of a field, null among them. Documents are compared with null only."""
    if name == "document":
        return st.none()

    return mostly(st.sampled_from(VALUES[name]), st.none())


def operators_of(name):
    """Strategies of operators of a field, each with its value."""
    value = values_of(name)
    # Documents are not compared with an empty list.
    least = 1 if name == "document" else 0
    short = st.lists(value, min_size=least, max_size=4)
    values = short | st.lists(value, min_size=21, max_size=30)
    pairs = {operator: values for operator in LISTS}
    pairs |= {operator: value for operator in EQUALITY}
    pairs["$null"] = st.booleans()

    if name not in UNORDERED:
        pairs |= {operator: value for operator in COMPARISONS}
        bound = st.sampled_from(VALUES[name])
        pairs["$between"] = st.lists(bound, min_size=2, max_size=2)

    if name in TEXT_FIELDS:
        pairs |= {operator: patterns for operator in LIKES}
        pairs |= {"$regex": expressions, "$search": searches}

    return pairs


def conditions(name):
    """Conditions of a field, with up to two operators, plain and negated."""
    pairs = operators_of(name)
    one = st.sampled_from(sorted(pairs)).flatmap(
        lambda operator: pairs[operator].map(lambda value: {operator: value})
    )
    two = st.builds(lambda first, second: first | second, one, one)
    usual = one | two | values_of(name)
    return mostly(usual, usual.map(lambda condition: {"$not": condition}))


fields = {name: conditions(name) for name in VALUES}
comparisons = st.sampled_from(sorted(fields)).flatmap(
    lambda name: fields[name].map(lambda condition: {name: condition})
)


def groups(terms):
    """Queries that hold others."""
    lists = st.lists(terms, max_size=3)
    return st.one_of(
        st.builds(
            lambda name, items: {name: items},
            st.sampled_from(["$or", "$and", "$nor"]),
            lists,
        ),
        terms.map(lambda term: {"$not": term}),
        st.builds(lambda first, second: first | second, terms, terms),
    )


wheres = mostly(st.recursive(comparisons, groups, max_leaves=5), st.just({}))
sorts = st.dictionaries(
    st.sampled_from(sorted({*VALUES, "id"} - UNORDERED)),
    st.sampled_from([1, -1]),
    min_size=1,
    max_size=3,
)
paging = st.fixed_dictionaries(
    {},
    optional={
        "$limit": st.integers(0, 60),
        "$skip": st.integers(0, 20),
        "$sort": sorts,
        "$select": st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3),
    },
)
queries = st.builds(lambda where, page: {**where, **page}, wheres, paging)


class NoText(Exception):
    """A query that no query string can tell: one with an empty list, or null among
    texts.
    """


def query_string(query):
    """Return the query string of a query.

    :raises NoText: There is none.
    """
    pairs = _flat(_of_query(query))
    return "&".join(f"{quote(name, '$[]')}={quote(text, '')}" for name, text in pairs)


def _of_query(query):
    return {name: _of_term(name, value) for name, value in query.items()}


def _of_term(name, value):
    if name == "$not":
        return _filled(_of_query(value))

    if name in ("$or", "$and", "$nor"):
        return _filled([_filled(_of_query(each)) for each in value])

    return value if name.startswith("$") else _of_condition(name, value)


def _of_condition(name, condition):
    if not isinstance(condition, dict):
        return _of_value(name, condition)

    return {
        operator: _of_condition(name, value)
        if operator == "$not"
        else _of_operand(name, operator, value)
        for operator, value in condition.items()
    }


def _of_operand(name, operator, value):
    if operator in (*LISTS, "$between"):
        return _filled([_of_value(name, item) for item in value])

    return _of_value("name" if operator == "$null" else name, value)


def _of_value(name, value):
    value = in_json(value)

    if value is None and name in TEXT_FIELDS:
        raise NoText

    return value if isinstance(value, str) else json.dumps(value)


def _filled(value):
    if not value:
        raise NoText

    return value


def _flat(value, name=""):
    items = enumerate(value) if isinstance(value, list) else value.items()

    for key, item in items:
        path = f"{name}[{key}]" if name else key

        if isinstance(item, (dict, list)):
            yield from _flat(item, path)
        else:
            yield path, str(item)
