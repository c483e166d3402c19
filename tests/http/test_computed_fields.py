"""Fields of answers that functions compute."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, SQLAlchemyService

from ..databases import served


class Base(DeclarativeBase):
    pass


class Team(Base):
    __tablename__ = "team"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(20))


class Person(Base):
    __tablename__ = "person"

    id: Mapped[int] = mapped_column(primary_key=True)
    first: Mapped[str] = mapped_column(sa.String(20))
    last: Mapped[str] = mapped_column(sa.String(20))
    secret: Mapped[str | None] = mapped_column(sa.String(20))
    teamId: Mapped[int | None] = mapped_column(sa.ForeignKey("team.id"))
    team: Mapped[Team | None] = relationship()


@pytest.fixture
def open_app():
    """A function that opens an app with people whose options are given."""
    opened = []

    def open(**options):
        db, records = SQLAlchemy(model_class=Base), FlaskRecords()
        options = {"hidden": ["secret"], "multi": True, **options}
        people = SQLAlchemyService(Person, **options)
        people = records.add("people", people, public=True)
        opened.append(served(db, records, "sqlite://"))
        app = opened[-1].__enter__()

        with app.app_context():
            people.create({"first": "Ann", "last": "Lee", "secret": "x"})
            people.create({"first": "Bob", "last": "Ray"})

        return app.test_client(), people

    yield open

    for each in opened:
        each.__exit__(None, None, None)


class Calls(list):
    """The numbers of records of the calls of a function."""

    def full_names(self, records) -> list[str]:
        self.append(len(records))
        return [f"{each['first']} {each['last']}" for each in records]

    def shout(self, records):
        self.append(len(records))
        return records[0]["name"].upper()


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def client(open_app, calls):
    client, _ = open_app(computed={"fullName": calls.full_names})
    calls.clear()
    return client


def test_function_is_called_once_for_all_records(client, calls):
    found = client.get("/people").json

    assert [each["fullName"] for each in found] == ["Ann Lee", "Bob Ray"]
    assert calls == [2]


def test_each_method_answers_the_value(client, calls):
    body = {"first": "Cy", "last": "Fox"}
    answers = [
        client.get("/people/1").json,
        client.post("/people", json=body).json,
        client.put("/people/3", json={**body, "last": "Day"}).json,
        client.patch("/people/3", json={"first": "Di"}).json,
        client.delete("/people/3").json,
        *client.post("/people", json=[body]).json,
        *client.patch("/people?id=2", json={"last": "Roy"}).json,
        *client.delete("/people?id=2").json,
    ]

    assert [each["fullName"] for each in answers] == [
        *("Ann Lee", "Cy Fox", "Cy Day", "Di Day", "Di Day"),
        *("Cy Fox", "Bob Roy", "Bob Roy"),
    ]
    assert calls == [1] * 8


def test_select_decides_what_is_computed(client, calls):
    assert client.get("/people/1?$select[]=first").json == {"id": 1, "first": "Ann"}
    assert calls == []
    shown = client.get("/people/1?$select[]=fullName").json
    assert shown == {"id": 1, "fullName": "Ann Lee"}


def test_hidden_fields_are_read_and_not_shown(open_app):
    def has_secret(records) -> list[bool]:
        return [each["secret"] is not None for each in records]

    client, _ = open_app(computed={"hasSecret": has_secret})

    assert [each["hasSecret"] for each in client.get("/people").json] == [True, False]
    assert "secret" not in client.get("/people/1").json


def test_hidden_computed_fields_are_for_python_only(open_app, calls):
    client, people = open_app(
        computed={"fullName": calls.full_names}, hidden=["secret", "fullName"]
    )
    calls.clear()

    assert "fullName" not in client.get("/people/1").json
    assert calls == []
    message = client.get("/people?$select[]=fullName").json["message"]
    assert message == "'fullName' is not a field."
    errors = client.patch("/people/1", json={"fullName": "x"}).json["errors"]
    assert errors == {"fullName": "is not a field"}

    with client.application.app_context():
        assert people.get(1)["fullName"] == "Ann Lee"


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        (lambda user: False, [None, None]),
        (lambda user: {"first": "Bob"}, [None, "Bob Ray"]),
        (lambda user: True, ["Ann Lee", "Bob Ray"]),
    ],
)
def test_rules_decide_who_sees_the_value(open_app, calls, rule, shown):
    client, _ = open_app(
        computed={"fullName": calls.full_names}, visible={"fullName": rule}
    )
    found = client.get("/people").json

    assert [each.get("fullName") for each in found] == shown


def test_values_of_new_records_are_refused(client):
    body = {"first": "Ann", "last": "Lee", "fullName": "Zoe"}

    answer = client.post("/people", json=body)

    assert answer.status_code == 400
    assert answer.json["errors"] == {"fullName": "is read-only"}


@pytest.mark.parametrize(("verb", "path"), [("put", "/1"), ("patch", "/1")])
def test_values_of_whole_records_are_left_out(client, verb, path):
    body = {"first": "Ann", "last": "Fay", "fullName": "Ann Lee"}
    answer = getattr(client, verb)(f"/people{path}", json=body)

    assert answer.json["fullName"] == "Ann Fay"


@pytest.mark.parametrize(
    "query",
    ["fullName=x", "fullName[$gt]=x", "$sort[fullName]=1", "$or[0][fullName]=x"],
)
def test_queries_are_refused(client, query):
    answer = client.get(f"/people?{query}")

    assert answer.status_code == 400
    assert answer.json["message"] == (
        "'fullName' is computed, so that it can't be filtered or sorted by."
    )
    assert answer.json["errors"] == {"fullName": "can't be filtered or sorted by"}


def wrong_length(records):
    return ["secret of another"] * (len(records) + 1)


def no_list(records):
    return "AB"


def broken(records):
    raise LookupError("secret of another")


@pytest.mark.parametrize("function", [wrong_length, no_list, broken])
def test_failures_are_logged_and_tell_nothing(open_app, calls, caplog, function):
    functions = [calls.full_names]
    client, _ = open_app(computed={"name": lambda records: functions[0](records)})
    functions[0] = function
    answer = client.get("/people")

    assert answer.status_code == 500
    assert answer.json["message"] == "Internal server error"
    assert "secret" not in answer.text
    assert "name" in caplog.text or "LookupError" in caplog.text


def test_events_have_the_value_once(open_app, calls):
    client, people = open_app(computed={"fullName": calls.full_names})
    events = []
    people.events()(lambda event, record, context: events.append(record["fullName"]))
    calls.clear()
    client.patch("/people/1", json={"last": "Ray"})

    assert events == ["Ann Ray"]
    assert calls == [1]


def test_schemas_have_the_type(open_app):
    def names(records) -> list[str | None]:
        """The whole name."""
        return [None for _ in records]

    client, people = open_app(computed={"fullName": names})

    with client.application.app_context():
        schemas = people.target.schemas_for(None)

    assert schemas.record["properties"]["fullName"] == {
        "type": ["string", "null"],
        "description": "The whole name.",
        "readOnly": True,
    }
    assert "fullName" in schemas.query["properties"]["$select"]["items"]["enum"]
    assert "fullName" not in schemas.query["properties"]
    assert "fullName" not in schemas.patch["properties"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (bool, {"type": "boolean"}),
        (str | None, {"type": ["string", "null"]}),
        (dict[str, int], {"type": "object"}),
        (list[int], {"type": "array"}),
        (int | str, {}),
        (Person, {}),
    ],
)
def test_annotations_are_schemas(open_app, hint, schema):
    def values(records):
        return [None for _ in records]

    values.__annotations__["return"] = list[hint]
    client, people = open_app(computed={"value": values})

    with client.application.app_context():
        schemas = people.target.schemas_for(None)

    assert schemas.record["properties"]["value"] == {**schema, "readOnly": True}


@pytest.mark.parametrize("option", [["fullName"], {"fullName": 1}, {"$name": print}])
def test_options_of_another_form_are_refused(option):
    with pytest.raises(TypeError, match="'computed'"):
        SQLAlchemyService(Person, computed=option)


@pytest.mark.parametrize("name", ["first", "secret", "team"])
def test_names_of_the_model_are_refused(name):
    service = SQLAlchemyService(Person, computed={name: lambda records: []})

    with pytest.raises(ValueError, match=f"'computed' names '{name}'"):
        service.id  # noqa: B018
