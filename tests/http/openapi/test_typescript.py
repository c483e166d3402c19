"""The types of services for clients in TypeScript. Those of tests/clients compile the
types of the example with the official client.
"""

from __future__ import annotations

import json
import re

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.openapi import document, Schemas
from flask_records.openapi.typescript import typescript


class Base(DeclarativeBase):
    pass


class Task(Base):
    """A thing to do. */"""

    __tablename__ = "task"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(sa.Enum("open", "done"), comment="Its state.")
    tags: Mapped[list | None] = mapped_column(sa.JSON)
    secret: Mapped[str | None]
    price: Mapped[str | None]
    parentId: Mapped[int | None] = mapped_column(sa.ForeignKey("task.id"))
    parent: Mapped[Task | None] = relationship(remote_side=[id])
    steps: Mapped[list[Task]] = relationship(viewonly=True)


class Bell:
    events = ["rung"]

    def find(self, params):
        return []

    def ring(self, data, params):
        return None

    def publish(self, data, params):
        return None


@pytest.fixture(scope="module")
def app():
    app = Flask("tasks")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    tasks = SQLAlchemyService(
        Task,
        hidden=["secret"],
        visible={"price": lambda user: False},
        multi=["create"],
        whitelist=["$populate"],
    )
    records.add("tasks", tasks, public=True)
    records.add("my/bell", Bell(), methods=["find", "ring", "publish"], public=True)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        yield app


@pytest.fixture(scope="module")
def made(app):
    return typescript()


def block(made, name):
    """The lines of an interface."""
    head = re.search(
        rf"^export interface {name}(<.*>)?( extends .*)? {{\n", made, re.MULTILINE
    )
    after = made[head.end() :]
    return [line.strip() for line in after.partition("\n}")[0].splitlines()]


def test_records_have_the_fields_that_clients_see(made):
    assert block(made, "Tasks") == [
        "id: number",
        "/** Its state. */",
        'state: "open" | "done"',
        "tags: any",
        # Not everybody sees it.
        "price?: string | null",
        "parentId: number | null",
        # They are there if a query asks for them.
        "parent?: Tasks | null",
        "steps?: Tasks[]",
    ]
    assert "/** A thing to do. *\\/ */\nexport interface Tasks {" in made


def test_bodies_have_what_is_required(made):
    assert 'state: "open" | "done"' in block(made, "TasksData")
    assert 'state?: "open" | "done"' in block(made, "TasksPatch")
    assert "secret?: string | null" in block(made, "TasksData")


NAMES = ["parent", "steps"]


def test_queries_have_operators_and_groups(made):
    query = block(made, "TasksQuery")

    assert "$or?: TasksQuery[]" in query
    paths = [f'"{each}.{other}"' for each in NAMES for other in NAMES]
    names = " | ".join(['"parent"', '"steps"', *paths])
    assert f"$populate?: {names} | ({names})[]" in query
    assert not [line for line in query if line.startswith("secret")]


def test_queries_compare_with_null(made):
    query = block(made, "TasksQuery")
    parent = next(line for line in query if line.startswith("parentId"))
    id = next(line for line in query if line.startswith("id"))

    assert parent == (
        "parentId?: number | null | { $eq?: number | null; $ne?: number | null;"
        " $in?: (number | null)[]; $nin?: (number | null)[];"
        " $lt?: number; $lte?: number; $gt?: number; $gte?: number }"
    )
    assert "null" not in id
    # The null of a query string is the empty text.
    assert "price?: string | { $eq?: string; $ne?: string;" in "\n".join(query)


def test_methods_are_those_of_the_service(made):
    selected = 'Selected<Tasks, TasksField, S | "id">'
    methods = [
        line.replace("<S extends TasksField = TasksField>", "").replace(
            selected, "Tasks"
        )
        for line in block(made, "TasksService")
    ]

    assert methods == [
        "find(params?: CallParams<TasksQuery<S>>): Promise<(Tasks)[]>",
        "get(id: number, params?: CallParams<TasksQuery<S>>): Promise<Tasks>",
        "create(data: TasksData, params?: CallParams<TasksQuery<S>>): Promise<Tasks>",
        "create(data: TasksData[], params?: CallParams<TasksQuery<S>>):"
        " Promise<(Tasks)[]>",
        "update(id: number, data: TasksUpdate, params?: CallParams<TasksQuery<S>>):"
        " Promise<Tasks>",
        "patch(id: number, data: TasksPatch, params?: CallParams<TasksQuery<S>>):"
        " Promise<Tasks>",
        "remove(id: number, params?: CallParams<TasksQuery<S>>): Promise<Tasks>",
    ]
    assert block(made, "MyBellService") == [
        "find(params?: CallParams<MyBellQuery>): Promise<MyBell>",
        "ring(data: any, params?: CallParams<MyBellQuery>): Promise<any>",
    ]


def test_queries_select_fields_but_no_relationships(made):
    fields = '"id" | "state" | "tags" | "price" | "parentId"'

    assert f"export type TasksField = {fields}\n" in made
    assert "$select?: readonly S[]" in block(made, "TasksQuery")


def test_events_have_records(made):
    assert block(made, "MyBellEvents") == [
        "created: MyBell",
        "updated: MyBell",
        "patched: MyBell",
        "removed: MyBell",
        "rung: any",
    ]
    assert "interface MyBellService extends ServiceEvents<MyBellEvents> {" in made


def test_client_has_the_methods_that_feathersjs_allows(made):
    _, _, methods = made.partition("export const serviceMethods = ")
    methods, _, _ = methods.partition(" as const")

    # A service of its clients has a method 'publish' already.
    assert json.loads(methods) == {
        "tasks": ["find", "get", "create", "update", "patch", "remove"],
        "my/bell": ["find", "ring"],
    }


TEXT = {"type": "string"}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y-y": TEXT},
    "required": ["x"],
}
TYPES = [
    ({}, "any"),
    (TEXT, "string"),
    ({"type": ["integer", "null"]}, "number | null"),
    ({"const": 'a"b'}, '"a\\"b"'),
    ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
    ({"anyOf": [TEXT, {"type": "boolean"}, TEXT]}, "string | boolean"),
    ({"oneOf": [TEXT, {"type": "null"}]}, "string | null"),
    ({"type": "array"}, "any[]"),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
    ({"type": "object"}, "{ [name: string]: any }"),
    ({"type": "object", "additionalProperties": TEXT}, "{ [name: string]: string }"),
    ({"type": "object", "additionalProperties": False}, "{ [name: string]: any }"),
    (POINT, '{ x: number; "y-y"?: string }'),
    (
        {**POINT, "additionalProperties": True},
        '{ x: number; "y-y"?: string; [name: string]: any }',
    ),
]


def test_values_have_the_types_of_their_schemas():
    class Points:
        def find(self, params):
            return []

        def schemas_for(self, params):
            places = {str(i): schema for i, (schema, _) in enumerate(TYPES)}
            return Schemas({"type": "object", "properties": places})

    class Maps:
        def find(self, params):
            return []

        def schemas_for(self, params):
            points = {
                "type": "object",
                "properties": {"a": Points().schemas_for(0).record},
            }
            return Schemas(points)

    app, records = Flask("tests"), FlaskRecords()
    records.add("points", Points(), public=True)
    records.add("maps", Maps(), public=True)
    records.init_app(app)

    with app.app_context():
        made = typescript()

    expected = [f'"{i}": {text}' for i, (_, text) in enumerate(TYPES)]
    assert block(made, "Points") == expected
    assert block(made, "Maps") == ["a: Points"]


@pytest.mark.parametrize(
    "path",
    ["rooms/<int:room>/bells", "rooms/:room/bells", "rooms/<any(a, b):room>/bells"],
)
def test_paths_with_values_have_a_pattern(path):
    app = Flask("tests")
    records = FlaskRecords()
    records.add(path, Bell(), methods=["find"], public=True)
    records.init_app(app)

    with app.app_context():
        made = typescript()

    assert block(made, "ServiceTypes") == [
        '"rooms/:room/bells": RoomsBellsService',
        "[path: `rooms/${string}/bells`]: RoomsBellsService",
    ]
    assert '"rooms/:room/bells": ["find"]' in made


def test_pages_that_are_not_counted_may_lack_their_total():
    app = Flask("tasks")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()
    paginate = {"default": 10, "total": False}
    records.add("tasks", SQLAlchemyService(Task, paginate=paginate), public=True)
    records.init_app(app)

    with app.app_context():
        text = typescript()

    assert re.search(r"find<.*Promise<Uncounted<Paginated<Selected<", text)


class Words:
    def find(self, params):
        yield {"word": "one"}

    async def spell(self, data, params):
        yield "o"


@pytest.fixture
def words():
    app = Flask("words")
    records = FlaskRecords()
    records.add("words", Words(), methods=["find", "spell"], public=True)
    records.init_app(app)

    with app.app_context():
        yield


def test_methods_that_yield_return_iterables(words):
    text = typescript()

    assert re.search(r"find\(.*\): Promise<AsyncIterable<.*>>", text)
    assert re.search(r"spell\(.*\): Promise<AsyncIterable<any>>", text)


def test_answers_of_methods_that_yield_are_streams(words):
    paths = document()["paths"]["/words"]
    answer = paths["get"]["responses"]["200"]

    assert [*answer["content"]] == ["text/event-stream"]
    assert "304" not in paths["get"]["responses"]
