"""Queries of records that are in memory."""

from __future__ import annotations

import pytest

from flask_records import BadRequest
from flask_records.query.in_memory import InMemory

RECORDS = [
    {"id": "a:1", "channel": "a", "userId": 1},
    {"id": "a:2", "channel": "a", "userId": 2},
    {"id": "b:1", "channel": "b", "userId": 1},
    {"id": "b:x", "channel": "b", "userId": "x"},
    {"id": "b:0", "channel": "b", "userId": None},
]

in_memory = InMemory("presence", ("id", "channel", "userId"))


def found(query):
    parsed = in_memory.parse(query)
    test = in_memory.test(parsed)
    records = [record for record in RECORDS if test(record)]
    return [record["id"] for record in in_memory.sorted(records, parsed)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, ["a:1", "a:2", "b:1", "b:x", "b:0"]),
        ({"channel": "a"}, ["a:1", "a:2"]),
        ({"userId": 1}, ["a:1", "b:1"]),
        ({"userId": "1"}, ["a:1", "b:1"]),
        ({"userId": None}, ["b:0"]),
        ({"userId": "None"}, []),
        ({"userId": ["2", "x"]}, ["a:2", "b:x"]),
        ({"userId": {"$in": [2, None]}}, ["a:2", "b:0"]),
        ({"userId": {"$nin": [1, None]}}, ["a:2", "b:x"]),
        ({"channel": {"$ne": "a"}, "userId": {"$ne": 1}}, ["b:x", "b:0"]),
        ({"$or": [{"id": "a:2"}, {"id": "b:1"}]}, ["a:2", "b:1"]),
        ({"$and": [{"channel": "a"}, {"userId": 1}]}, ["a:1"]),
        ({"channel": "a", "$sort": {"userId": -1}}, ["a:2", "a:1"]),
        ({"$sort": {"userId": 1, "id": -1}}, ["b:0", "b:1", "a:1", "a:2", "b:x"]),
    ],
)
def test_records_that_meet_a_query(query, ids):
    assert found(query) == ids


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"name": "x"}, "'name' is not a field of 'presence'."),
        ({"$sort": {"name": 1}}, "'name' is not a field of 'presence'."),
        ({"$select": ["name"]}, "'name' is not a field of 'presence'."),
        ({"$or": [{"name": "x"}]}, "'name' is not a field of 'presence'."),
        ({"userId": {"$gt": 1}}, "Invalid query parameter \\$gt"),
        ({"$nor": []}, "Invalid query parameter \\$nor"),
    ],
)
def test_query_that_is_not_understood_is_refused(query, message):
    with pytest.raises(BadRequest, match=message):
        found(query)
