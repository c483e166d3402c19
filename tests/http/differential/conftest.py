from __future__ import annotations

import pytest

from ...databases import DATABASES, url_of
from .column_types import TYPES, types_of
from .columns import serving
from .things import World

PLACES = [(database, name) for database in DATABASES for name in types_of(database)]
"""The types that each database has."""

NO_KEYS = {'mysql.SET("red", "green")'}
"""The types that a primary key of MariaDB must not have."""

KEYS = [
    (database, name)
    for database, name in PLACES
    if TYPES[name].is_key and not (database == "mariadb" and name in NO_KEYS)
]
"""Those that a primary key may have."""


@pytest.fixture(scope="module")
def world(module_url):
    with World.on(module_url) as world:
        yield world


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def column(request, server_urls):
    """A column of each type on each database."""
    with serving(url_of(request.param[0], server_urls), request.param[1]) as column:
        yield column


@pytest.fixture(scope="module", params=KEYS, ids="-".join)
def key(request, server_urls):
    """A primary key of each type on each database."""
    url = url_of(request.param[0], server_urls)

    with serving(url, request.param[1], is_key=True) as column:
        yield column
