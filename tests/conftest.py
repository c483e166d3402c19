"""Fixtures that tests of all kinds share."""

import gc
import os
import threading

import pytest
from flask_sqlalchemy import SQLAlchemy
from hypothesis import settings

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.database import driver_cursor
from flask_records.http.lane import Lane

from .listening import running
from .models import Base, Message, Room, User

pytest_plugins = ["tests.databases", "tests.leaks"]

settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("slow", max_examples=100, deadline=None, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

if os.environ.get("TEST_WITHOUT_CURSORS"):
    # SQLAlchemy executes all statements.
    driver_cursor.DRIVERS = ()

if os.environ.get("TEST_WITHOUT_LANE"):
    # Werkzeug matches all URLs.
    Lane.open = lambda lane, endpoints: None


EARLIER_THREADS = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Remember the threads that earlier tests have left behind."""
    threads = set(threading.enumerate())
    item.stash[EARLIER_THREADS] = threads - {threading.current_thread()}


@pytest.fixture
def caplog(caplog, request):
    """The log of a test, without what the threads of earlier tests log meanwhile."""
    earlier = request.node.stash[EARLIER_THREADS]

    def is_own(record):
        return threading.current_thread() not in earlier

    caplog.handler.addFilter(is_own)
    yield caplog
    caplog.handler.removeFilter(is_own)


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def records():
    return FlaskRecords(app_errors=True)


@pytest.fixture
def sent(records):
    """The names of the events that were sent."""
    sent = []
    records.events()(lambda event, record, context: sent.append(event))
    return sent


@pytest.fixture
def users(records):
    return records.add(
        "users",
        SQLAlchemyService(User, hidden=["password"], whitelist=["$populate"]),
        public=True,
    )


@pytest.fixture
def rooms(records):
    return records.add(
        "rooms", SQLAlchemyService(Room, whitelist=["$populate"]), public=True
    )


@pytest.fixture
def messages(records):
    """A service with pages, where many records can be written at once."""
    return records.add(
        "messages",
        SQLAlchemyService(
            Message,
            paginate={"default": 10, "max": 50},
            multi=True,
            whitelist=["$populate", "$and", "$nor", "$not", "$like", "$search"],
        ),
        public=True,
    )


@pytest.fixture
def app(db, records, users, rooms, messages):
    """An app with the three services, on SQLite in memory."""
    from .databases import served

    with served(db, records, "sqlite://") as app:
        yield app


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def site(records, tmp_path):
    """A running application with real-time connections, whose only user is Ann."""
    from .realtime import live

    with live(records, tmp_path) as site:
        yield site


@pytest.fixture
def provider():
    """An OAuth provider that runs."""
    from .oauth_providers import Provider

    provider = Provider()

    with running(provider) as provider.url:
        yield provider


@pytest.fixture
def app_context(app):
    with app.app_context():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage meanwhile, and leave the tests out of all later collections,
    which take a second each otherwise.
    """
    gc.disable()

    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
