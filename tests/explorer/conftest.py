from __future__ import annotations

import pytest

from .journals import recorded


@pytest.fixture
def journal(db, records, users, rooms, messages, database_url):
    """A site with calls on each database."""
    with recorded(db, records, database_url) as site:
        yield site
