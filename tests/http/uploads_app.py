"""An application that takes forms with files."""

from __future__ import annotations

import os

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.datastructures import FileStorage

from flask_records import BODY_PARSERS, FlaskRecords, MultipartParser, SQLAlchemyService

MEBIBYTE = 1024 * 1024


class Base(DeclarativeBase):
    pass


class Photo(Base):
    __tablename__ = "photo"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(sa.String(50))
    rank: Mapped[int | None]
    image: Mapped[bytes | None] = mapped_column(sa.LargeBinary(1000))
    notes: Mapped[dict | None] = mapped_column(sa.JSON)


class Described:
    """Answers what the data is, and how large its files are."""

    def __init__(self):
        self.files = []

    def create(self, data, params):
        return self._described(data)

    def update(self, id, data, params):
        return self._described(data)

    def patch(self, id, data, params):
        return self._described(data)

    def send(self, data, params):
        return self._described(data)

    def _described(self, value):
        if isinstance(value, dict):
            return {name: self._described(item) for name, item in value.items()}

        if isinstance(value, list):
            return [self._described(item) for item in value]

        if not isinstance(value, FileStorage):
            return value

        self.files.append(value)
        size = value.stream.seek(0, 2)
        return [value.filename, value.mimetype, size]


def create_app(described=None, max_size=None, **config):
    parsers = {
        **BODY_PARSERS,
        "multipart/form-data": MultipartParser(max_size),
    }
    db = SQLAlchemy(model_class=Base)
    records = FlaskRecords(body_parsers=parsers)
    records.add("photos", SQLAlchemyService(Photo), public=True)
    methods = ["create", "update", "patch", "send"]
    service = described or Described()
    records.add("described", service, public=True, methods=methods)
    app = Flask("tests.uploads_app")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ.get("DATABASE_URL", "sqlite://")
    app.config.update(config)
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app
