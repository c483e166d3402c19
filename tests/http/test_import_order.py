from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import orm
from sqlalchemy.ext.declarative import DeferredReflection

from flask_records import FlaskRecords, SQLAlchemyService


def application(*extensions, url="sqlite://"):
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = url

    for extension in extensions:
        extension.init_app(app)

    return app


@pytest.fixture
def library(tmp_path):
    """The URL of a database that the application has not made."""
    url = f"sqlite:///{tmp_path / 'library.db'}"
    engine = sa.create_engine(url)

    with engine.begin() as connection:
        for statement in (
            "CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            "CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL,"
            " author_id INTEGER REFERENCES author (id))",
            "INSERT INTO author VALUES (1, 'Ann')",
            "INSERT INTO book VALUES (1, 'Trees', 1)",
        ):
            connection.exec_driver_sql(statement)

    engine.dispose()
    return url


def test_service_is_named_before_the_models_that_its_model_refers_to():
    db, records = SQLAlchemy(), FlaskRecords()

    class Post(db.Model):
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        tag_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("tag.id"))
        tag = orm.relationship("Tag")

    service = SQLAlchemyService(Post, whitelist=["$populate"], populate={"tag": "tags"})
    records.add("posts", service, public=True)

    class Tag(db.Model):
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        label: orm.Mapped[str]

    records.add("tags", SQLAlchemyService(Tag), public=True)
    app = application(db, records)

    with app.app_context():
        db.create_all()
        db.session.add(Post(tag=Tag(label="new")))
        db.session.commit()

    url = "/posts/1?$populate=tag"
    assert app.test_client().get(url).json["tag"] == {"id": 1, "label": "new"}


def test_model_reflected_in_a_factory(library):
    class Base(DeferredReflection, orm.DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "author"

    records = FlaskRecords()
    engine = sa.create_engine(library)
    service = SQLAlchemyService(Author, session=orm.sessionmaker(engine))
    records.add("authors", service, public=True)

    Base.prepare(engine)
    client = application(records).test_client()

    assert client.get("/authors").json == [{"id": 1, "name": "Ann"}]
    assert client.post("/authors", json={"name": "Bo"}).json == {"id": 2, "name": "Bo"}


def test_model_that_is_not_reflected_yet_is_refused_with_words(library):
    class Base(DeferredReflection, orm.DeclarativeBase):
        pass

    class Author(Base):
        __tablename__ = "author"

    records = FlaskRecords()
    records.add("authors", SQLAlchemyService(Author), public=True)

    with pytest.raises(TypeError, match="'Author' is not mapped .* before 'init_app'"):
        application(records)


def test_table_is_refused_with_words():
    with pytest.raises(TypeError, match=r"be a mapped class.*not Table\('shelf'"):
        SQLAlchemyService(sa.Table("shelf", sa.MetaData()))


def test_class_that_is_not_mapped_is_refused_with_words(records, db):
    records.add("apps", SQLAlchemyService(Flask), public=True)

    with pytest.raises(TypeError, match="'Flask' is not mapped to a table"):
        application(db, records)
