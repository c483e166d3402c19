"""A value that is answered is found, sorted and taken back, whatever its type."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from .columns import names_its_field, NULLS
from .examples import FEW

# SQLAlchemy 2.1 says so of some types of its own.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Type object:sqlalchemy.exc.SADeprecationWarning"
)


def test_value_at_an_edge(column):
    kind = column.kind
    check(column, [*kind.kept, *kind.others])

    refused = [each for each in kind.kept if column.post(each).status_code != 201]
    assert refused == []


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_any_value(column, data):
    check(column, data.draw(st.lists(column.kind.random, min_size=1, max_size=4)))


def check(column, values):
    """Store values, and look for each that is answered."""
    column.clear()
    stored = [(value, record) for value in values for record in column.store(value)]
    records = [record for _, record in stored if record["value"] is not None]

    for value, record in stored:
        check_answer(column, value, record["value"])

    # A value that can't be read would take the page from everybody.
    assert sorted(column.ids("")) == [record["id"] for _, record in stored]

    for value in values:
        check_query(column, value)

    if column.kind.is_compared:
        check_equality(column, records)

    check_order(column, records)

    # Each value is stored twice.
    for patched, replaced in zip(records[::2], records[1::2], strict=True):
        check_write(column.client.patch, patched)
        check_write(column.client.put, replaced)


def check_answer(column, value, answer):
    """Compare what is answered with what was sent."""
    if answer is None:
        assert column.may_be_null(value), value
    elif not column.kind.is_foreign:
        expected, actual = column.read(value), column.read(answer)
        assert actual == expected, value

    if answer is not None:
        column.schema.validate(answer)


def check_query(column, value):
    """Look for a value, which is understood or refused by the name of its field."""
    query = column.query("$gte" if column.kind.is_ordered else "$eq", value)
    answer = column.client.get(f"/values?{query}")
    assert answer.status_code in (200, 400), (query, answer.json)

    if answer.status_code == 400:
        assert names_its_field(answer), (query, answer.json)


def check_equality(column, records):
    """Look for each value that is answered, over a socket and in a query string."""
    for value, equal in by_value(column, records):
        assert column.compared("$eq", value) == equal, value

        if column.kind.is_text or value not in NULLS:
            assert {*column.ids(column.query("$eq", value))} == equal, value


def by_value(column, records):
    """Yield each distinct value, and the identifiers of the records that have it."""
    read = column.read

    for value in {
        repr(read(each["value"])): each["value"] for each in records
    }.values():
        equal = [each for each in records if read(each["value"]) == read(value)]
        yield value, {each["id"] for each in equal}


def check_order(column, records):
    """Sort the records, and compare them with each value."""
    kind = column.kind

    if not kind.is_ordered:
        is_sorted = isinstance(kind.type, sa.Enum)
        answer = column.client.get("/values?$sort[value]=1")
        assert answer.status_code == (200 if is_sorted else 400)
        return

    places = {id: place for place, id in enumerate(column.ids("$sort[value]=1"))}
    ordered = sorted(records, key=lambda record: places[record["id"]])

    if column.database not in kind.other_order:
        values = [column.read(record["value"]) for record in ordered]
        assert values == sorted(values)

    ids = [record["id"] for record in ordered]

    for value, equal in by_value(column, records):
        lower = {*ids[: min(map(ids.index, equal))]}
        assert column.compared("$lt", value) == lower, value
        assert column.compared("$lte", value) == lower | equal, value


def check_write(write, record):
    """Write what was answered."""
    answer = write(f"/values/{record['id']}", json={"value": record["value"]})
    assert (answer.status_code, answer.json) == (200, record), record
