"""A single statement answers, stores and sends the same as the unit of work."""

import pytest

from ...sql import statements_of
from .models import Shade
from .twins import answer, kinds


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


CREATES = [
    *creates(
        "things",
        {},
        {"code": "n"},
        {"code": "a\0b"},
        {"amount": 3, "needed": None},
        {"code": "a"},
        {"amount": -1},
        {"owner_id": 9},
        {"label": "n", "rank": 3},
        {"color": "green", "short": "g", "word": "no"},
        {"color": Shade.green, "short": Shade.green},
        {"document": None, "code": "n"},
        [{"id": 9, "code": "n"}, {"id": -3, "code": "m"}, {"id": 5, "code": "o"}],
        [{"code": "n"}, {"code": "a"}, {"code": "m"}],
        [{"amount": 1}, {"amount": "x"}],
        [{"id": 7}, {"code": "n"}],
        [],
    ),
    *creates("things", {"code": "n", "color": "red"}, **{"$select": ["color", "rank"]}),
    *creates("named", {"code": "n", "id": 7}, [{"code": "n"}, {"code": "a"}]),
    *creates(
        "filled",
        {"name": "n"},
        {"name": "n", "scalar": None, "server": None, "note": None},
        {"name": "n", "color": None, "server_number": None, "derived": None},
        {"name": "n", "color": "red", "server_number": 1, "derived": "x"},
        [{"name": "n", "scalar": None}, {"name": "m", "scalar": None}],
    ),
    *creates("sums", {"one": 2}, [{"one": 2}, {"one": 3}], {"one": 1, "two": 3}),
    *creates("words", {"name": ""}, [{"name": name} for name in ("z", "B", "é", "Z")]),
]

PATCHES = [
    *patches(
        "things",
        9001,
        {},
        {"code": "n"},
        {"code": "b"},
        {"amount": -1},
        {"owner_id": 9},
        {"x": None, "y": 3},
        {"label": "é🎉", "rank": None},
        {"color": "green", "short": "g", "word": None},
        {"document": [{"a": None}]},
        {"document": None},
        {"needed": None},
        {"id": 5, "code": "n"},
    ),
    *patches("things", 999, {"code": "n"}, {"code": "a"}),
    *patches("things", 9001, {"code": "n"}, **{"$select": ["label", "short"]}),
    *patches("things", None, {"label": "n"}, **{"$limit": 1, "$sort": {"code": -1}}),
    *patches("named", "a", {"rank": 8}, {"code": "z", "id": 9, "rank": 8}),
    *patches("filled", 9001, {"scalar": None, "server": None}, {"color": "red"}),
    *patches("words", "a", {"text": ""}, {"name": "b", "text": "x"}),
]

OTHERS = [
    *queried(
        "things",
        {"code": "a"},
        {"code": "b"},
        {"amount": {"$in": [2, None]}},
        {"amount": {"$in": list(range(60))}},
        {"rank": {"$null": False}, "code": {"$like": "a%"}},
        {"color": {"$in": ["green", None]}},
        {"document": {"a": 1}},
        {"$or": [{"code": "z"}, {"$and": [{"code": "a"}, {"rank": 5}]}]},
        {"$sort": {"code": 1}, "$limit": 0, "$skip": 5},
    ),
    ("things", ("remove", 999), {}),
    ("things", ("remove", "x"), {}),
    ("things", ("remove", None), {"$sort": {"code": -1}, "$limit": 1}),
    ("things", ("update", 9001, {"code": "n", "amount": 4, "document": 1}), {}),
    ("named", ("remove", "A"), {}),
    ("filled", ("update", 9001, {"name": "n"}), {}),
    ("sums", ("remove", 9001), {"two": 2}),
    ("words", ("remove", "a"), {"text": {"$like": "Zoë%"}}),
]


def named(cases):
    return [
        pytest.param(*case, id=f"{case[0]}-{' '.join(map(str, case[1]))[:40]}")
        for case in cases
    ]


@pytest.mark.parametrize(
    ("path", "call", "query"), named([*CREATES, *PATCHES, *OTHERS])
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
