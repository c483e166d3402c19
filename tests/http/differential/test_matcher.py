"""The matcher never tells another thing than the database does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .examples import FEW, MANY
from .queries import queries
from .things import in_json

ALIKE = {"Integer()", "BigInteger()", "Boolean()", "Date()", "DateTime()"}
"""Types whose values all databases compare as Python does."""

# SQLAlchemy 2.1 says so of some types of its own.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Type object:sqlalchemy.exc.SADeprecationWarning"
)


def test_value_at_an_edge(column):
    check(column, [*column.kind.kept[:4], *column.kind.others[:8]])

    # Or the matcher would agree by telling nothing.
    record = column.post(column.kind.kept[0]).json if column.name in ALIKE else {}
    assert column.matches([record], dict(record)) == [True]


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_any_value(column, data):
    check(column, data.draw(st.lists(column.kind.random, min_size=1, max_size=4)))


@MANY
@given(query=queries)
def test_any_query(world, query):
    records = world.typed_records()
    forms = [*records, *map(in_json, records)]
    expected = {record["id"] for record in world.oracle.find(query)}

    told = world.matches(forms, query)

    assert [
        form
        for form, is_match in zip(forms, told, strict=True)
        if is_match not in (None, form["id"] in expected)
    ] == []


def check(column, values):
    """Compare values with some of each other."""
    column.clear()

    for value in [None, *values]:
        assert column.post(value).status_code in (201, 400)

    records = column.find({})
    values = distinct(column, records) if column.kind.is_compared else [None]
    wrong = [
        (query, form)
        for value in values
        for query in comparisons(column, value)
        for form in differences(column, records, query)
    ]
    assert wrong == []


def distinct(column, records):
    """Return the values of some records, typed and as they are in JSON, each once."""
    typed = [record["value"] for record in records]
    plain = [in_json(value) for value in typed]
    # The text of a type that only the database can read is its form in queries.
    values = plain if column.kind.is_foreign else [*typed, *plain]
    return list({repr(value): value for value in values}.values())


def comparisons(column, value):
    """Yield queries with a value. The other operators are the opposite of these."""
    yield {"value": {"$eq": value}}
    yield {"value": {"$nin": [value, None]}}

    if column.kind.is_ordered:
        yield {"value": {"$lt": value}}


def differences(column, records, query):
    """Yield each form of a record that is told otherwise than the database does."""
    found = {record["id"] for record in column.find(query)}
    forms = [*records, *map(in_json, records)]

    for form, told in zip(forms, column.matches(forms, query), strict=True):
        if told not in (None, form["id"] in found):
            yield form
