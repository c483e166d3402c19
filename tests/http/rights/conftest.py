from contextlib import contextmanager, ExitStack

import pytest

from ...databases import served
from .office import CONFIG, Office


@contextmanager
def opened(url, *arguments, **defaults):
    office = Office(*arguments, **defaults)

    with served(office.db, office.records, url, **CONFIG) as office.app:
        with office.app.app_context():
            office.fill()
            yield office


@pytest.fixture
def open_office(database_url):
    """A function that opens an office with rules, on each database."""
    with ExitStack() as stack:
        yield lambda *rules, **defaults: stack.enter_context(
            opened(database_url, *rules, **defaults)
        )


@pytest.fixture
def small_office():
    """A function that opens an office with rules, on SQLite."""
    with ExitStack() as stack:
        yield lambda *rules, **defaults: stack.enter_context(
            opened("sqlite://", *rules, **defaults)
        )
