"""Records with write-only relationships are removed as the database does it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship
from sqlalchemy.orm import WriteOnlyMapped

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "write_only_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    posts: WriteOnlyMapped[Post] = relationship()


class Post(Base):
    __tablename__ = "write_only_post"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("write_only_user.id"))
    notes: WriteOnlyMapped[Note] = relationship(passive_deletes=True)


class Note(Base):
    __tablename__ = "write_only_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    post_id: Mapped[int] = mapped_column(
        sa.ForeignKey("write_only_post.id", ondelete="CASCADE")
    )


def app_with(*arguments, **options):
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    records.add("users", SQLAlchemyService(User), public=True, **options)
    records.init_app(app)


def test_service_that_cannot_remove_is_refused_with_the_cure():
    with pytest.raises(ValueError, match="write-only.*passive_deletes"):
        app_with()


def test_service_without_remove_starts():
    app_with(methods=["find", "get", "create"])


def test_the_database_removes_the_related(database_url):
    db = SQLAlchemy(model_class=Base)
    records = FlaskRecords()
    records.add("posts", SQLAlchemyService(Post), public=True)

    with served(db, records, database_url) as app:
        with app.app_context():
            db.session.execute(sa.insert(Post).values(id=1))
            db.session.execute(sa.insert(Note).values(id=1, post_id=1))
            db.session.commit()

        assert app.test_client().delete("/posts/1").status_code == 200

        with app.app_context():
            assert db.session.scalars(sa.select(Note)).all() == []
