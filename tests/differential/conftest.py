from __future__ import annotations

import pytest

from .examples import Examples
from .things import World


def pytest_addoption(parser):
    parser.addoption(
        "--examples",
        type=int,
        help="the number of random examples of each test, instead of few that are"
        " the same in each run",
    )


@pytest.fixture(scope="session")
def examples(request):
    """Few examples, or as many as ``--examples`` tells."""
    return Examples(request.config.getoption("--examples", None))


@pytest.fixture(scope="module")
def world(module_url):
    with World.on(module_url) as world:
        yield world
