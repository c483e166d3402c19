"""An application that has used its database before workers are forked."""

import os

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class Connections:
    def find(self, params):
        opened_by = db.session.scalar(sa.text("SELECT opened_by()"))
        return {"opened_by": opened_by, "process": os.getpid()}


app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["DATABASE_URL"]
db = SQLAlchemy(app, model_class=Base)
records = FlaskRecords(app)
notes = records.add("notes", SQLAlchemyService(Note), public=True)
records.add("connections", Connections(), public=True)

with app.app_context():

    @sa.event.listens_for(db.engine, "connect")
    def name_process(connection, record):
        process = os.getpid()
        connection.create_function("opened_by", 0, lambda: process)

    db.create_all()
    notes.create({"text": "Written before the fork"})
