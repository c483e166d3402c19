"""Queries that follow relationships find what the reference finds, and nothing that a
rule hides.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_records import BadRequest, FromRecord

from ..relations.conftest import opened
from ..relations.test_statements import params_of, rows
from .examples import MANY
from .related import (
    FUNCTIONS,
    grouped,
    KINDS,
    names_of,
    queries,
    Reference,
    ROWS,
    TABLES,
    VIEWERS,
    wheres,
)

viewers = st.sampled_from([*VIEWERS])
services = st.sampled_from(["tickets", "comments", "people"])
keys = st.sampled_from(["status", "organisationId", "cost"])
functions = st.dictionaries(
    st.sampled_from(sorted(FUNCTIONS)), st.sampled_from(["cost", "id"])
)


@pytest.fixture(scope="module")
def desk(module_url):
    unpaged = {"paginate": None}

    with opened(module_url, tickets=unpaged) as desk:
        desk.fill(TABLES)
        yield desk


@MANY
@given(data=st.data(), viewer=viewers, service=services)
def test_any_query(desk, data, viewer, service):
    check(desk, viewer, service, data.draw(queries(service)))


def check(desk, viewer, service, query):
    reference, names = Reference(VIEWERS[viewer]), query["$sort"]
    params = params_of(desk, viewer)
    found = desk.records[service].as_caller(params).find
    is_hidden = not VIEWERS[viewer]["agent"] and any(map(is_ruled(service), names))

    if is_hidden:
        with pytest.raises(BadRequest, match="not visible in every record"):
            found(query)

        return

    expected = [row["id"] for row in reference.find(service, query)]
    assert [row["id"] for row in found(query)] == expected, query
    params.query = query
    statement = desk.records[service].statement(params)
    assert [row["id"] for row in rows(desk, statement)] == expected


def is_ruled(service):
    """Return whether a name is that of a field that not every record shows."""
    ruled = {"people": "name", "tickets": "assignee.name", "comments": "assignee.name"}
    return lambda name: name == ruled[service] or name.endswith("assignee.name")


@MANY
@given(
    viewer=viewers,
    where=wheres("tickets"),
    keys=st.lists(keys, unique=True, max_size=2),
    functions=functions,
)
def test_any_groups(desk, viewer, where, keys, functions):
    keys = keys if keys or functions else ["status"]
    query = {**where, "$group": keys, **functions}
    rows = Reference(VIEWERS[viewer]).find("tickets", where)
    expected = grouped(rows, keys, functions)

    # There is one group without a key, if there are no records, too.
    if not keys and not rows:
        expected = [{n: {f: FUNCTIONS[n]([])} for n, f in functions.items()}]

    found = desk.records["tickets"].as_caller(params_of(desk, viewer)).find(query)

    assert [dict(each) for each in found] == expected, query


def same(service):
    """Queries that compare fields of records and related ones with those of records."""
    own = KINDS[service]
    pairs = [
        (name, other)
        for name, kind in sorted(names_of(service).items())
        for other in own
        if kind == own[other]
    ]
    forms = [lambda taken: taken, lambda taken: {"$not": taken}]
    taken = st.builds(
        lambda pair, form: {pair[0]: form(FromRecord(pair[1]))},
        st.sampled_from(pairs),
        st.sampled_from(forms),
    )
    groups = st.builds(
        lambda name, items: {name: items},
        st.sampled_from(["$or", "$and", "$nor"]),
        st.lists(taken | wheres(service), min_size=1, max_size=3),
    )
    return taken | groups | st.builds(lambda *both: both[0] | both[1], taken, groups)


def filled(query, record):
    """Return a query with the values of a record, of which null equals nothing."""
    if isinstance(query, FromRecord):
        value = record[query.field]
        return {"$in": [] if value is None else [value]}

    if isinstance(query, dict):
        return {name: filled(value, record) for name, value in query.items()}

    return [filled(e, record) for e in query] if isinstance(query, list) else query


@MANY
@given(data=st.data(), service=services)
def test_any_comparison_of_fields(desk, data, service):
    query, reference = data.draw(same(service)), Reference(VIEWERS[1])
    expected = [
        row["id"]
        for row in ROWS[service]
        if reference.matches(service, filled(query, row), row)
    ]

    with desk.app.test_request_context():
        found = desk.records[service].find(query)
        test = desk.records[service].capabilities.matching().test(query)
        told = {each["id"]: test(each) for each in desk.records[service].find()}

    assert [row["id"] for row in found] == expected, query
    assert {id for id, is_match in told.items() if is_match} <= {*expected}, query
    assert {id for id, is_match in told.items() if is_match is False}.isdisjoint(
        expected
    )
