"""A bounded number of statements is cached, of a bounded size."""

from __future__ import annotations

import pytest

from flask_records.query import Fields
from flask_records.query.plans import PlanCache

from ..models import Room

MAX_STATEMENTS = 256
MAX_WEIGHT = 10_000
"""The number of terms and columns of all statements that are cached."""


@pytest.fixture
def is_built():
    """A function that asks for a statement by its key, and returns whether it had to be
    built.
    """
    cache = PlanCache(Fields(Room))

    def is_built(key, columns=1):
        built = []
        cache.plan((key,), lambda: built.append(key), {}, columns)
        return built == [key]

    return is_built


def test_the_oldest_of_too_many_statements_is_dropped(is_built):
    keys = range(MAX_STATEMENTS + 1)

    assert all([is_built(key) for key in keys])
    assert not any([is_built(key) for key in keys[1:]])
    assert is_built(0)


def test_the_oldest_of_too_large_statements_is_dropped(is_built):
    keys = range(11)

    assert all([is_built(key, MAX_WEIGHT // 10) for key in keys])
    assert not any([is_built(key) for key in keys[1:]])
    assert is_built(0)


def test_a_large_statement_takes_the_place_of_small_ones(is_built):
    small = [("small", number) for number in range(MAX_STATEMENTS)]
    large = [("large", number) for number in range(100)]

    for key in small:
        is_built(key)

    for key in large:
        is_built(key, MAX_WEIGHT // 100)

    assert not any([is_built(key) for key in large])
    assert is_built(small[0])
