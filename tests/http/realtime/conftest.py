from __future__ import annotations

import pytest

from ...realtime import in_memory


@pytest.fixture
def site(records, tmp_path):
    """An application with clients within the process, whose only user is Ann."""
    with in_memory(records, tmp_path) as site:
        yield site
