"""Lists of related records that are written by their identifiers."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, Params, SQLAlchemyService

from ...databases import serving_models


class Base(DeclarativeBase):
    pass


def table_of(name):
    return sa.Table(
        f"post_{name}",
        Base.metadata,
        sa.Column("post_id", sa.ForeignKey("post.id"), primary_key=True),
        sa.Column("tag_id", sa.ForeignKey("tag.id"), primary_key=True),
    )


class Tag(Base):
    __tablename__ = "tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))
    secret: Mapped[bool] = mapped_column(default=False)


class Author(Base):
    __tablename__ = "author"

    id: Mapped[int] = mapped_column(primary_key=True)
    secret: Mapped[bool] = mapped_column(default=False)


class Post(Base):
    __tablename__ = "post"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(20))
    authorId: Mapped[int | None] = mapped_column(sa.ForeignKey("author.id"))
    editorId: Mapped[int] = mapped_column(sa.ForeignKey("author.id"))
    author: Mapped[Author | None] = relationship(foreign_keys=authorId)
    editor: Mapped[Author] = relationship(foreign_keys=editorId, lazy="raise")
    tags: Mapped[list[Tag]] = relationship(
        secondary=table_of("tags"), order_by=Tag.id, lazy="raise"
    )
    marks: Mapped[set[Tag]] = relationship(secondary=table_of("marks"))
    shown: Mapped[list[Tag]] = relationship(
        secondary=Base.metadata.tables["post_tags"], viewonly=True
    )
    loose: Mapped[list[Loose]] = relationship()
    owned: Mapped[list[Tag]] = relationship(
        secondary=table_of("owned"), cascade="all, delete-orphan", single_parent=True
    )


class Loose(Base):
    __tablename__ = "loose"

    id: Mapped[int] = mapped_column(primary_key=True)
    postId: Mapped[int | None] = mapped_column(sa.ForeignKey("post.id"))


MANY = ["tags", "marks"]


@pytest.fixture(scope="module")
def app(module_url):
    records = FlaskRecords()
    posts = SQLAlchemyService(
        Post, multi=True, whitelist=["$populate"], writable_relations=MANY
    )

    for path, model in {"tags": Tag, "authors": Author}.items():
        service = SQLAlchemyService(model, multi=True, whitelist=["$populate"])
        records.add(path, service, public=True, readable=lambda user: {"secret": False})

    with serving_models(module_url, {"posts": posts}, records) as client:
        client.application.config["RECORDS_BOUNDS"] = {"list_items": 5}
        yield client.application


@pytest.fixture
def python(app):
    """The services, called in Python."""
    with app.app_context():
        yield app.extensions["records"]


def created(client, path, **body):
    response = client.post(f"/{path}", json=body)
    assert response.status_code == 201, response.json
    return response.json


@pytest.fixture
def editor(client):
    return created(client, "authors")["id"]


@pytest.fixture
def tags(client):
    """The identifiers of three tags."""
    return [created(client, "tags", name=name)["id"] for name in "abc"]


@pytest.fixture
def secret(python):
    """The identifier of a tag that no client sees."""
    return python["tags"].create({"name": "s", "secret": True})["id"]


@pytest.fixture
def post(client, editor):
    return created(client, "posts", title="A", editorId=editor)


def shown(client, post, name, service="posts"):
    """The identifiers of the related records."""
    value = client.get(f"/{service}/{post['id']}?$populate={name}").json[name]
    return sorted(each["id"] for each in value)


@pytest.mark.parametrize("name", MANY)
def test_list_of_records_is_written_by_identifiers(client, editor, tags, name):
    one, two, three = tags
    body = {"title": "A", "editorId": editor}
    post = created(client, "posts", **body, **{name: [two, one]})
    path = f"/posts/{post['id']}"

    assert shown(client, post, name) == [one, two]

    for verb, ids in (
        ("patch", [two, three]),
        ("put", [one]),
        ("patch", [one, one]),
        ("patch", [{"id": one, "name": "ignored"}, str(two)]),
        ("patch", []),
    ):
        answer = getattr(client, verb)(path, json=body | {name: ids})
        expected = {each["id"] if isinstance(each, dict) else int(each) for each in ids}

        assert answer.status_code == 200, answer.json
        assert shown(client, post, name) == sorted(expected)


def test_answer_shows_the_relationship_if_it_is_populated(client, app, post, tags):
    path = f"/posts/{post['id']}?$populate=tags"

    events = []
    posts = app.extensions["records"]["posts"]

    with posts.events.connected_to(lambda *event: events.append(event[:2])):
        plain = client.patch(f"/posts/{post['id']}", json={"tags": tags[:1]})

    populated = client.patch(path, json={"tags": tags[:2]})

    assert plain.json == post
    assert events == [("patched", post)]
    assert [tag["id"] for tag in populated.json["tags"]] == tags[:2]
    assert client.put(path, json=populated.json).json == populated.json


MISSING = "which is not there"
REFUSED = [
    ("tags", None, {"tags": "is not a list"}),
    ("tags", 1, {"tags": "is not a list"}),
    ("tags", {"id": 1}, {"tags": "is not a list"}),
    ("tags", ["x"], {"tags.0": f"names 'x', {MISSING}"}),
    ("tags", [[1]], {"tags.0": f"names '[1]', {MISSING}"}),
    ("tags", [{}], {"tags.0": f"names '{{}}', {MISSING}"}),
    ("tags", list(range(1, 1002)), {"tags": "has more than 1000 records"}),
]


@pytest.mark.parametrize(("name", "value", "errors"), REFUSED, ids=str)
def test_what_names_no_records_is_refused(client, post, name, value, errors):
    response = client.patch(f"/posts/{post['id']}", json={name: value})

    assert response.status_code == 400
    assert response.json["errors"] == errors


def test_missing_records_are_named_by_their_places(client, post, editor, tags):
    patched = client.patch(f"/posts/{post['id']}", json={"tags": [tags[0], 0]})
    bodies = [
        {"title": "B", "editorId": editor, "tags": tags},
        {"title": "C", "editorId": editor, "tags": [tags[0], 0]},
    ]
    listed = client.post("/posts", json=bodies).json["errors"]

    assert patched.json["errors"] == {"tags.1": "names '0', which is not there"}
    assert listed == {"1.tags.1": "names '0', which is not there"}
    assert client.get("/posts?title=C").json == []


def test_record_that_the_caller_can_not_see_is_like_one_that_is_not_there(
    client, post, tags, secret
):
    path = f"/posts/{post['id']}"

    refused = client.patch(path, json={"title": "B", "tags": [tags[0], secret]})
    missing = client.patch(path, json={"title": "B", "tags": [tags[0], 0]})

    assert refused.json["errors"] == {"tags.1": f"names '{secret}', which is not there"}
    assert refused.status_code == missing.status_code == 400
    assert client.get(path).json == post


@pytest.mark.parametrize("name", ["tags", "marks"])
def test_related_record_that_the_caller_can_not_see_stays(
    client, python, post, tags, secret, name
):
    posts = python["posts"]
    posts.patch(post["id"], {name: [tags[0], secret]})

    client.patch(f"/posts/{post['id']}", json={name: [tags[1]]})

    record = posts.get(post["id"], Params({"$populate": [name]}))
    assert sorted(each["id"] for each in record[name]) == [tags[1], secret]


@pytest.mark.parametrize("tags", [[], [1], [9]])
def test_who_may_not_find_the_records_learns_nothing(tags):
    records = FlaskRecords()
    records.add("tags", SQLAlchemyService(Tag), public=True, allow={"find": False})
    service = SQLAlchemyService(Post, writable_relations=["tags"])
    body = {"title": "A", "editorId": 1, "tags": tags}

    with serving_models("sqlite://", {"posts": service}, records) as client:
        response = client.post("/posts", json=body)

    assert (response.status_code, response.json["errors"]) == (403, {})


def test_relationship_needs_a_service():
    service = SQLAlchemyService(Post, writable_relations=["tags"])
    body = {"title": "A", "editorId": 1, "tags": [1]}

    with serving_models("sqlite://", {"posts": service}) as client:
        response = client.post("/posts", json=body)

    assert response.status_code == 400
    assert response.json["errors"] == {"tags": "is shown by no service"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nope", "'nope', which is not a list or a set of 'Post'"),
        ("title", "'title', which is not a list or a set of 'Post'"),
        ("shown", "'shown', which is not a list or a set of 'Post'"),
        ("author", "Others are written by the field with the foreign key"),
        ("loose", "'loose', which is not a list .* over a table between two models"),
        ("owned", "'owned', which is not a list"),
    ],
)
def test_option_that_names_something_else_is_an_error(name, why):
    service = SQLAlchemyService(Post, writable_relations=[name])

    with pytest.raises(ValueError, match=why):
        service.id  # noqa: B018
