"""A single statement writes values of all types as the unit of work does."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa

from .models import Decorated
from .twins import kinds

UUIDS = [str(uuid.UUID(int=n)) for n in (7, 3, 5)]

VALUES = {
    "integer": [-5, "7", 0, 2**31 - 1],
    "small": [-(2**15)],
    "big": [2**63 - 1, -(2**63)],
    "text": ['Zoë\'s "50%_" \\ 🎉\n\t', "", "null", ":x %(y)s ?"],
    "short": ["ÄÖÜäöüß€🎉é"],
    "boolean": [True, "false"],
    "real": [0.1, -1.5e300, 2],
    "price": ["12.50", 0.1, "-99999999.99", 3, Decimal("1E+1")],
    "naive": ["2024-02-29T12:30:15Z", "2024-03-01T01:30:15+13:00"],
    "aware": ["2024-02-29T12:30:15Z", "2024-02-28T23:30:15-13:00", 1709209815000],
    "day": ["2024-02-29"],
    "clock": ["23:59:58"],
    "span": [90061, 0.5, -3],
    "unique_id": [UUIDS[0].upper()],
    "color": ["red"],
    "word": ["yes"],
    "blob": ["AP8Qgw==", ""],
    "document": [{"b": [1, {"c": None}], "a": "ë"}, [], 'it\'s "text"', 1.5, False, ""],
}
"""Values of fields of all types."""


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in VALUES.items() for value in values],
)
def test_a_value_is_written_as_the_unit_of_work_does(twins, field, value):
    bodies = [{"id": id, field: value} for id in UUIDS]
    calls = [
        ("create", bodies[0]),
        ("create", bodies[1:]),
        ("patch", UUIDS[1], {field: None, "integer": 1}),
        ("patch", UUIDS[2], {field: value}),
        ("remove", UUIDS[0]),
    ]

    single, unit = twins.both("everything", *calls)

    assert single[:2] == unit[:2]
    assert kinds(single[2]).startswith("INSERT INSERT")


@pytest.mark.parametrize("field", VALUES)
def test_null_is_written_as_the_unit_of_work_does(twins, field):
    body = {"integer": 1, "text": "a", field: None}
    calls = [("create", body | {"id": UUIDS[0]}), ("patch", UUIDS[0], body)]

    single, unit = twins.both("everything", *calls)

    assert single[:2] == unit[:2]


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("documents", ("create", {"plain": 5, "filled": None})),
        ("documents", ("create", [{"filled": None}, {"filled": None}])),
        ("documents", ("patch", 9001, {"filled": None})),
        ("decorated", ("create", {"name": "n", "wrapped": None})),
        ("decorated", ("create", [{"wrapped": None}, {"wrapped": None}])),
        ("decorated", ("patch", 9001, {"name": "n", "wrapped": None})),
    ],
    ids=str,
)
def test_null_of_a_document_is_a_null_of_sql_as_with_the_unit_of_work(
    twins, path, call
):
    """Whatever the default and the type of the column are."""
    single, unit = twins.both(path, call)

    assert single[:2] == unit[:2]


def test_a_document_that_is_absent_is_a_null_of_sql(twins):
    twins.fill("decorated")

    created = twins.single["decorated"].create({"name": "n"})

    with twins.engine.connect() as connection:
        is_null = sa.literal_column("wrapped").is_(None)
        statement = sa.select(is_null).where(Decorated.id == created["id"])
        assert connection.execute(statement).scalar_one()
