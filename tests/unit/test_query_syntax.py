"""The forms of queries, and those that are refused."""

import pytest

from flask_records import BadRequest

from ..models_operators import Person
from ..sql import select_of, where_of

GROUPS = ["$and", "$nor", "$not", "$populate"]


def where(query):
    return where_of(Person, query, whitelist=GROUPS)


def refusal(query, whitelist=GROUPS):
    """The error of a query."""
    with pytest.raises(BadRequest) as caught:
        where_of(Person, query, whitelist=whitelist)

    return caught.value


def nested(level, depth):
    """A query within that many others, each built by a function."""
    query = {"age": "1"}

    for _ in range(depth):
        query = level(query)

    return query


@pytest.mark.parametrize(
    ("query", "name", "data"),
    [
        ({"$foo": "red"}, "$foo", {"$foo": "red"}),
        ({"$LIMIT": "1"}, "$LIMIT", {"$LIMIT": "1"}),
        ({"$nor": [{"age": "1"}]}, "$nor", {"$nor": [{"age": "1"}]}),
        ({"$populate": "a"}, "$populate", {"$populate": "a"}),
        ({"age": {"$foo": "1"}}, "$foo", {"$foo": "1"}),
        ({"age": {"$or": ["1"]}}, "$or", {"$or": ["1"]}),
        ({"age": {"$not": {"$gt": "1"}}}, "$not", {"$not": {"$gt": "1"}}),
        ({"$or": [{"age": "1"}, {"$foo": "2"}]}, "$foo", {"$foo": "2"}),
        ({"$or": [{"age": {"$foo": "1"}}]}, "$foo", {"$foo": "1"}),
        ({"$or": [{"$limit": "1"}]}, "$limit", {"$limit": "1"}),
        ({"$or": [{"$populate": "a"}]}, "$populate", {"$populate": "a"}),
        # Hooks add conditions that a client may not know.
        ({"$foo": "1", "name": "secret"}, "$foo", {"$foo": "1"}),
    ],
)
def test_unknown_special_parameter(query, name, data):
    error = refusal(query, whitelist=[])

    assert error.message == f"Invalid query parameter {name}"
    assert error.data == data


@pytest.mark.parametrize(
    "value", [{"b": "1"}, {"$gt": "1", "b": "2"}, {"0": "1", "b": 1}]
)
def test_field_below_a_field(value):
    error = refusal({"age": value})

    problem = "is compared with an object: operators begin with '$'"
    assert error.message == f"'age' {problem}."
    assert error.errors == {"age": problem}


@pytest.mark.parametrize(
    "query", [{"age": {}}, {"$or": [{"age": {}}]}, {"age": {"$not": {}}}], ids=str
)
def test_empty_object_below_a_field_is_refused(query):
    """It would be a condition that every record meets."""
    assert refusal(query).errors == {
        "age": "is compared with an object: operators begin with '$'"
    }


@pytest.mark.parametrize(
    ("value", "count"),
    [("7", 7), (5, 5), (str(2**63), 2**63 - 1), (10**400, 2**63 - 1)],
)
def test_limit_and_skip(value, count):
    query = {"$limit": value, "$skip": value}
    statement = select_of(Person, query, dialect="sqlite")

    assert statement.endswith(f"LIMIT {count} OFFSET {count}")


@pytest.mark.parametrize("value", ["", None])
def test_empty_limit_and_skip_are_the_default(value):
    query = {"$limit": value, "$skip": value}
    statement = select_of(Person, query, dialect="sqlite")

    assert statement.endswith("ORDER BY person.id")


@pytest.mark.parametrize("name", ["$limit", "$skip"])
@pytest.mark.parametrize(
    "value",
    [
        "-1", "1.5", "five", "null", "1_0", "٣", "5\n", "9" * 5000, -1, 1.5, True, [],
    ],
)  # fmt: skip
def test_other_limit_and_skip_are_refused(name, value):
    error = refusal({name: value})

    assert error.message == f"'{name}' must be a non-negative integer."


@pytest.mark.parametrize("way", ["", "2", "asc", " 1", 0, True, None, ["1"], {}])
def test_other_directions_are_refused(way):
    error = refusal({"$sort": {"age": way}})

    assert error.errors == {"age": "is sorted by neither 1 nor -1"}


@pytest.mark.parametrize("value", ["a", ["a"], [], 1])
def test_sort_without_fields_is_refused(value):
    message = "'$sort' takes fields, such as $sort[name"

    assert refusal({"$sort": value}).message.startswith(message)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (None, "id, name, age, extra"),
        ("age", "id, age"),
        (["age", "name"], "id, age, name"),
        ([], "id"),
        ({"1": "name", "0": "age"}, "id, age, name"),
    ],
)
def test_select(value, names):
    statement = select_of(Person, {"$select": value})

    columns = ", ".join(f"person.{name}" for name in names.split(", "))
    assert statement.startswith(f"SELECT {columns} FROM")


@pytest.mark.parametrize("name", ["$select", "$populate"])
@pytest.mark.parametrize("value", [1, {"a": "1"}, {}, ["a", 1]])
def test_other_names_are_refused(name, value):
    message = f"'{name}' takes names, such as {name}[]=name."

    assert refusal({name: value}).message == message


@pytest.mark.parametrize("name", ["$or", "$and", "$nor"])
@pytest.mark.parametrize(
    "value", ["a", None, {}, {"a": "1"}, [{"a": "1"}, None], [[{}]]]
)
def test_group_of_anything_but_queries_is_refused(name, value):
    message = f"'{name}' takes a list of queries, such as {name}[0][a]=1."

    assert refusal({name: value}).message == message


LEVELS = {
    "$or": lambda query: {"$or": [query]},
    "$and": lambda query: {"$and": [query]},
    "$not": lambda query: {"$not": query},
    "$not below a field": lambda query: {"age": {"$not": query["age"]}},
}


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
def test_twenty_levels_are_understood(level):
    assert "person.age = 1" in where(nested(level, 20))


@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS.keys())
@pytest.mark.parametrize("depth", [21, 5000])
def test_more_than_twenty_levels_are_refused(level, depth):
    error = refusal(nested(level, depth))

    assert error.message.endswith("' nests deeper than 20 levels.")
