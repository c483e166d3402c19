"""Services over one session of an application, and the connections that it uses."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, Session
from sqlalchemy.pool import QueuePool

from flask_records import FlaskRecords, Params, SQLAlchemyService

SET_TENANT = "SELECT set_config('records.tenant', 'Acme', true)"
"""A setting of PostgreSQL that lasts until the end of the transaction."""


class Base(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


tagging = sa.Table(
    "connection_tagging",
    Base.metadata,
    sa.Column("note_id", sa.ForeignKey("connection_note.id"), primary_key=True),
    sa.Column("tag_id", sa.ForeignKey("connection_tag.id"), primary_key=True),
)


class Book(Base):
    __tablename__ = "connection_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))

    notes: Mapped[list[Note]] = relationship(back_populates="book")


class Note(Base):
    __tablename__ = "connection_note"

    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))
    book_id: Mapped[int | None] = mapped_column(sa.ForeignKey("connection_book.id"))

    book: Mapped[Book | None] = relationship(back_populates="notes")
    tags: Mapped[list[Tag]] = relationship(secondary=tagging)


class Tag(Base):
    __tablename__ = "connection_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class TenantBase(DeclarativeBase):
    pass


class Setting(TenantBase):
    """A model that shows a setting of the connection."""

    __tablename__ = "connection_setting"

    id: Mapped[int] = mapped_column(primary_key=True)

    @hybrid_property
    def tenant(self) -> str:
        raise NotImplementedError

    @tenant.inplace.expression
    @classmethod
    def _tenant(cls) -> sa.ColumnElement[str]:
        return sa.func.current_setting("records.tenant", True, type_=sa.String)


@dataclass
class Served:
    """Services over one session of an application."""

    app: Flask
    engine: sa.Engine
    session: Session
    records: FlaskRecords
    client: FlaskClient

    def __getitem__(self, path):
        return self.records[path]

    def find(self, path="notes", **query):
        with self.app.app_context():
            return self[path].find(Params(query=query, paginate=False))

    def texts(self, **query):
        return [note["text"] for note in self.find(**query)]

    def in_use(self):
        return self.engine.pool.checkedout(), self.session.in_transaction()


MODELS = {"books": Book, "notes": Note, "tags": Tag, "settings": Setting}
IDLE = (0, False)
"""No connection is in use, and the session is in no transaction."""

ROWS = {
    Book: [{"id": 1, "name": "Red"}],
    Note: [{"id": n, "text": f"note {n}", "book_id": 1} for n in (1, 2, 3)],
    Tag: [{"id": 1, "name": "new"}],
    tagging: [{"note_id": 1, "tag_id": 1}],
}


def served_by(engine, session, source=None):
    app, records = Flask("tests"), FlaskRecords(logger=False)

    for path, model in MODELS.items():
        service = SQLAlchemyService(
            model,
            session=source or (lambda: session),
            paginate={"default": 2, "max": 10_000},
            multi=True,
            whitelist=["$populate"],
        )
        records.add(path, service, public=True)

    records.init_app(app)
    return Served(app, engine, session, records, app.test_client())


class Engines:
    """Makes engines of databases that have ROWS."""

    def __init__(self):
        self._urls = set()
        self._engines = []

    def make(self, url, **options):
        engine = sa.create_engine(url, poolclass=QueuePool, **options)
        self._engines.append(engine)

        if url not in self._urls:
            self._urls.add(url)
            Base.metadata.create_all(engine)

        fill(engine)
        return engine

    def dispose(self):
        while self._engines:
            self._engines.pop().dispose()

    def drop_tables(self):
        for url in self._urls:
            engine = sa.create_engine(url)
            Base.metadata.drop_all(engine)
            TenantBase.metadata.drop_all(engine)
            engine.dispose()


def fill(engine):
    with engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())

        for model, rows in ROWS.items():
            connection.execute(sa.insert(model), rows)


READS = [
    lambda served: served["notes"].find(),
    lambda served: served.find(**{"$populate": ["book"]}),
    lambda served: served["notes"].get(1),
    lambda served: served.client.get("/notes/1"),
]  # fmt: skip
