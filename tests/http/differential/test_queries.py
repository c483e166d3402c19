"""A query finds the records that the reference finds, in the same order."""

import re
from contextlib import suppress

import pytest
from hypothesis import given

from .examples import MANY
from .queries import COMPARISONS, EQUALITY, LISTS, NoText, queries, query_string
from .sockets import over_socket
from .things import in_json, TEXT_FIELDS, UNORDERED, VALUES

WILDCARD, ESCAPED = re.compile(r"[%_\\]"), r"\\\g<0>"


def expected(world, query):
    """Return the page that a query gives, worked out without a database."""
    total, records = world.oracle.page(query, default=20, maximum=50)
    names = {"id", *query.get("$select", VALUES)}
    return {
        "total": total,
        "limit": min(query.get("$limit", 20), 50),
        "skip": query.get("$skip", 0),
        "data": [
            {name: in_json(value) for name, value in record.items() if name in names}
            for record in records
        ],
    }


def answers(world, query):
    """Yield the page that a query gives in each form that there is of it."""
    yield "Python", world.find(query)
    yield "a socket", over_socket(world.app, "things", in_json(query))

    with suppress(NoText):
        path = f"/things?{query_string(query)}"
        yield path, world.client.get(path).json


def check(world, query):
    """Ask for a query in each form, which all find what the reference finds."""
    page = expected(world, query)
    wrong = [form for form, answer in answers(world, query) if answer != page]

    assert wrong == [], query


def check_once(world, query):
    """Ask for a query over a socket, where each value has a form."""
    found = over_socket(world.app, "things", in_json(query))

    assert found == expected(world, query), query


@pytest.mark.parametrize("name", sorted(VALUES.keys() - {"document"}))
def test_each_comparison_with_each_value(world, name):
    operators = EQUALITY if name in UNORDERED else COMPARISONS

    for value in [VALUES[name][0], VALUES[name][-1], None]:
        for operator in operators:
            check_once(world, {name: {operator: value}})

        for operator in LISTS:
            check_once(world, {name: {operator: [value, VALUES[name][0]]}})


@pytest.mark.parametrize("name", sorted(TEXT_FIELDS))
def test_each_part_of_a_text_is_searched_for(world, name):
    for text in ["", "A", "é", "a ", "%", "_", "\\", "😀", "ΔΟΣ", "Σ", "σ", "ς"]:
        check_once(world, {name: {"$search": text}})
        check_once(world, {name: {"$ilike": f"%{WILDCARD.sub(ESCAPED, text)}%"}})
        check_once(world, {name: {"$like": f"%{WILDCARD.sub(ESCAPED, text)}%"}})


@MANY
@given(query=queries)
def test_any_query(world, query):
    check(world, query)


def test_long_list_of_values(world):
    query = {"rank": {"$in": [*range(1500)]}}

    assert world.find(query) == expected(world, query)
