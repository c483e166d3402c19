"""Records with write-only and dynamic relationships are removed like others."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import DynamicMapped
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship
from sqlalchemy.orm import WriteOnlyMapped

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .conftest import served


class Base(DeclarativeBase):
    pass


followers = sa.Table(
    "write_only_followers",
    Base.metadata,
    sa.Column("follower", sa.ForeignKey("write_only_user.id"), primary_key=True),
    sa.Column("followed", sa.ForeignKey("write_only_user.id"), primary_key=True),
)


class User(Base):
    __tablename__ = "write_only_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    posts: WriteOnlyMapped[Post] = relationship(back_populates="author")
    notes: WriteOnlyMapped[Note] = relationship(cascade="all, delete-orphan")
    marks: DynamicMapped[Mark] = relationship()
    following: WriteOnlyMapped[User] = relationship(
        secondary=followers,
        primaryjoin=lambda: followers.c.follower == User.id,
        secondaryjoin=lambda: followers.c.followed == User.id,
    )


class Post(Base):
    __tablename__ = "write_only_post"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("write_only_user.id"))
    author: Mapped[User | None] = relationship(back_populates="posts")


class Note(Base):
    __tablename__ = "write_only_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("write_only_user.id"))


class Mark(Base):
    __tablename__ = "write_only_mark"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int | None] = mapped_column(sa.ForeignKey("write_only_user.id"))


MODELS = {"users": User, "posts": Post, "notes": Note, "marks": Mark}


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def app(db, database_url):
    records = FlaskRecords()

    for path, model in MODELS.items():
        service = SQLAlchemyService(model, client_ids=True, multi=True)
        records.add(path, service, public=True)

    with served(db, records, database_url) as app:
        with app.app_context():
            db.session.add_all([User(id=1), User(id=2)])
            db.session.flush()
            db.session.add_all(
                [Post(id=1, user_id=1), Note(id=1, user_id=1), Mark(id=1, user_id=1)]
            )
            db.session.execute(sa.insert(followers).values(follower=1, followed=2))
            db.session.commit()

        yield app


@pytest.mark.parametrize("path", ["/users/1", "/users?id=1"])
def test_removal_does_as_the_relationships_say(client, path):
    response = client.delete(path)

    assert response.status_code == 200
    assert client.get("/posts").json == [{"id": 1, "user_id": None}]
    assert client.get("/marks").json == [{"id": 1, "user_id": None}]
    assert client.get("/notes").json == []
    assert client.get("/users").json == [{"id": 2}]


def test_the_removals_of_the_application_stay_as_they_are(app, db, client):
    client.delete("/users/1")

    with app.app_context():
        user = db.session.get(User, 2)

        with pytest.raises(sa.exc.InvalidRequestError, match="passive_deletes=True"):
            db.session.delete(user)
