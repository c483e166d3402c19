"""Paths over relationships reveal nothing that the caller does not see."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, Operator, readers, SQLAlchemyService

from ...authentication import add_users, SECRET
from ...databases import served


class Base(DeclarativeBase):
    pass


link = sa.Table(
    "link",
    Base.metadata,
    sa.Column("post", sa.ForeignKey("post.id"), primary_key=True),
    sa.Column("tag", sa.ForeignKey("tag.id"), primary_key=True),
    sa.Column("place", sa.Integer),
)


class Tag(Base):
    __tablename__ = "tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    salary: Mapped[int]


class Post(Base):
    __tablename__ = "post"

    id: Mapped[int] = mapped_column(primary_key=True)
    tags: Mapped[list[Tag]] = relationship(secondary=link, order_by=Tag.salary)
    by_expression: Mapped[list[Tag]] = relationship(
        secondary=link, order_by=sa.desc(Tag.salary * 2), viewonly=True
    )
    in_place: Mapped[list[Tag]] = relationship(
        secondary=link, order_by=link.c.place.desc(), viewonly=True
    )
    by_name: Mapped[list[Tag]] = relationship(
        secondary=link, order_by=[sa.func.lower(Tag.name).desc()], viewonly=True
    )


@contextmanager
def site(tag_options=None, post_options=None, **options):
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    add_users(records)
    names = ["tags", "by_expression", "in_place", "by_name"]
    posts = {"whitelist": ["$populate"], "relations": names, **(post_options or {})}
    records.add("posts", SQLAlchemyService(Post, **posts), public=True)
    records.add("tags", SQLAlchemyService(Tag, **(tag_options or {})), **options)

    with served(db, records, "sqlite://", SECRET_KEY=SECRET) as app, app.app_context():
        for id, salary in ((1, 30), (2, 10), (3, 20)):
            db.session.add(Tag(id=id, name=f"t{id}", salary=salary))

        db.session.add_all([Post(id=1), Post(id=2)])
        db.session.flush()
        rows = [{"post": 1, "tag": id, "place": id % 3} for id in (1, 2, 3)]
        db.session.execute(sa.insert(link), rows)
        db.session.commit()
        yield app.test_client()


def test_populate_asks_for_the_right_before_it_looks_for_links():
    with site() as client:
        answers = [client.get(f"/posts/{id}?$populate=tags") for id in (1, 2)]

    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].json == answers[1].json


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("tags", [2, 3, 1], [1, 2, 3]),
        ("by_expression", [1, 3, 2], [1, 2, 3]),
        ("in_place", [2, 1, 3], [2, 1, 3]),
        ("by_name", [3, 2, 1], [3, 2, 1]),
    ],
)
def test_order_does_not_tell_a_field_that_is_hidden(name, shown, hidden):
    def order(**options):
        with site(options, public=True) as client:
            tags = client.get(f"/posts/1?$populate={name}").json[name]
            return [tag["id"] for tag in tags]

    assert order() == shown
    assert order(hidden=["salary"]) == hidden


@pytest.mark.parametrize(("number", "status"), [(5, 200), (6, 400)])
def test_paths_over_lists_are_bounded(number, status):
    path = "&".join([f"$or[{i}][tags.name]=a" for i in range(number)])

    with site(public=True) as client:
        answer = client.get(f"/posts?{path}")

    assert answer.status_code == status
    assert status == 200 or answer.json["message"] == (
        "The query has more than 5 paths over lists."
    )


def starts_with(column, value):
    return column.startswith(value)


def test_operator_is_for_the_fields_that_it_names():
    operator = Operator(starts_with, readers.one, fields=["name"])

    with site({"operators": {"$starts": operator}}, public=True) as client:
        found = client.get("/tags?name[$starts]=t1").json
        over_path = client.get("/posts?tags.name[$starts]=t1")
        refused = client.get("/tags?salary[$starts]=1")

    assert [tag["id"] for tag in found] == [1]
    assert over_path.status_code == 400
    assert refused.json["message"] == "'salary' can't be compared by $starts."


def test_operator_for_a_field_that_is_not_there_is_refused_at_the_start():
    operator = Operator(starts_with, fields=["nome"])

    with pytest.raises(ValueError, match="'operators' names 'nome'"):
        with site({"operators": {"$starts": operator}}, public=True):
            pass
