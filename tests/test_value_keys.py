"""Keys that equal values have in common."""

from __future__ import annotations

import datetime as dt
import itertools
import string
import uuid
from decimal import Decimal

import pytest
import sqlalchemy as sa

from flask_records.query.value_keys import key_of
from flask_records.query.value_keys import may_equal
from flask_records.query.value_keys import UNKNOWN

from .conftest import url_of

ALIKE = [
    ("a", "A"),
    ("a", "a "),
    ("ann", "än"),
    ("7f-00", "7F00"),
    ("v1", "w1"),
    ("jay", "iai"),
    ("room 07", "room 7"),
    ("ccs", "cscs"),
    ("c", "ch"),
]
"""Texts that some collation takes for equal."""


@pytest.mark.parametrize("pair", ALIKE, ids=str)
def test_texts_that_a_collation_takes_for_equal_may_be_equal(pair):
    assert may_equal(*pair)


@pytest.mark.parametrize(
    "pair",
    [
        ("a", "b"),
        ("room 7", "room 8"),
        ("ann@example.com", "bob@example.com"),
        (str(uuid.UUID(int=1)), str(uuid.UUID(int=2))),
        ("a", None),
    ],
    ids=str,
)
def test_texts_with_other_letters_or_digits_differ(pair):
    assert not may_equal(*pair)


@pytest.mark.parametrize(
    ("value", "other"),
    [(1, 1.0), (1, True), (Decimal("1.00"), 1), (None, None), ("a", "A")],
    ids=str,
)
def test_equal_values_have_the_same_key(value, other):
    assert key_of(value) == key_of(other)


@pytest.mark.parametrize(
    "value",
    ["ä", b"a", {}, [], Decimal("1E+40"), dt.timedelta.max],
    ids=str,
)
def test_value_that_only_the_database_compares_has_no_key(value):
    assert key_of(value) is UNKNOWN


LOOSE = "{}-u-ks-level1-kn-true-ka-shifted"
"""The loosest collation of a language on PostgreSQL."""

CONTRACTED = ["ccs", "cscs", "ddzs", "dzsdzs", "ggy", "gygy", "007", "7", "a-b"]


def collations_of(connection, kind):
    """The names of the collations of a server, each of which may be used at once."""
    if kind == "mariadb":
        yield from connection.exec_driver_sql(
            "SELECT full_collation_name"
            " FROM information_schema.collation_character_set_applicability"
            " WHERE character_set_name = 'utf8mb4'"
        ).scalars()
        return

    names = connection.exec_driver_sql(
        "SELECT collname FROM pg_collation WHERE collprovider = 'i'"
    ).scalars()

    for language in sorted({name.split("-")[0] for name in names}):
        connection.exec_driver_sql(
            f"CREATE COLLATION loose (provider = icu, deterministic = false,"
            f" locale = '{LOOSE.format(language)}')"
        )
        yield "loose"
        connection.exec_driver_sql("DROP COLLATION loose")


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_texts_that_any_collation_takes_for_equal_have_the_same_key(kind, server_urls):
    engine = sa.create_engine(url_of(kind, server_urls))
    letters = string.ascii_lowercase + "01 -_A"
    texts = [*letters, *map("".join, itertools.product(letters, repeat=2))]
    column = sa.Column("text", sa.String(10))
    table = sa.Table("text_keys", sa.MetaData(), column, prefixes=["TEMPORARY"])
    joined = "string_agg(text, '|')" if kind == "postgresql" else "group_concat(text"
    joined += "" if kind == "postgresql" else " SEPARATOR '|')"
    count = 0

    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"text": t} for t in texts + CONTRACTED])

        if kind == "mariadb":
            connection.exec_driver_sql("SET group_concat_max_len = 1000000")

        for name in collations_of(connection, kind):
            count += 1
            groups = connection.exec_driver_sql(
                f"SELECT {joined} FROM text_keys GROUP BY text COLLATE {name}"
            ).scalars()
            mixed = [g for g in groups if len(set(map(key_of, g.split("|")))) > 1]
            assert mixed == [], name

    engine.dispose()
    assert count > 100
