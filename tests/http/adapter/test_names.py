"""Fields that no query can name or read right are refused at the start."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import SQLAlchemyService

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
