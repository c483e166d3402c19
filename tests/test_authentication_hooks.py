from __future__ import annotations

from copy import deepcopy

import pytest
import sqlalchemy as sa
from flask import Flask

from flask_records import authenticate
from flask_records import AuthenticationService
from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import Forbidden
from flask_records import hash_password
from flask_records import limit_to_user
from flask_records import NotAuthenticated
from flask_records import Params
from flask_records import protect
from flask_records import restrict
from flask_records import set_user_field
from flask_records import SQLAlchemyService
from flask_records import Strategy

from .authentication import API_KEY
from .authentication import bearer
from .authentication import CHEAP
from .authentication import SECRET
from .models import Message
from .models import User

KEY = {"X-Api-Key": "robot's key"}
PASSWORD = "correct horse"
ANN = {"id": 1, "email": "ann@example.com", "password": "old", "age": 30}
BOB = {"id": 2, "email": "bob@example.com", "password": "old", "age": 40}
EVE = {"email": "eve@example.com", "age": 50}

OWNERS = {1: 1, 2: 2, 3: None}
"""The owner of each message."""

CALLS = [
    ("GET", "/users?$sort[age]=1", None),
    ("GET", "/users/1", None),
    ("POST", "/users", EVE),
    ("POST", "/users", [EVE]),
    ("PUT", "/users/1", EVE),
    ("PATCH", "/users/1", {"age": 31}),
    ("PATCH", "/users", {"age": 31}),
    ("DELETE", "/users/1", None),
    ("DELETE", "/users", None),
]
"""A call of each kind: the verb, the path and the data."""


class Echo:
    """Answers who calls, and what he sends."""

    def find(self, params):
        strategy = (params.authentication or {}).get("strategy")
        return {"strategy": strategy, "user": params.user}

    def create(self, data, params):
        return data


class Workers:
    """Users who have a name instead of an id."""

    id = "name"

    def get(self, id, params):
        return {"name": id}


@pytest.fixture
def records():
    records = FlaskRecords()
    staff = AuthenticationService("workers", settings="STAFF")
    # The tests connect what hashes passwords.
    service = AuthenticationService(
        strategies={"api-key": API_KEY}, custom_hashing=True
    )
    records.add("authentication", service)
    records.add("staff", staff)
    records.add("workers", Workers(), public=True)
    return records


@pytest.fixture
def echo(records):
    return records.add("echo", Echo(), public=True)


@pytest.fixture
def users(records):
    return records.add(
        "users", SQLAlchemyService(User, hidden=["password"], multi=True), public=True
    )


@pytest.fixture
def messages(records):
    return records.add("messages", SQLAlchemyService(Message, multi=True), public=True)


@pytest.fixture(autouse=True)
def app(db, records, users, echo, messages):
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["RECORDS_AUTHENTICATION"] = {"secret": SECRET, "passwords": CHEAP}
    app.config["STAFF"] = {"secret": "t" * 32, "passwords": CHEAP | {"memory": 72}}
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        db.session.execute(sa.insert(User), [ANN, BOB])
        rows = [{"id": i, "text": "hi", "user_id": o} for i, o in OWNERS.items()]
        db.session.execute(sa.insert(Message), rows)
        db.session.commit()

    yield app

    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def token(app, records):
    with app.app_context():
        return records.authentication().create_token({"id": 1})[0]


@pytest.fixture
def ann(token):
    """The headers of a user."""
    return bearer(token)


@pytest.fixture
def wanda(app, records):
    """The headers of a worker, whose tokens are those of another service."""
    with app.app_context():
        token, _ = records.authentication("staff").create_token({"name": "Wanda"})

    return bearer(token)


@pytest.fixture
def verify(app, records):
    with app.app_context():
        return records.authentication().settings.passwords.verify


@pytest.fixture
def passwords(app, db):
    """A function that returns what the database has as passwords, by email."""
    return lambda: _pairs(app, db, User.email, User.password)


@pytest.fixture
def owners(app, db):
    """A function that returns the owner of each message."""
    return lambda: _pairs(app, db, Message.id, Message.user_id)


def _pairs(app, db, key, value):
    statement = sa.select(key, value).order_by(key)

    with app.app_context():
        return {row[0]: row[1] for row in db.session.execute(statement)}


@pytest.mark.parametrize(("verb", "path", "data"), CALLS)
def test_authenticate_refuses_a_stranger(client, users, verb, path, data):
    users.before()(authenticate())

    response = client.open(path, method=verb, json=data)

    assert response.status_code == 401
    assert response.json == {
        "name": "NotAuthenticated",
        "message": "Not authenticated",
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


def test_authenticate_lets_a_user_pass(client, echo, ann):
    echo.before()(authenticate())

    response = client.get("/echo", headers=ann)

    user = {"id": 1, "email": "ann@example.com", "age": 30}
    assert response.json == {"strategy": "jwt", "user": user}


def test_authenticate_tells_what_is_wrong_with_a_token(client, echo, wanda):
    echo.before()(authenticate())

    response = client.get("/echo", headers=wanda)

    assert response.status_code == 401
    assert response.json["message"] == "invalid signature"


@pytest.mark.parametrize(
    "options", [{"public": True}, {"strategies": ["jwt", "api-key"]}]
)
@pytest.mark.parametrize(
    ("strategies", "with_token", "with_key"),
    [
        ([], 200, 401),
        (["jwt"], 200, 401),
        (["api-key"], 401, 200),
        (["api-key", "jwt"], 200, 200),
    ],
)
def test_authenticate_takes_its_strategies_only(
    records, client, ann, options, strategies, with_token, with_key
):
    records.add("own", Echo(), **options).before()(authenticate(*strategies))

    statuses = [client.get("/own", headers=one).status_code for one in (ann, KEY)]

    assert statuses == [with_token, with_key]


@pytest.mark.parametrize("options", [{"public": True}, {"authentication": "staff"}])
def test_authenticate_by_a_named_service(records, client, wanda, options):
    records.add("own", Echo(), **options).before()(authenticate(service="/staff"))

    response = client.get("/own", headers=wanda)

    assert response.json == {"strategy": "jwt", "user": {"name": "Wanda"}}


@pytest.mark.parametrize("options", [{"public": True}, {"public": False}])
def test_authenticate_by_a_named_service_refuses_tokens_of_others(
    records, client, ann, options
):
    records.add("own", Echo(), **options).before()(authenticate(service="staff"))

    response = client.get("/own", headers=ann)

    assert response.status_code == 401


def test_authenticate_lets_calls_in_python_pass(app_context, echo):
    echo.before()(authenticate())

    assert echo.find() == {"strategy": None, "user": None}


def test_authenticate_checks_calls_in_python_that_say_who_calls(
    app_context, echo, token
):
    echo.before()(authenticate())

    found = echo.find(Params(authentication={"strategy": "jwt", "accessToken": token}))

    assert found["user"]["id"] == 1


@pytest.mark.parametrize(
    "authentication",
    [
        {},
        {"strategy": "jwt"},
        {"strategy": "jwt", "accessToken": "a.b.c"},
        {"strategy": "api-key", "key": "robot's key"},
    ],
)
def test_authenticate_refuses_calls_in_python_that_say_it_wrong(
    app_context, echo, authentication
):
    echo.before()(authenticate())

    with pytest.raises(NotAuthenticated):
        echo.find(Params(authentication=authentication))


def test_authenticate_by_a_service_that_is_not_there_names_the_cure(
    app_context, echo, token
):
    echo.before()(authenticate(service="nope"))
    params = Params(authentication={"strategy": "jwt", "accessToken": token})

    with pytest.raises(RuntimeError, match=r"at 'nope'. Add one: records.add\("):
        echo.find(params)


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/users", {"json": EVE | {"password": PASSWORD}}),
        ("POST", "/users", {"json": [EVE | {"password": PASSWORD}]}),
        ("POST", "/users", {"data": EVE | {"password": PASSWORD}}),
        ("PUT", "/users/1", {"json": EVE | {"password": PASSWORD}}),
        ("PATCH", "/users/1", {"json": {"password": PASSWORD}}),
        ("PATCH", "/users?id=1", {"json": {"password": PASSWORD}}),
    ],
)
def test_password_is_stored_as_a_hash(
    client, users, passwords, verify, verb, path, body
):
    users.before("create", "update", "patch")(hash_password())

    client.open(path, method=verb, **body)

    new = [stored for stored in passwords().values() if stored != "old"]
    assert [verify(PASSWORD, hash) for hash in new] == [True]


def test_password_of_each_body_is_stored_as_its_hash(client, users, passwords, verify):
    users.before("create")(hash_password())
    ends = ["1 for me", "2 for me"]

    client.post(
        "/users", json=[{"email": end, "password": PASSWORD + end} for end in ends]
    )

    assert [verify(PASSWORD + end, passwords()[end]) for end in ends] == [True, True]


def test_each_field_that_is_named_is_hashed(app_context, echo, verify):
    echo.before("create")(hash_password("pin", "code"))

    created = echo.create({"pin": "1", "code": "1", "password": "1"})

    assert created["password"] == "1"
    assert created["pin"] != created["code"]
    assert verify("1", created["pin"]) and verify("1", created["code"])


@pytest.mark.parametrize(
    "data", [{"age": 1}, {"password": None}, {"a": {"password": "b"}}]
)
def test_password_that_is_absent_null_or_nested_is_left_alone(app_context, echo, data):
    echo.before("create")(hash_password())

    assert echo.create(data) == data


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("", "is empty"),
        (5, "is not text"),
        (True, "is not text"),
        (["x"], "is not text"),
        ({"$ne": "x"}, "is not text"),
        ("x" * 1025, "is too long"),
    ],
)
@pytest.mark.parametrize("field", ["password", "pin"])
def test_password_that_can_not_be_hashed_is_refused(client, echo, field, password, why):
    echo.before("create")(hash_password(field))

    response = client.post("/echo", json=[{field: PASSWORD}, {field: password}])

    assert response.status_code == 400
    assert response.json["errors"] == {field: why}


def test_body_that_is_no_object_is_refused_before_it_is_hashed(client, echo):
    echo.before("create")(hash_password())

    response = client.post("/echo", json=[{"password": PASSWORD}, ["password"]])

    message = "First parameter for 'create' must be an object"
    assert (response.status_code, response.json["message"]) == (400, message)


def test_hash_costs_what_the_named_service_says(app_context, echo):
    echo.before("create")(hash_password(service="staff"))

    assert "$m=72,t=1,p=1$" in echo.create({"password": PASSWORD})["password"]


@pytest.mark.parametrize(("verb", "path", "data"), CALLS)
def test_protected_fields_are_in_no_answer_or_event(client, users, verb, path, data):
    events = []
    users.after()(protect("age"))
    users.events()(lambda event, record, context: events.append(record))

    response = client.open(path, method=verb, json=data)

    answered = response.json if isinstance(response.json, list) else [response.json]
    assert {name for one in answered for name in one} == {"id", "email"}
    assert events == ([] if verb == "GET" else answered)


def test_protected_fields_are_in_no_page(records, client):
    service = SQLAlchemyService(User, paginate={"default": 1})
    records.add("pages", service, public=True).after()(protect("password", "age"))

    response = client.get("/pages")

    data = [{"id": 1, "email": "ann@example.com"}]
    assert response.json == {"total": 2, "limit": 1, "skip": 0, "data": data}


def test_protected_field_that_is_selected_is_left_out(client, users):
    users.after()(protect("age"))

    response = client.get("/users/1?$select[]=age&$select[]=email")

    assert response.json == {"id": 1, "email": "ann@example.com"}


def test_fields_of_several_hooks_are_protected(client, users):
    users.after()(protect("age"))
    users.after("get")(protect("email"))

    assert client.get("/users/1").json == {"id": 1}


def test_protected_field_is_seen_by_hooks_and_calls_in_python(
    app_context, records, users
):
    seen = []
    users.after()(protect("age"))
    records.after()(lambda method, context: seen.append(context.result["age"]))

    assert (users.get(1), seen) == (ANN, [30])


@pytest.mark.parametrize("result", [None, "text", 5, []])
def test_protect_leaves_a_result_that_is_no_record(client, echo, result):
    echo.before("find")(lambda method, context: setattr(context, "result", result))
    echo.after()(protect("user"))

    assert client.get("/echo").get_json(silent=True) == result


def test_protect_hides_fields_of_a_mended_result(client, users):
    def mend(method, context):
        context.error, context.result = None, {"id": 9, "age": 9}

    users.error()(mend)
    users.error()(protect("age"))

    assert client.get("/users/9").json == {"id": 9}


def test_protect_leaves_an_error_as_it_is(client, users):
    users.error()(protect("age", "message"))

    response = client.get("/users/9")

    assert response.status_code == 404
    assert response.json["message"] == "No record found for id '9'"


@pytest.mark.parametrize(
    ("verb", "path", "data", "owner"),
    [
        ("POST", "/messages", {"text": "a"}, 1),
        ("POST", "/messages", {"text": "a", "user_id": 2}, 1),
        ("POST", "/messages", [{"text": "a", "user_id": None}], 1),
        ("PUT", "/messages/2", {"text": "a"}, 1),
        ("PATCH", "/messages/2", {"text": "a"}, 2),
        ("PATCH", "/messages/2", {"user_id": 2}, 1),
        ("PATCH", "/messages?id=2", {"user_id": None}, 1),
    ],
)
def test_caller_becomes_the_owner(client, messages, ann, verb, path, data, owner):
    messages.before("create", "update", "patch")(set_user_field("user_id"))

    response = client.open(path, method=verb, json=data, headers=ann)

    answered = response.json if isinstance(response.json, list) else [response.json]
    assert [record["user_id"] for record in answered] == [owner]


def test_calls_in_python_name_the_owner_themselves(app_context, messages):
    messages.before("create")(set_user_field("user_id"))

    created = messages.create({"text": "a", "user_id": 2})

    assert created["user_id"] == 2


def test_user_of_a_call_in_python_becomes_the_owner(app_context, messages):
    messages.before("create")(set_user_field("user_id"))

    created = messages.create({"text": "a", "user_id": 2}, Params(user=ANN))

    assert created["user_id"] == 1


@pytest.mark.parametrize("hook", [set_user_field, limit_to_user])
@pytest.mark.parametrize(
    ("headers", "status"), [({}, 401), ({"X-Api-Key": "wrong"}, 401), (KEY, 403)]
)
def test_client_without_a_user_owns_nothing(
    records, client, owners, hook, headers, status
):
    service = SQLAlchemyService(Message, multi=True)
    guards = {"public": True, "strategies": ["api-key"]}
    records.add("own", service, **guards).before("patch")(hook("user_id"))

    response = client.patch("/own", json={"user_id": 2}, headers=headers)

    assert (response.status_code, owners()) == (status, OWNERS)


@pytest.mark.parametrize("hook", [set_user_field, limit_to_user])
def test_client_whose_user_has_no_id_owns_nothing(app_context, messages, hook):
    messages.before()(hook("user_id"))
    params = Params(provider="rest", authenticated=True, user={"id": None})

    with pytest.raises((Forbidden, NotAuthenticated)):
        messages.patch(None, {"user_id": 2}, params)


@pytest.mark.parametrize("user", [None, {"id": None}, {"name": "R2"}])
def test_user_without_an_id_may_call_what_needs_none(records, client, user):
    robot = Strategy(lambda *call: {"user": user}, lambda headers: {})
    records.authentication().strategies["robot"] = robot
    own = records.add("own", SQLAlchemyService(Message), strategies=["robot"])
    own.before("find")(limit_to_user("user_id"))

    statuses = [client.get(path).status_code for path in ("/own", "/own/1")]

    assert statuses == [403, 200]


def test_owner_is_known_by_the_id_of_his_own_users_service(
    records, client, wanda, owners
):
    own = records.add("own", SQLAlchemyService(Message), authentication="staff")
    own.before("create")(set_user_field("text"))
    own.before("find")(limit_to_user("text"))

    created = client.post("/own", json={"text": "x"}, headers=wanda)
    found = client.get("/own", headers=wanda)

    assert (created.status_code, created.json["text"]) == (201, "Wanda")
    assert found.json == [created.json]


@pytest.mark.parametrize(
    ("params", "ids"),
    [(None, [1, 2, 3]), (Params(user=ANN), [1]), (Params(user=BOB), [2])],
)
def test_limit_to_user_concerns_calls_with_a_user(app_context, messages, params, ids):
    messages.before()(limit_to_user("user_id"))

    assert [message["id"] for message in messages.find(params)] == ids


def test_limit_to_user_lets_create_pass(client, messages, ann):
    messages.before()(limit_to_user("user_id"))

    response = client.post("/messages", json={"text": "a"}, headers=ann)

    assert response.status_code == 201


ONE_OR_TWO = [{"id": "1"}, {"id": "2"}]

TWO_OR_THREE = {"$or": [{"id": 2}, {"id": 3}]}


@pytest.mark.parametrize(
    ("query", "conditions", "ids"),
    [
        ({}, [{"id": 1}], [1]),
        ({}, [{"user_id": None}], [3]),
        ({"id": "2"}, [{"id": 1}], []),
        ({"id": {"$lt": "3"}}, [{"id": {"$gt": 1}}], [2]),
        ({"id": ["1", "2"]}, [{"id": {"$in": [2, 3]}}], [2]),
        ({"$sort": {"id": "-1"}, "$limit": "1"}, [{"id": {"$lt": 3}}], [2]),
        ({"id": "2"}, [{"$or": [{"id": 1}]}], []),
        ({"$or": ONE_OR_TWO}, [{"id": {"$gt": 1}}], [2]),
        ({"$or": ONE_OR_TWO}, [TWO_OR_THREE], [2]),
        ({"$or": {"0": {"id": "1"}, "30": {"id": "2"}}}, [TWO_OR_THREE], [2]),
        ({"$or": []}, [TWO_OR_THREE], []),
        ({"$or": ONE_OR_TWO}, [{"$or": []}], []),
        ({"$or": ONE_OR_TWO, "id": {"$ne": "1"}}, [{"id": {"$gt": 0}}], [2]),
        ({"$or": ONE_OR_TWO, "id": {"$ne": "1"}}, [TWO_OR_THREE | {"id": 3}], []),
        ({"$or": [{"$or": ONE_OR_TWO}]}, [{"$or": [TWO_OR_THREE]}], [2]),
        ({}, [{"id": 1}, {"id": 2}], []),
        ({}, [TWO_OR_THREE, {"$or": [{"id": 1}, {"id": 2}]}, {"text": "hi"}], [2]),
        ({"id": "2"}, [{"id": 2}, {"id": 2}, {"id": 2}], [2]),
    ],
)
def test_restricted_query_has_to_meet_all_conditions(
    app_context, messages, query, conditions, ids
):
    before = deepcopy(query)
    params = Params(query=query)

    for condition in conditions:
        restrict(params, condition)

    assert [message["id"] for message in messages.find(params)] == ids
    assert query == before


@pytest.mark.parametrize("wrong", ["", "x", "2", [""], ["x"], {}, {"id": "2"}, 5])
def test_restricted_query_that_is_wrong_is_refused(app_context, messages, wrong):
    params = Params(query={"$or": wrong, "id": "2"})
    restrict_all = messages.before()
    restrict_all(lambda method, context: restrict(context.params, {"id": 2}))

    with pytest.raises(BadRequest, match=r"\$or takes a list of queries"):
        messages.find(params)
