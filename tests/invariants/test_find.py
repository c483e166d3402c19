"""Queries mean the same to the database and to a model in Python."""

from __future__ import annotations

import operator
import re

import pytest
from hypothesis import strategies as st

from .app import NUMBERS
from .app import seeds
from .app import TEXTS
from .strategies import BAD_PAGING
from .strategies import BAD_PARAMETERS
from .strategies import COMPARISONS
from .strategies import encoded
from .strategies import good_queries
from .strategies import LISTS
from .strategies import mostly
from .strategies import Request

pytestmark = pytest.mark.slow


def conditions(values):
    """Return the conditions that compare a field with values."""
    operators = [{name: value} for name in COMPARISONS for value in values]
    # A list of more than twenty items comes as a mapping.
    lists = [values[:1], values[2:4], values[1:6], values[-2:], values[1:3] * 12]
    operators += [{name: items} for name in LISTS for items in lists * 2]
    one = st.sampled_from(operators)
    return mostly(one, st.builds(operator.or_, one, one) | st.sampled_from(values))


fields = {
    "rank": conditions([1, *NUMBERS, 5, None]),
    "name": conditions(["b", *TEXTS, "zz"]),
}
terms = st.recursive(
    st.fixed_dictionaries({}, optional=fields).filter(bool),
    lambda inner: st.fixed_dictionaries(
        {"$or": st.lists(inner, min_size=1, max_size=3)}, optional=fields
    ),
    max_leaves=3,
)
orders = [("rank", 1), ("rank", -1), ("name", 1), ("name", -1)]
paging = {
    "$limit": st.integers(0, 12),
    "$skip": mostly(st.integers(0, 5), st.just(35)),
    "$sort": st.lists(st.sampled_from(orders), min_size=1, max_size=2).map(dict),
}
queries = st.builds(
    operator.or_,
    mostly(terms, st.just({})),
    mostly(st.just({}), st.fixed_dictionaries({}, optional=paging)),
)


def with_order(compare):
    return lambda value, bound: None not in (value, bound) and compare(value, bound)


MEANINGS = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$in": lambda value, items: value in items,
    "$nin": lambda value, items: value not in items,
    "$lt": with_order(operator.lt),
    "$lte": with_order(operator.le),
    "$gt": with_order(operator.gt),
    "$gte": with_order(operator.ge),
}


def matches(query, record):
    """Return whether a record matches, as the specification defines it."""
    if "$or" in query and not any(matches(each, record) for each in query["$or"]):
        return False

    conditions = [(record[name], query[name]) for name in fields if name in query]
    return all(
        MEANINGS[name](value, operand)
        for value, condition in conditions
        for name, operand in (
            condition.items() if isinstance(condition, dict) else [("$eq", condition)]
        )
    )


def found(query):
    """The ids that a query finds, worked out without a database."""
    records = [record for record in seeds() if matches(query, record)]
    records.sort(key=operator.itemgetter("id"))

    for field, way in reversed(query.get("$sort", {}).items()):
        records.sort(key=lambda r: (r[field] is not None, r[field]), reverse=way < 0)

    records = records[query.get("$skip", 0) :][: query.get("$limit")]
    return [record["id"] for record in records]


def test_records_are_found_as_a_model_in_python_finds_them(world):
    def check(query):
        records = world.get("/plain", query)

        assert [record["id"] for record in records] == found(query)

    world.try_examples(600, queries, check)


def test_page_tells_the_total_of_the_query_without_paging(world):
    def check(query):
        limit, skip = query.get("$limit", 5), query.get("$skip", 0)
        whole = {k: v for k, v in query.items() if k not in ("$limit", "$skip")}

        page = world.get("/things", query)

        records = world.get("/plain", whole)
        assert page == {
            "total": len(records),
            "limit": min(limit, 8),
            "skip": skip,
            "data": records[skip : skip + min(limit, 8)],
        }

    world.try_examples(250, queries, check)


def test_write_on_many_with_a_part_that_is_not_understood_changes_nothing(world):
    def check(request):
        before = world.rows()

        answer = world.send(request)

        assert (answer.status, world.rows()) == (400, before)

    world.restore()

    for part in BAD_PARAMETERS + BAD_PAGING:
        check(Request("PATCH", "/things", part))

    bad = st.sampled_from(BAD_PARAMETERS + BAD_PAGING) | st.builds(
        lambda group, part: re.sub(r"^[^[=]*", rf"{group}[9][\g<0>]", part),
        st.sampled_from(["$or", "$and", "$nor"]),
        st.sampled_from(BAD_PARAMETERS),
    )
    good = queries.map(encoded) | good_queries
    both = st.builds("{}&{}".format, good, bad) | st.builds("{}&{}".format, bad, good)
    paths = st.sampled_from(["/things", "/plain", "/mine"])
    verbs = st.sampled_from(["PATCH", "DELETE"])
    world.try_examples(500, st.builds(Request, verbs, paths, both), check)


def test_value_without_a_name_is_not_understood(world):
    """To drop it would make a write on some a write on all."""
    world.restore()

    answer = world.send(Request("PATCH", "/things", "=1"))

    assert answer.status == 400
