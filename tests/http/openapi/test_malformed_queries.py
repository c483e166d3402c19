"""Queries and identifiers that do not fit the document of an application."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from .malformed import DEEP
from .malformed import malformed
from .malformed_site import site as site


def queries(name, schema):
    """The queries of a field that its schema refuses."""
    value, operations = schema["anyOf"]
    yield from texts_for(name, value)

    for operator, each in operations["properties"].items():
        is_list = each.get("type") == "array"
        place = f"{name}[{operator}]"
        shown = each["items"] if is_list else each
        yield from texts_for(f"{place}[]" if is_list else place, shown)

        if value:
            yield f"{place}[a]=1"

    yield from (f"{name}[a]=1", f"{name}[a][b]=1", f"{name}{'[$not]' * 30}=1")
    yield from (f"$sort[{name}]=up", f"$sort[{name}]=2", f"$sort[{name}][a]=1")
    yield f"{name}{'[a]' * DEEP}=1"


def of_any_length(schema):
    """A schema for queries, which may compare with longer texts than there are."""
    return {name: each for name, each in schema.items() if name != "maxLength"}


def texts_for(place, schema):
    """Texts that stand for no value of a schema."""
    for value in malformed(of_any_length(schema)):
        if isinstance(value, str) and "\ud800" not in value:
            yield f"{place}={quote(value)}"


def accepted_queries(site):
    properties = site.parameters("/things")
    sent = [
        (name, query, site.ask(query))
        for name, schema in properties.items()
        if not name.startswith("$")
        for query in queries(name, schema)
    ]
    assert len(sent) > 50
    return [each for each in sent if [*each[2]] != [each[0]]]


def test_malformed_values_of_queries_are_refused(site):
    assert accepted_queries(site) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[(f"{each}={value}", each) for each in ("$limit", "$skip") for value in "x-"],
        *[("$limit=-1", "$limit"), ("$limit[]=1", "$limit"), ("$skip[a]=1", "$skip")],
        *[(f"$limit={'9' * 200}", "$limit"), ("$skip=1.5", "$skip")],
        *[("$sort=id", "$sort"), ("$sort[]=id", "$sort"), ("$sort[nope]=1", "nope")],
        *[("$select[a]=id", "$select"), ("$select[]=nope", "nope")],
        *[("$or=1", "$or"), ("$or[a]=1", "$or"), ("$or[0]=1", "$or")],
        *[("$and[0][$or][0][nope]=1", "nope"), ("nope=1", "nope")],
        *[(f"$or{'[0][$or]' * 30}=1", "$or"), ("$not=1", "$not")],
    ],
)
def test_malformed_parameters_of_queries_are_refused(site, query, name):
    assert [*site.ask(query)] == [name]


@pytest.mark.parametrize("path", ["things", "people", "seats"])
@pytest.mark.parametrize(
    "id", ["nope", "0x1", "1.5", "9" * 500, "%00", "%ED%A0%80", "{}", "1,2,3", "null"]
)
@pytest.mark.parametrize("verb", ["GET", "PATCH", "DELETE"])
def test_malformed_identifiers_name_no_record(site, path, id, verb):
    answer = site.client.open(f"/{path}/{id}", method=verb, json={})

    assert answer.status_code == 404
    assert len(answer.text) < 1_000
