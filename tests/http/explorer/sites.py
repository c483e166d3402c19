"""Applications with an explorer."""

from contextlib import contextmanager

from flask import Flask

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.explorer import Explorer

from ...authentication import make_records, serving
from ...models import Message, Room, User

ON = {"enabled": True}

SERVICES = "/_records/services.json"


class Things:
    def find(self, params):
        return []


class Explored:
    """An extension and its explorer, which are set up together."""

    def __init__(self, records, **options):
        self.services = records.services
        self._records = records
        self._explorer = Explorer(records, **options)

    def init_app(self, app):
        self._records.init_app(app)
        self._explorer.init_app(app)


@contextmanager
def serving_explorer(records=None, *, config=ON, options=None, **settings):
    """A client of an application with users, whose explorer is on."""
    records = Explored(records or make_records(), **(options or {}))

    with serving(records, RECORDS_EXPLORER=config, **settings) as client:
        yield client


def app_with(config=ON, options=None, debug=False, **settings):
    """An application with one public service, and an explorer."""
    app = Flask("tests")
    app.debug = debug
    app.config["RECORDS_EXPLORER"] = config
    records = FlaskRecords(**settings)
    records.add("things", Things(), public=True)
    records.init_app(app)
    Explorer(records, app, **(options or {}))
    return app


def make_chat(users=None, **options):
    """An extension with users, and messages in rooms.

    :param options: Options of the service of messages.
    """
    records = make_records(users=users or SQLAlchemyService(User, hidden=["password"]))
    records.add("rooms", SQLAlchemyService(Room, whitelist=["$populate"]))
    records.add("messages", SQLAlchemyService(Message, **options))
    return records


def described(client, path, headers=None):
    """The description of a service that a caller gets, or ``None``."""
    services = client.get(SERVICES, headers=headers).json["services"]
    summary = {each["path"]: each for each in services}.get(path)
    query = {"path": path}
    details = client.get("/_records/service.json", query_string=query, headers=headers)
    assert (details.status_code == 200) is (summary is not None)
    return summary and summary | details.json
