"""A disk without room puts writes off, and takes them again when there is some."""

import pytest
import requests
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords, SQLAlchemyService

from ...listening import running
from ...models import Base, Message


class Disk:
    """The room that SQLite has for a file, in pages, for all of its connections."""

    def __init__(self, engine):
        self._engine = engine
        self._pages = 2**30
        sa.event.listen(engine, "checkout", self._bound)

    def fill(self):
        with self._engine.connect() as connection:
            self._pages = connection.scalar(sa.text("PRAGMA page_count"))

    def clear(self):
        self._pages = 2**30

    def _bound(self, connection, record, proxy):
        connection.execute(f"PRAGMA max_page_count = {self._pages}")


@pytest.fixture
def site(tmp_path):
    """The address of a server, and its disk."""
    app, db, records = Flask("tests"), SQLAlchemy(model_class=Base), FlaskRecords()
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path}/full.db"
    records.add("messages", SQLAlchemyService(Message, multi=True), public=True)
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        disk = Disk(db.engine)

        with running(app) as url:
            yield f"{url}/messages", disk

        db.engine.dispose()


def test_full_disk_puts_writes_off_whole(site):
    url, disk = site
    texts = [{"text": f"{number} " + "x" * 190} for number in range(200)]
    stored = requests.post(url, json=texts[0]).json()
    disk.fill()

    refused = [requests.post(url, json=texts[:n]) for n in (200, 150, 100)]
    meanwhile = requests.get(url).json()
    disk.clear()
    again = requests.post(url, json=texts)

    assert [each.status_code for each in refused] == [503] * 3
    assert all(int(each.headers["Retry-After"]) > 0 for each in refused)
    assert meanwhile == [stored]
    assert (again.status_code, len(requests.get(url).json())) == (201, 201)
