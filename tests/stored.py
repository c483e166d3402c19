"""Records that a test has stored."""

import sqlalchemy as sa
from sqlalchemy import orm

from .models import Message, Room


def stored(db):
    """The names of rooms and the texts of messages that another session finds."""
    with orm.Session(db.engine) as session:
        names = session.scalars(sa.select(Room.name).order_by(Room.id)).all()
        texts = session.scalars(sa.select(Message.text).order_by(Message.id)).all()
        return [*names, *texts]
