import pytest

from ...authentication import ANN
from ...realtime import in_memory, make_live_records


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def messages(records):
    return records["messages"]


@pytest.fixture
def ann(site):
    """A connection of Ann."""
    return site.connect(ANN)


@pytest.fixture
def site(records, tmp_path):
    """An application with clients within the process, whose only user is Ann."""
    with in_memory(records, tmp_path) as site:
        yield site
