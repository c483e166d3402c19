import pytest

from .services import Engines


@pytest.fixture(scope="module")
def url(module_url, tmp_path_factory):
    """The URL of a database of each kind that several connections can use."""
    if module_url == "sqlite://":
        return f"sqlite:///{tmp_path_factory.mktemp('connections') / 'test.db'}"

    return module_url


@pytest.fixture(scope="module")
def engines():
    engines = Engines()
    yield engines

    engines.drop_tables()


@pytest.fixture
def make_engine(engines):
    """A function that makes an engine of a database with rows."""
    yield engines.make

    engines.dispose()
