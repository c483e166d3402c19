"""The SQL of operators, the values that they refuse, and the whitelist."""

import pytest

from flask_records import BadRequest, SQLAlchemyService

from ..models_operators import Person, WHITELIST
from ..sql import where_of


def condition(field, operator, value, dialect="postgresql"):
    """The SQL of a comparison, with the value in it."""
    query = {field: {operator: value}}
    return where_of(Person, query, dialect, whitelist=WHITELIST)


@pytest.mark.parametrize(
    ("operator", "value", "message"),
    [
        ("$eq", "five", "'five' is not a valid 'age': it is not a whole number."),
        ("$in", ["5", "x"], "'x' is not a valid 'age': it is not a whole number."),
        (
            "$nin",
            [{"a": 1}],
            "'{\"a\": 1}' is not a valid 'age': it is not a whole number.",
        ),
        ("$gt", ["5"], "'[\"5\"]' is not a valid 'age': it is not a whole number."),
        ("$between", ["5", "x"], "'x' is not a valid 'age': it is not a whole number."),
        (
            "$between",
            ["5"],
            "'[\"5\"]' is not a valid 'age': it is not a list of two values.",
        ),
        (
            "$between",
            ["5", "null"],
            "'[\"5\", \"null\"]' is not a valid 'age': it is not a list of two values.",
        ),
        ("$null", "1", "'1' is not a valid 'age': it is neither true nor false."),
        ("$like", "5", "'age' is not text."),
        ("$search", "5", "'age' is not text."),
        ("$regex", "5", "'age' is not text."),
    ],
)
def test_wrong_value(operator, value, message):
    with pytest.raises(BadRequest) as caught:
        condition("age", operator, value)

    assert caught.value.message == message
    [(name, phrase)] = caught.value.errors.items()
    assert name == "age"
    assert message.endswith(f" {phrase}.")


@pytest.mark.parametrize(
    "operator", ["$like", "$notLike", "$ilike", "$search", "$regex"]
)
def test_pattern_that_is_too_long_is_refused(operator):
    assert condition("name", operator, "x" * 200) is not None

    with pytest.raises(BadRequest, match="it has more than 200 characters.$"):
        condition("name", operator, "x" * 201)


@pytest.mark.parametrize("operator", WHITELIST)
def test_other_operators_have_to_be_on_the_whitelist(operator):
    others = [name for name in WHITELIST if name != operator]
    unknown = f"^Invalid query parameter \\{operator}$"

    with pytest.raises(BadRequest, match=unknown):
        where_of(Person, {"name": {operator: "a"}}, whitelist=others)


def test_unknown_name_in_the_whitelist_is_an_error():
    with pytest.raises(
        ValueError, match=r"^'whitelist' names '\$foo', which .* Choose from: \$like,"
    ):
        SQLAlchemyService(Person, whitelist=["$like", "$foo"])


SPECIAL = {
    "$or": {"$or": [{"age": 1}]},
    "$and": {"$and": [{"age": 1}]},
    "$nor": {"$nor": [{"age": 1}]},
    "$not": {"$not": {"age": 1}},
    "$not below a field": {"age": {"$not": 1}},
}


@pytest.mark.parametrize(
    ("whitelist", "names"),
    [
        ([], {"$or", "$and"}),
        (["$nor"], {"$or", "$and", "$nor"}),
        (["$not"], {"$or", "$and", "$not", "$not below a field"}),
    ],
)
def test_groups_of_the_whitelist(whitelist, names):
    accepted = set()

    for name, query in SPECIAL.items():
        try:
            where_of(Person, query, whitelist=whitelist)
        except BadRequest as refused:
            assert refused.message.startswith("Invalid query parameter $")
        else:
            accepted.add(name)

    assert accepted == names
