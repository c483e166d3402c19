"""A single statement answers, stores and sends the same as the unit of work."""

from __future__ import annotations

import datetime as dt

import pytest

from ...sql import statements_of
from .models import Shade
from .twins import answer
from .twins import kinds


def creates(path, *bodies, **query):
    return [(path, ("create", body), query) for body in bodies]


def patches(path, id, *bodies, **query):
    return [(path, ("patch", id, body), query) for body in bodies]


def queried(path, *queries):
    """A patch and a remove with each query."""
    return [
        (path, call, query)
        for query in queries
        for call in (("patch", 9001, {"code": "n", "amount": 8}), ("remove", 9001))
    ]


BULK = [
    # Keys that are given, in an odd order, twice, and that are there already.
    [{"id": 9, "code": "n"}, {"id": -3, "code": "m"}, {"id": 5, "code": "o"}],
    [{"id": 7}, {"id": 7}],
    [{"id": 7}, {"id": 9001}],
    [{"id": 5}, {"id": 0}],
    [{"id": 0}],
    # One of them is wrong.
    [{"code": "n"}, {"code": "a"}, {"code": "m"}],
    [{"code": "n"}, {"code": "n"}],
    [{"amount": 1}, {"amount": -1}],
    [{"owner_id": 1}, {"owner_id": 9}],
    [{"x": 2, "y": 1}, {"x": 1, "y": 1}],
    [{"amount": 1}, {"amount": "x"}],
    [{"amount": 1}, {"nope": 1}],
    # Nothing is wrong.
    [{"code": "n"}],
    [{"code": "n"}, {"code": "m"}],
    [{"code": None, "amount": 1}, {"code": "n", "amount": None}],
    [{"label": "é", "rank": 1}, {"rank": 2, "label": "🎉"}],
    [{"color": "red", "word": "no"}, {"color": None, "word": None}],
    [{"document": {"b": None, "a": [1]}}, {"document": "null"}],
]

ONE_STATEMENT = [
    *creates(
        "things",
        {"code": "n"},
        {"code": None},
        {"code": "", "label": "Zoë 🎉 \\ ' \" %s :x"},
        {"code": "a\0b"},
        {"code": "x" * 21},
        {"amount": 3, "needed": None},
        {"id": 0, "code": "n"},
        {"id": -7},
        {"id": 9001},
        {"id": 2**31},
        {"id": "77"},
        {"id": "x"},
        {"code": "a"},
        {"amount": -1},
        {"owner_id": 1},
        {"owner_id": 9},
        {"x": 1, "y": 1},
        {"label": "n", "rank": 3},
        {"rank": "x", "nope": 1},
        {"color": "green", "short": "g", "word": "no"},
        {"color": Shade.green, "short": Shade.green},
        {"color": "blue", "short": "green"},
        {"document": {"b": [1, None], "a": "ë"}},
        {"document": "null", "at": "2024-02-29T12:30:15+02:00"},
        *BULK,
        [],
    ),
    *creates("things", {"code": "n"}, [{"code": "n"}], **{"$select": ["label"]}),
    *creates("things", {"code": "n", "color": "red"}, **{"$select": ["color", "rank"]}),
    *creates("things", {"code": "n"}, **{"$select": ["nope"]}),
    *creates("things", {"code": "n"}, **{"$limit": 0, "code": "z"}),
    *creates("things", {"code": "n"}, nope=1),
    *patches(
        "things",
        9001,
        {"code": "n"},
        {"code": "a"},
        {"code": None},
        {"code": "b"},
        {"code": "a\0b"},
        {"amount": -1},
        {"amount": "x"},
        {"owner_id": 2},
        {"owner_id": None},
        {"owner_id": 9},
        {"x": None, "y": 3},
        {"label": "é🎉", "rank": None},
        {"color": "green", "short": "g", "word": None},
        {"document": [{"a": None}]},
        {"at": "2024-02-29T12:30:15Z"},
        {"needed": None},
        {"id": 5, "code": "n"},
        {"nope": 1},
    ),
    *patches("things", "9001", {"code": "n"}),
    *patches("things", 999, {"code": "n"}, {"code": "a"}),
    *patches("things", "x", {"code": "n"}),
    *patches("things", "", {"code": "n"}),
    *patches("things", 2**40, {"code": "n"}),
    *patches("things", 9001, {"code": "n"}, **{"$select": ["label", "short"]}),
    *queried(
        "things",
        {"code": "a"},
        {"code": "b"},
        {"code": None},
        {"code": {"$ne": None}, "word": "yes"},
        {"amount": {"$gt": 0, "$lte": "1"}},
        {"amount": {"$in": [1, 2]}},
        {"amount": {"$in": [2, None]}},
        {"amount": {"$nin": [1, None]}},
        {"amount": {"$in": []}},
        {"amount": {"$in": list(range(60))}},
        {"amount": {"$between": [1, 3]}},
        {"label": "l", "rank": {"$lt": 6}},
        {"rank": {"$null": False}, "code": {"$like": "a%"}},
        {"color": "red", "short": "r"},
        {"color": {"$in": ["green", None]}},
        {"color": "blue"},
        {"document": {"a": 1}},
        {"document": 5},
        {"at": {"$gte": "2024-02-29T14:30:15+02:00"}},
        {"$or": [{"code": "z"}, {"$and": [{"code": "a"}, {"rank": 5}]}]},
        {"$nor": [{"rank": 5}]},
        {"$not": {"rank": 4}},
        {"$sort": {"code": 1}, "$limit": 0, "$skip": 5},
        {"$select": ["label"]},
        {"$select": ["color", "short", "nope"]},
        {"nope": 1},
        {"rank": "x"},
    ),
    ("things", ("remove", "9001"), {}),
    ("things", ("remove", 999), {}),
    ("things", ("remove", "x"), {}),
    *creates("twice", {"one": 4}, [{"one": 4}, {"one": 5}], **{"$select": ["one"]}),
    *patches("twice", 9001, {"one": 4}, **{"$select": ["one"]}),
    # The name of another field is the identifier.
    *creates("named", {"code": "n", "id": 7}, [{"code": "n"}, {"code": "m"}]),
    *creates("named", {"code": "a"}, [{"code": "n"}, {"code": "a"}]),
    *patches("named", "a", {"rank": 8}, {"code": "z", "id": 9, "rank": 8}),
    *patches("named", "é", {"rank": 8}),
    ("named", ("remove", "a"), {"rank": 5}),
    ("named", ("remove", "A"), {}),
    # A primary key of several columns.
    *creates(
        "seats",
        {"row": "B", "number": 0, "code": "B0"},
        {"row": "A", "number": 1, "code": "x"},
        {"row": "A", "number": 2, "code": "A1"},
        {"row": "A", "code": "x"},
        [{"row": r, "number": n, "code": f"{r}{n}"} for r, n in ("B2", "A9", "B1")],
        [{"row": "B", "number": n, "code": "same"} for n in (2, 1)],
        [{"row": "B", "number": 1, "code": code} for code in "xy"],
    ),
    *patches("seats", "A1", {"guest": "Bob"}, {"row": "Z", "number": 5, "guest": None}),
    ("seats", ("update", "A1", {"row": "A", "number": 1}), {}),
    ("seats", ("update", "A1", {"guest": "Eve"}), {"guest": "Bob"}),
    ("seats", ("remove", "A1"), {"guest": "Ann"}),
    ("seats", ("remove", "A2"), {}),
    # Defaults.
    *creates(
        "filled",
        {"name": "n"},
        {"name": "n", "scalar": None, "server": None, "note": None},
        {"name": "n", "zero": None, "called": None, "expression": None},
        {"name": "n", "color": None, "server_number": None, "derived": None},
        {"name": "n", "scalar": "x", "server": "x", "zero": 9, "expression": 9},
        {"name": "n", "color": "red", "server_number": 1, "derived": "x"},
        {"note": "x"},
        [{"name": "n"}, {"name": "m"}, {"name": "o"}],
        [{"name": "n", "server": "x"}, {"name": "m", "server": "y"}],
        [{"name": "n", "scalar": None}, {"name": "m", "scalar": None}],
    ),
    *patches("filled", 9001, {"scalar": None, "server": None}, {"color": "red"}),
    *creates("sums", {"one": 2}, [{"one": 2}, {"one": 3}], {"one": 1, "two": 3}),
    ("sums", ("remove", 9001), {"two": 2}),
    # Text as a primary key.
    *creates("words", {"name": "é", "text": "x"}, {"name": "a"}, {"text": "x"}),
    *creates("words", {"name": ""}, [{"name": name} for name in ("z", "B", "é", "Z")]),
    *creates("words", [{"name": "n"}, {"name": "a"}]),
    *patches("words", "a", {"text": ""}, {"name": "b", "text": "x"}),
    *patches("words", "A", {"text": "x"}),
    ("words", ("remove", "a"), {"text": {"$like": "Zoë%"}}),
    *creates("fixed", {"code": "abcde", "text": "ab"}, {"code": "ab"}),
    *creates("fixed", [{"code": "vwxyz"}, {"code": "abcde"}]),
    *creates("fixed", [{"code": "xy"}, {"code": "ab"}], [{"code": "ab"}]),
    # Values that databases and types make others of, or refuse.
    *creates(
        "exact",
        {"small": 0.1},
        {"small": 16777217.0},
        {"moment": dt.datetime(2024, 1, 1, 1, 1, 1, 654321)},
        {"clock": dt.time(1, 1, 1, 654321)},
        {"blob": "AA=="},
        {"blob": "AAAAAAAA"},
        {"fixed": "ab"},
        {"fixed": "ab  "},
        {"even": 2},
        {"even": 3},
        {"shout": "loud"},
        [{"shout": "loud", "even": 2}, {"shout": None, "even": None}],
        [{"shout": "loud", "even": 2}, {"shout": None, "even": 3}],
    ),
    *patches("exact", 9001, {"small": 0.1}, {"even": 3}, {"shout": "loud"}),
    *patches("exact", 9001, {"moment": dt.datetime(2024, 1, 1, 1, 1, 1, 654321)}),
    ("exact", ("remove", 9001), {"shout": None, "small": 0.5}),
    # Documents.
    *creates("documents", {"plain": 1, "sql_null": None}, {"filled": {"a": None}}),
    *creates("decorated", {"wrapped": {"a": None}}, [{"wrapped": 1}, {"wrapped": []}]),
    *patches("decorated", 9001, {"wrapped": "null"}, {"name": "n"}),
    *creates("documents", [{"filled": 1, "plain": 2}, {"filled": [], "plain": {}}]),
    *patches("documents", 9001, {"sql_null": None}, {"filled": None, "plain": 2}),
    # A primary key of a type of its own.
    *creates("debts", {"number": 1}, {"id": 4, "number": 1}),
    *creates("debts", [{"id": 4, "number": 1}, {"id": 9, "number": 2}]),
    # The database requires what the model does not.
    *creates("loose", {"id": 7, "needed": None}, {"id": 7, "needed": "x"}),
    *creates("loose", [{"id": 7, "needed": "x"}, {"id": 8, "needed": None}]),
    *patches("loose", 9001, {"needed": None}, {"needed": "y"}),
]
"""Services, calls and queries that a single statement may answer."""


def named(cases):
    return [
        pytest.param(*case, id=f"{case[0]}-{' '.join(map(str, case[1]))[:40]}")
        for case in cases
    ]


UNIT_OF_WORK = [
    *creates(
        "things",
        {},
        {"needed": None},
        {"document": None, "code": "n"},
        [{"document": 1}, {"document": None}],
        [{"code": "n"}, {"amount": 1}],
        [{"id": 7}, {"code": "n"}],
        [{"needed": None, "rank": 1}, {"needed": "y", "rank": 1}],
        [{}, {}],
    ),
    *creates("twice", {"one": 4}, [{"one": 4}, {"one": 5}]),
    *creates("twice", {"one": 4}, **{"$select": ["two"]}),
    *patches("twice", 9001, {"one": 4}),
    *patches("twice", 9001, {"one": 4}, two=2, **{"$select": ["one"]}),
    *patches("twice", 9001, {"one": 4}, two=3, **{"$select": ["one"]}),
    ("twice", ("remove", 9001), {"$select": ["two"]}),
    ("twice", ("remove", 9001), {"two": {"$gt": 1}, "$select": ["one"]}),
    *patches("things", 9001, {}, {"document": None}, {"id": 5}),
    *patches("things", None, {"label": "n"}),
    *patches("things", None, {"label": "n"}, **{"$limit": 1, "$sort": {"code": -1}}),
    ("things", ("update", 9001, {"code": "n", "amount": 4, "document": 1}), {}),
    ("things", ("remove", None), {}),
    ("things", ("remove", None), {"$sort": {"code": -1}, "$limit": 1}),
    *patches("sums", 9001, {"one": 4}),
    *creates("documents", {"plain": None, "filled": 1}),
    ("filled", ("update", 9001, {"name": "n"}), {}),
]
"""Services, calls and queries for which it takes more than one statement."""


@pytest.mark.parametrize(
    ("path", "call", "query"), named([*ONE_STATEMENT, *UNIT_OF_WORK])
)
def test_each_way_gives_and_stores_the_same(twins, path, call, query):
    single, unit = twins.both(path, call, query=query)

    assert single[:2] == unit[:2]


def test_a_record_that_others_refer_to_is_not_removed(twins):
    twins.fill("things")
    outcomes = []

    for services in (twins.single, twins.unit_of_work):
        with statements_of(twins.engine) as statements:
            given = answer(services["owners"], "remove", 1)

        outcomes.append((given, twins.stored("owners"), kinds(statements)))

    assert outcomes[0][:2] == outcomes[1][:2]
    assert [each[2] for each in outcomes] == ["DELETE", "SELECT SELECT DELETE"]
