"""An application with mistakes for the tests of the explorer in a browser: a hook that
reads records one by one, a slow hook, and a table without an index.
"""

from __future__ import annotations

import os
import threading

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.explorer import Explorer

from ..models import Base
from ..models import Message
from ..models import Room

NUMBER = 1500

db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
rooms = records.add("rooms", SQLAlchemyService(Room), public=True)
messages = records.add(
    "messages", SQLAlchemyService(Message, paginate={"default": 5}), public=True
)


@messages.after("find")
def add_rooms(method, context):
    """Read the room of each message."""
    for message in context.result.data:
        message["room"] = rooms.get(message["room_id"])


@messages.before("create")
def wait(method, context):
    """Wait as for another server."""
    threading.Event().wait(0.08)


def create_app():
    """The application, with records in its database."""
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["DATABASE_URL"]
    db.init_app(app)
    records.init_app(app)
    Explorer(records).init_app(app)

    with app.app_context():
        db.drop_all()
        db.create_all()
        db.session.execute(sa.insert(Room), [{"name": "Lobby"}])
        rows = [{"text": f"text {n}", "rank": n, "room_id": 1} for n in range(NUMBER)]
        db.session.execute(sa.insert(Message), rows)
        db.session.commit()

    return app
