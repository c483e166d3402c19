from contextlib import contextmanager

import pytest

from ...databases import served
from .desk import CONFIG, Desk


@contextmanager
def opened(url, **options):
    desk = Desk(**options)

    with served(desk.db, desk.records, url, **CONFIG) as desk.app:
        with desk.app.app_context():
            desk.fill()
            yield desk


@pytest.fixture(scope="module")
def served_desk(module_url):
    with opened(module_url) as desk:
        yield desk


@pytest.fixture
def desk(served_desk):
    """A help desk on each database, with the same records for each test."""
    served_desk.fill()
    return served_desk


@pytest.fixture
def open_desk():
    """A function that opens a help desk with other options, on SQLite."""
    return lambda **options: opened("sqlite://", **options)
