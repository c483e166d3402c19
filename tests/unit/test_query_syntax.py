from __future__ import annotations

import pytest

from flask_records import BadRequest
from flask_records.query.syntax import Comparison, Group, Query, Syntax

PLAIN = Syntax(operators=frozenset({"$eq", "$in", "$gt"}), groups=frozenset({"$or"}))
FULL = Syntax(
    operators=frozenset({"$eq", "$in", "$gt", "$not"}),
    groups=frozenset({"$or", "$and", "$nor", "$not"}),
    populates=True,
)
A_IS_1 = Group("$and", (Comparison("a", "$eq", "1"),))
B_IS_2 = Group("$and", (Comparison("b", "$eq", "2"),))


def nested(level, depth):
    """A query within that many others, each built by a function."""
    query = {"a": "1"}

    for _ in range(depth):
        query = level(query)

    return query


def test_empty_query():
    everything = Query(where=(), sort=(), limit=None, skip=0, select=None, populate=())

    assert Query.parse({}, PLAIN) == Query() == everything


def test_whole_query():
    query = {
        "a": "1",
        "b": {"$gt": "2"},
        "$sort": {"a": "-1"},
        "$limit": "5",
        "$skip": "10",
        "$select": ["a", "b"],
    }

    assert Query.parse(query, PLAIN) == Query(
        where=(Comparison("a", "$eq", "1"), Comparison("b", "$gt", "2")),
        sort=(("a", True),),
        limit=5,
        skip=10,
        select=("a", "b"),
    )


@pytest.mark.parametrize(
    ("value", "conditions"),
    [
        ("1", [Comparison("a", "$eq", "1")]),
        (None, [Comparison("a", "$eq", None)]),
        (["1", "2"], [Comparison("a", "$in", ["1", "2"])]),
        (("1", "2"), [Comparison("a", "$in", ["1", "2"])]),
        ({"1": "y", "0": "x", "10": "z"}, [Comparison("a", "$in", ["x", "y", "z"])]),
        ({"$eq": "1"}, [Comparison("a", "$eq", "1")]),
        ({"$in": {"0": "x"}}, [Comparison("a", "$in", {"0": "x"})]),
        (
            {"$gt": "1", "$eq": "5"},
            [Comparison("a", "$gt", "1"), Comparison("a", "$eq", "5")],
        ),
    ],
)
def test_conditions_of_a_field(value, conditions):
    assert Query.parse({"a": value}, PLAIN).where == tuple(conditions)


@pytest.mark.parametrize(
    ("query", "name", "data"),
    [
        ({"$foo": "red"}, "$foo", {"$foo": "red"}),
        ({"$LIMIT": "1"}, "$LIMIT", {"$LIMIT": "1"}),
        ({"$and": [{"a": "1"}]}, "$and", {"$and": [{"a": "1"}]}),
        ({"$populate": "a"}, "$populate", {"$populate": "a"}),
        ({"a": {"$foo": "1"}}, "$foo", {"$foo": "1"}),
        ({"a": {"$or": ["1"]}}, "$or", {"$or": ["1"]}),
        ({"a": {"$not": {"$gt": "1"}}}, "$not", {"$not": {"$gt": "1"}}),
        ({"a": {"b": {"$gt": "1"}}}, "$gt", {"$gt": "1"}),
        ({"$or": [{"a": "1"}, {"$foo": "2"}]}, "$foo", {"$foo": "2"}),
        ({"$or": [{"a": {"$foo": "1"}}]}, "$foo", {"$foo": "1"}),
        ({"$or": [{"$limit": "1"}]}, "$limit", {"$limit": "1"}),
        ({"$or": [{"$select": "a"}]}, "$select", {"$select": "a"}),
        # Hooks add conditions that a client may not know.
        ({"$foo": "1", "owner": "secret"}, "$foo", {"$foo": "1"}),
    ],
)
def test_unknown_special_parameter(query, name, data):
    with pytest.raises(BadRequest) as caught:
        Query.parse(query, PLAIN)

    assert caught.value.message == f"Invalid query parameter {name}"
    assert caught.value.data == data


@pytest.mark.parametrize(
    "value", [{"b": "1"}, {"$gt": "1", "b": "2"}, {"0": "1", "b": 1}]
)
def test_field_below_a_field(value):
    message = "^'a' is compared with an object: '[b0]' is not an operator.$"

    with pytest.raises(BadRequest, match=message) as caught:
        Query.parse({"a": value}, PLAIN)

    assert caught.value.errors == {"a": "is compared with an object"}


@pytest.mark.parametrize(
    "query", [{"a": {}}, {"$or": [{"a": {}}]}, {"a": {"$not": {}}}], ids=str
)
def test_empty_object_below_a_field_is_refused(query):
    """It would be a condition that every record meets."""
    with pytest.raises(BadRequest):
        Query.parse(query, FULL)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("0", 0),
        ("5", 5),
        (5, 5),
        (str(2**63), 2**63 - 1),
        ("9" * 100, 2**63 - 1),
        (10**400, 2**63 - 1),
    ],
)
def test_limit_and_skip(value, count):
    query = Query.parse({"$limit": value, "$skip": value}, PLAIN)

    assert (query.limit, query.skip) == (count, count)


@pytest.mark.parametrize("value", ["", None])
def test_empty_limit_and_skip_are_the_default(value):
    query = Query.parse({"$limit": value, "$skip": value}, PLAIN)

    assert (query.limit, query.skip) == (None, 0)


@pytest.mark.parametrize("name", ["$limit", "$skip"])
@pytest.mark.parametrize(
    "value",
    [
        "-1", "1.5", "five", "null", "1_0", "٣", "5\n", "9" * 5000, -1, 1.5, True, [],
    ],
)  # fmt: skip
def test_other_limit_and_skip_are_refused(name, value):
    with pytest.raises(BadRequest) as caught:
        Query.parse({name: value}, PLAIN)

    assert caught.value.message == f"{name} must be a non-negative integer."
    assert caught.value.data == {name: value}


@pytest.mark.parametrize(
    ("value", "sort"),
    [
        (None, ()),
        ({}, ()),
        ({"a": 1, "b": -1}, (("a", False), ("b", True))),
        ({"b": "1", "a": "1"}, (("b", False), ("a", False))),
    ],
)
def test_sort(value, sort):
    assert Query.parse({"$sort": value}, PLAIN).sort == sort


@pytest.mark.parametrize("way", ["", "2", "asc", " 1", 0, True, None, ["1"], {}])
def test_other_directions_are_refused(way):
    message = r"^\$sort\[a\] takes 1 for ascending or -1 for descending\.$"

    with pytest.raises(BadRequest, match=message) as caught:
        Query.parse({"$sort": {"a": way}}, PLAIN)

    assert caught.value.errors == {"a": "is sorted by neither 1 nor -1"}


@pytest.mark.parametrize("value", ["a", ["a"], [], 1])
def test_sort_without_fields_is_refused(value):
    with pytest.raises(BadRequest, match=r"^\$sort takes fields, such as \$sort\[name"):
        Query.parse({"$sort": value}, PLAIN)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, None),
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([], ()),
        ({"1": "b", "0": "a"}, ("a", "b")),
    ],
)
def test_select(value, names):
    assert Query.parse({"$select": value}, PLAIN).select == names


@pytest.mark.parametrize("name", ["$select", "$populate"])
@pytest.mark.parametrize("value", [1, {"a": "1"}, {}, ["a", 1]])
def test_other_names_are_refused(name, value):
    with pytest.raises(BadRequest) as caught:
        Query.parse({name: value}, FULL)

    assert caught.value.message == f"{name} takes names, such as {name}[]=name."


def test_populate_is_no_part_of_a_group():
    assert Query.parse({"$populate": {"0": "user"}}, FULL).populate == ("user",)

    with pytest.raises(BadRequest, match=r"^Invalid query parameter \$populate$"):
        Query.parse({"$or": [{"$populate": "user"}]}, FULL)


@pytest.mark.parametrize(
    "queries",
    [
        [{"a": "1"}, {"b": "2"}],
        ({"a": "1"}, {"b": "2"}),
        {"0": {"a": "1"}, "1": {"b": "2"}},
        {"10": {"b": "2"}, "9": {"a": "1"}},
    ],
)
@pytest.mark.parametrize("name", ["$or", "$and", "$nor"])
def test_groups(name, queries):
    assert Query.parse({name: queries}, FULL).where == (Group(name, (A_IS_1, B_IS_2)),)


INNER = Group("$and", (Group("$or", (A_IS_1,)),))


@pytest.mark.parametrize(
    ("query", "group"),
    [
        ({"$or": []}, Group("$or", ())),
        ({"$or": [{"$or": [{"a": "1"}]}, {"b": "2"}]}, Group("$or", (INNER, B_IS_2))),
        ({"$not": {"a": "1"}}, Group("$not", (A_IS_1,))),
        ({"a": {"$not": {"$eq": "1"}}}, Group("$not", (A_IS_1,))),
    ],
    ids=str,
)
def test_other_groups(query, group):
    assert Query.parse(query, FULL).where == (group,)


@pytest.mark.parametrize("name", ["$or", "$and", "$nor"])
@pytest.mark.parametrize(
    "value", ["a", None, {}, {"a": "1"}, [{"a": "1"}, None], [[{}]]]
)
def test_group_of_anything_but_queries_is_refused(name, value):
    with pytest.raises(BadRequest) as caught:
        Query.parse({name: value}, FULL)

    expected = f"{name} takes a list of queries, such as {name}[0][a]=1."
    assert caught.value.message == expected


LEVELS = {
    "$or": lambda query: {"$or": [query]},
    "$and": lambda query: {"$and": [query]},
    "$not": lambda query: {"$not": query},
    "$not below a field": lambda query: {"a": {"$not": query["a"]}},
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_twenty_levels_are_parsed(level):
    assert Query.parse(nested(level, 20), FULL).where


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
@pytest.mark.parametrize("depth", [21, 5000])
def test_more_than_twenty_levels_are_refused(level, depth):
    with pytest.raises(BadRequest, match="^The query nests deeper than 20 levels.$"):
        Query.parse(nested(level, depth), FULL)
