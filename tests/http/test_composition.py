"""Services that call others show clients what these show them."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import typing as t

import pydantic
import pytest

from flask_records import BadRequest, Page, Params, SQLAlchemyService
from flask_records.http.formatter import dumps

from ..databases import served
from ..models import User

ANN = {"email": "ann@example.com", "password": "correct horse", "age": 30}
SHOWN = {"id": 1, "email": "ann@example.com", "age": 30}


@dataclasses.dataclass(frozen=True)
class Card:
    title: str
    person: object


class Model(pydantic.BaseModel, extra="allow"):
    person: t.Any
    place: tuple[int, int] = (1, 2)


class Person:
    """A service that composes its result of a call in Python."""

    def __init__(self, compose):
        self.compose = compose

    def get(self, id, params):
        return self.compose(id, params)

    def create(self, data, params):
        return {"id": 7, **self.compose(1, params)}


@pytest.fixture
def people(records, app, users, app_context):
    """A function that adds a service that composes its results."""
    users.create(ANN)

    def add(compose):
        return records.add("people", Person(compose), public=True)

    return add


COMPOSITIONS = {
    "as it is": lambda user: user,
    "below a name": lambda user: {"user": user},
    "in a list": lambda user: [user, [user]],
    "in a page": lambda user: Page(1, 10, 0, [{"user": user}]),
    "in a dataclass": lambda user: {"card": Card("A", user)},
    "in a model": lambda user: Model(person=[user]),
    "in a model of models": lambda user: Model(person=Model(person=1, more=user)),
    "in a dataclass in a model": lambda user: Model(person=Card("A", user)),
    "in a set of others": lambda user: {"users": ({"user": user}, Card("B", [user]))},
    "with more": lambda user: user | {"rooms": []},
    "beside less": lambda user: {"rooms": []} | user,
    "as a copy": lambda user: user.copy(),
    "as a deep copy": lambda user: copy.deepcopy(user),
    "from a cache": lambda user: pickle.loads(pickle.dumps([user])),
}


@pytest.mark.parametrize("compose", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_composed_result_hides_what_each_service_hides(people, users, client, compose):
    people(lambda id, params: compose(users.get(id)))

    text = client.get("/people/1").text

    assert "ann@example.com" in text
    assert "password" not in text
    assert "correct horse" not in text


@pytest.mark.parametrize("compose", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_formatter_of_the_application_gets_no_hidden_fields(
    records, app, users, client, app_context, compose
):
    users.create(ANN)
    person = Person(lambda id, params: {"of": compose(users.get(id))})
    records.add(
        "people", person, public=True, formatter=lambda context: str(context.sent)
    )

    text = client.get("/people/1").text

    assert "ann@example.com" in text
    assert "password" not in text


def test_schema_of_a_result_has_no_hidden_fields(records, users, app_context, client):
    users.create(ANN)
    person = Person(lambda id, params: {"person": users.get(id), "more": users.get(id)})
    records.add("people", person, schemas={"get": {"result": Model}}, public=True)

    answer = client.get("/people/1").json

    assert answer == {"person": SHOWN, "place": [1, 2], "more": SHOWN}


@pytest.mark.parametrize(
    "call",
    [
        lambda users: users.get(1),
        lambda users: users._get(1),
        lambda users: users.find()[0],
        lambda users: users._find()[0],
        lambda users: users.create({"email": "b", "password": "other horse"}),
        lambda users: users.patch(1, {"age": 30}),
        lambda users: users.update(1, ANN),
        lambda users: users.remove(1),
        lambda users: users.as_caller(Params()).get(1),
    ],
)
def test_results_of_all_methods_hide_what_is_hidden(people, users, client, call):
    people(lambda id, params: {"user": call(users)})

    assert "password" not in client.get("/people/1").json["user"]


def test_record_of_a_call_in_python_is_a_usual_one(users, app, app_context):
    users.create(ANN)

    user = users.get(1)

    assert user == {**SHOWN, "password": "correct horse"}
    assert isinstance(user, dict)
    assert user["password"] == "correct horse"
    assert json.loads(json.dumps(user)) == user
    assert pickle.loads(pickle.dumps(user)) == user
    assert users.patch(1, user)["password"] == "correct horse"
    assert User(**user).password == "correct horse"


@pytest.mark.parametrize("place", ["result", "dispatch"])
@pytest.mark.parametrize("when", ["before", "after", "error"])
def test_hooks_set_no_results_with_hidden_fields(
    users, messages, app, client, app_context, when, place
):
    users.create(ANN)

    if when == "after":
        messages.create({"text": "Hi"})

    def set_result(method, context):
        context.error = None
        context.result = {"fine": True}
        setattr(context, place, {"user": users.get(1)})

    getattr(messages, when)("get")(set_result)

    answer = client.get("/messages/1").json

    assert answer == {"user": SHOWN}


def test_errors_have_no_hidden_fields(people, users, client):
    def refuse(id, params):
        raise BadRequest("No.", data={"user": users.get(id)})

    people(refuse)

    answer = client.get("/people/1").json

    assert answer["data"] == {"user": SHOWN}


def test_hidden_fields_of_any_object_stay_hidden(records, people, client):
    class Secrets:
        hidden = ["key"]

        def get(self, id, params):
            return {"id": id, "key": "opensesame"}

    secrets = records.add("secrets", Secrets(), public=True)
    people(lambda id, params: [secrets.get(id), secrets.get(id, Params())["key"]])

    assert client.get("/people/1").json == [{"id": "1"}, "opensesame"]


def only_adults(user):
    return user is not None and {"age": {"$gte": 18}}


@pytest.mark.parametrize(
    "compose",
    [
        lambda users, params: users.get(1),
        lambda users, params: users.as_caller(params).get(1),
        lambda users, params: users.get(1, params),
        lambda users, params: users._get(1, params),
    ],
)
@pytest.mark.parametrize("age", [30, 10])
def test_fields_with_rules_are_shown_to_those_who_may_see_them(
    records, db, compose, age
):
    service = SQLAlchemyService(User, visible={"email": only_adults})
    users = records.add("users", service, public=True)
    person = Person(lambda id, params: {"user": compose(users, params)})
    people = records.add("people", person, public=True)
    seen = []
    people.events()(lambda event, record, context: seen.append(record["user"]))
    caller = Params(provider="rest", user={"id": 1})

    with served(db, records, "sqlite://") as app, app.app_context():
        users.create({**ANN, "age": age})
        answer = people.get(1, caller)
        people.create({}, caller)

        assert (b"email" in dumps(answer, caller.user)) == (age == 30)
        # Who gets an event may not see what the caller sees.
        assert b"email" not in dumps(seen)


def test_record_from_a_cache_is_cut_for_its_viewer(records, db):
    """Not for the one who it was read for."""
    rules = {"age": lambda user: user is not None and user["id"] == 1}
    users = records.add("users", SQLAlchemyService(User, visible=rules), public=True)
    ann, bob = [Params(provider="rest", user={"id": id}) for id in (1, 2)]

    with served(db, records, "sqlite://") as app, app.app_context():
        users.create(ANN)
        user = pickle.loads(pickle.dumps(users.get(1, ann)))

        assert "age" in json.loads(dumps(user, ann.user))
        assert "age" not in json.loads(dumps(user, bob.user))


def caller(**changes):
    return Params(provider="rest", **changes)


def test_caller_has_all_methods(users, messages, app, app_context):
    as_caller = messages.as_caller(caller(query={"text": "x"}, extra={"a": 1}))

    record = as_caller.create({"text": "Hi"})
    id = record["id"]

    assert as_caller.patch(id, {"rank": 1})["rank"] == 1
    assert as_caller.update(id, {"text": "Ho"})["rank"] is None
    assert as_caller.get(id, {"$select": ["rank"]}) == {"id": id, "rank": None}
    assert as_caller.find({"text": "Ho"}).total == 1
    assert messages.as_caller(caller(), paginate=False).find() == [as_caller.get(id)]
    assert as_caller.remove(id)["text"] == "Ho"
