import pytest

from ...databases import DATABASES, url_of
from .column_types import types_of
from .columns import serving
from .things import World

PLACES = [(database, name) for database in DATABASES for name in types_of(database)]
"""The types that each database has."""


@pytest.fixture(scope="module")
def world(module_url):
    with World.on(module_url) as world:
        yield world


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def column(request, server_urls):
    """A column of each type on each database."""
    with serving(url_of(request.param[0], server_urls), request.param[1]) as column:
        yield column
