"""Services in a plugin of a host, whose sessions are made in functions."""

import importlib

import pytest
import sqlalchemy as sa
from flask import Blueprint, Flask
from sqlalchemy import orm

from flask_records import (
    adapter,
    AuthenticationService,
    FlaskRecords,
    SQLAlchemyService,
)

from ...models import Base, Room
from ..authentication.authenticated import SETTINGS


@pytest.fixture
def unwatched(monkeypatch):
    """Takes off what listens to all sessions."""
    listen, listeners = sa.event.listen, []

    def spy(*listener, **options):
        listeners.extend([listener] if listener[0] is orm.Session else [])
        listen(*listener, **options)

    monkeypatch.setattr(sa.event, "listen", spy)
    yield

    for each in listeners:
        sa.event.remove(*each)


def test_all_sessions_of_a_host_are_watched(unwatched):
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    Base.metadata.create_all(engine)
    app, records, sent = Flask("host"), FlaskRecords(), []
    service = SQLAlchemyService(Room, session=orm.sessionmaker(engine))
    records.add("rooms", service, public=True)
    records.events()(lambda event, record, context: sent.append((event, record["id"])))
    records.watch(orm.Session)
    records.init_app(app)

    with app.app_context(), orm.sessionmaker(engine)() as session:
        session.add(Room(name="Lobby"))
        session.commit()

    assert app.test_client().post("/rooms", json={"name": "Hall"}).status_code == 201
    assert sent == [("created", 1), ("created", 2)]


def test_blueprint_of_a_plugin_has_services():
    app, plugin = Flask("host"), Blueprint("plugin", __name__)
    records = FlaskRecords(url_prefix="/plugin")
    records.add("authentication", AuthenticationService())
    users = SQLAlchemyService(Room, session=orm.Session)
    records.add("users", users, methods=["find"], public=True)
    settings = {**SETTINGS, "strategies": []}

    @plugin.record
    def set_up(state):
        state.app.config.setdefault("RECORDS_AUTHENTICATION", settings)
        records.init_app(state.app)

    app.register_blueprint(plugin)

    assert app.test_client().post("/plugin/authentication", json={}).status_code == 401


def test_sqlalchemy_1_is_told_with_the_version_that_is_needed(monkeypatch):
    monkeypatch.setattr(sa, "__version__", "1.4.54")

    with pytest.raises(ImportError, match=r"needs SQLAlchemy 2\.0\.22 .* 1\.4\.54 is"):
        importlib.reload(adapter)
