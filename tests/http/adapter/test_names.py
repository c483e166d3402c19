"""Fields that no query can name or read right are refused at the start."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    column_property,
    DeclarativeBase,
    Mapped,
    mapped_column,
    query_expression,
    relationship,
)

from flask_records import Converter, FlaskRecords, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


class Parent(Base):
    __tablename__ = "names_parent"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Child(Base):
    __tablename__ = "names_child"

    id: Mapped[int] = mapped_column(primary_key=True)
    parent_id: Mapped[int] = mapped_column(sa.ForeignKey(Parent.id))
    parent: Mapped[Parent] = relationship()

    @hybrid_property
    def parent_name(self):
        return self.parent.name

    @parent_name.inplace.expression
    @classmethod
    def _parent_name(cls):
        return Parent.name


class Cousin(Base):
    __tablename__ = "names_cousin"

    id: Mapped[int] = mapped_column(primary_key=True)
    parent_id: Mapped[int] = mapped_column(sa.ForeignKey(Parent.id))
    parent: Mapped[Parent] = relationship()

    @hybrid_property
    def parent_name(self):
        return self.parent.name

    @parent_name.inplace.expression
    @classmethod
    def _parent_name(cls):
        named = sa.select(Parent.name).where(Parent.id == cls.parent_id)
        return named.scalar_subquery()


class Title(Base):
    __tablename__ = "names_title"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(20))
    initial = column_property(sa.func.substr(text, 1, 1))
    rank: Mapped[int | None] = query_expression()

    @hybrid_property
    def lower(self):
        return self.text.lower()

    @lower.inplace.expression
    @classmethod
    def _lower(cls):
        return sa.func.lower(cls.text)

    @hybrid_property
    def length(self):
        return len(self.text)

    @length.inplace.expression
    @classmethod
    def _length(cls):
        return sa.func.length(cls.text)

    @hybrid_property
    def size(self):
        return len(self.text)

    @size.inplace.expression
    @classmethod
    def _size(cls):
        return sa.func.length(cls.text, type_=sa.Integer)


class Measured(Base):
    __table__ = sa.select(
        Title.__table__.c.id, sa.func.length(Title.__table__.c.text).label("length")
    ).subquery("names_measured")


def client_of(model, url="sqlite://", **options):
    service = SQLAlchemyService(model, **options)
    return serving_models(url, {"parents": Parent, "things": service})


def test_a_hybrid_of_another_table_is_refused():
    with pytest.raises(ValueError, match="'parent_name' of 'Child' reads another"):
        with client_of(Child):
            pass


def test_a_hybrid_of_another_table_may_be_hidden():
    with client_of(Child, hidden=["parent_name"]) as client:
        client.post("/parents", json=[{"name": "A"}, {"name": "B"}])

        made = client.post("/things", json={"parent_id": 1})

        assert made.json == {"id": 1, "parent_id": 1}
        assert client.get("/things").json == [made.json]


def test_a_hybrid_may_be_a_subquery(database_url):
    with client_of(Cousin, database_url) as client:
        client.post("/parents", json=[{"name": "A"}, {"name": "B"}])

        made = client.post("/things", json={"parent_id": 2})

        assert made.json["parent_name"] == "B"
        assert client.get("/things?parent_name=B").json == [made.json]


def test_an_expression_without_a_type_is_compared_with_null_only(database_url):
    """SQLite would compare it with a text, which no number equals."""
    with client_of(Title, database_url) as client:
        made = [client.post("/things", json={"text": n}).json for n in ("Abc", "B")]
        refused = client.get("/things?length=3")

        assert [each["length"] for each in made] == [3, 1]
        assert client.get("/things?$sort[length]=1").json == made[::-1]
        assert client.get("/things?length=null").json == []
        assert (refused.status_code, refused.json["errors"]) == (
            400,
            {"length": "can be compared with null only"},
        )


def test_a_column_of_a_subquery_without_a_type_is_compared_with_null_only():
    services = {"titles": Title, "things": Measured}

    with serving_models("sqlite://", services) as client:
        client.post("/titles", json={"text": "Abc"})

        assert client.get("/things").json == [{"id": 1, "length": 3}]
        assert client.get("/things?length=3").status_code == 400


def client_of_tables(url, names, **options):
    """A client of services over tables that are reflected, with a key and without."""
    app, db, records = Flask(__name__), SQLAlchemy(), FlaskRecords()
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)

    with app.app_context(), db.engine.begin() as connection:
        for statement in (
            "CREATE TABLE boxes (id INTEGER PRIMARY KEY, size)",
            "CREATE TABLE tags (id PRIMARY KEY)",
            "CREATE TABLE prices (id INTEGER PRIMARY KEY, price ANY) STRICT",
            "INSERT INTO prices VALUES (1, 2.5), (2, 'free'), (3, x'00')",
            "CREATE VIEW sizes AS SELECT id, size + 1 AS more FROM boxes",
        ):
            connection.exec_driver_sql(statement)

        for name in names:
            id = [sa.Column("id", sa.Integer, primary_key=True)][: name == "sizes"]
            table = sa.Table(name, db.metadata, *id, autoload_with=connection)
            model = type(name.title(), (db.Model,), {"__table__": table})
            records.add(name, SQLAlchemyService(model, **options), public=True)

    records.init_app(app)
    return app.test_client()


def test_a_column_of_sqlite_without_a_type_is_compared_with_null_only(tmp_path):
    client = client_of_tables(f"sqlite:///{tmp_path}/a.db", ["boxes", "sizes"])

    made = [client.post("/boxes", json={"size": n}).json for n in (2, "2", 2.5, "null")]
    refused = client.post("/boxes", json={"size": [2]}).json
    answers = [client.get(f"/{url}") for url in ("boxes?size=2", "sizes?more=3")]

    assert [record["size"] for record in made] == [2, "2", 2.5, "null"]
    assert refused["errors"] == {"size": "is not text, a number, true or false"}
    assert [answer.status_code for answer in answers] == [400, 400]
    assert client.get("/boxes?size=null").json == []
    assert [each["more"] for each in client.get("/sizes").json] == [3, 3, 3.5, 1]


def test_a_converter_reads_a_column_of_sqlite_without_a_type(tmp_path):
    converters = {"size": Converter(int, int)}
    url = f"sqlite:///{tmp_path}/a.db"
    client = client_of_tables(url, ["boxes"], converters=converters)

    made = [client.post("/boxes", json={"size": n}).json for n in (2, "3")]

    assert [record["size"] for record in made] == [2, 3]
    assert client.get("/boxes?size=2").json == made[:1]
    assert client.get("/boxes?size[$gt]=2").json == made[1:]


def test_a_text_in_a_column_of_numbers_spoils_its_own_record_alone(tmp_path):
    """SQLAlchemy takes a column of anything of a strict table for one of numbers."""
    client = client_of_tables(f"sqlite:///{tmp_path}/a.db", ["prices"])

    found = client.get("/prices").json

    assert found == [{"id": 1, "price": "2.5"}, {"id": 2}, {"id": 3}]


def test_a_key_of_sqlite_without_a_type_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'Tags.id' identifies records, and its"):
        client_of_tables(f"sqlite:///{tmp_path}/a.db", ["tags"])


def test_an_expression_is_compared_by_its_type(database_url):
    with client_of(Title, database_url, converters={"length": Converter()}) as client:
        made = [client.post("/things", json={"text": n}).json for n in ("Abc", "B")]

        computed = {"initial": "A", "lower": "abc", "length": "3", "size": 3}
        assert made[0] == {"id": 1, "text": "Abc", "rank": None, **computed}
        assert client.get("/things?size=3").json == made[:1]
        assert client.get("/things?size%5B$lt%5D=12").json == made


@pytest.mark.parametrize(
    ("name", "other"), [("order.no", "order_no"), ("$price", "price"), ("a[b]", "a_b")]
)
def test_a_name_with_a_meaning_in_queries_is_refused(name, other):
    id = sa.Column("id", sa.Integer, primary_key=True)
    table = sa.Table("names_odd", sa.MetaData(), id, sa.Column(name, sa.Integer))
    odd = type(f"Odd_{other}", (Base,), {"__table__": table})

    with pytest.raises(ValueError) as raised:
        with client_of(odd):
            pass

    assert f"{other} = mapped_column('{name}')" in str(raised.value)

    with client_of(odd, hidden=[name]):
        pass
