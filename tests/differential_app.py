"""The example, and a public service that the server of FeathersJS has, too."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from flask_records import SQLAlchemyService
from wsgi import Base, create_app, Moment, realtime, records


class Thing(Base):
    __tablename__ = "thing"
    # The identifiers of removed records are not given again.
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str | None] = mapped_column(sa.String(20))
    isNew: Mapped[bool | None]
    size: Mapped[int | None]
    madeAt: Mapped[dt.datetime | None] = mapped_column(Moment)


service = SQLAlchemyService(Thing, paginate={"default": 10, "max": 50}, multi=True)
things = records.add("things", service, public=True)
things.publish()(lambda event, record, context: "anonymous")
app = create_app()
asgi = realtime.asgi(app)
