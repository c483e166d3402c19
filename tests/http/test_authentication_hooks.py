"""Hooks for callers, for owners of records and for passwords."""

from copy import deepcopy

import pytest
import sqlalchemy as sa

from flask_records import (
    accept_me,
    AuthenticationService,
    BadRequest,
    FlaskRecords,
    Forbidden,
    FromUser,
    hash_password,
    NotAuthenticated,
    Params,
    restrict,
    set_user_field,
    SQLAlchemyService,
)

from ..authentication import API_KEY, bearer, CHEAP, SECRET
from ..databases import served
from ..models import Message, User

ANN = {"id": 1, "email": "ann@example.com", "password": "old", "age": 30}

BOB = {"id": 2, "email": "bob@example.com", "password": "old", "age": 40}

EVE = {"email": "eve@example.com", "age": 50}

OWNERS = {1: 1, 2: 2, 3: None}
"""The owner of each message."""


class Echo:
    """Answers with the caller and the data of a call."""

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
    records = FlaskRecords(readable=True)
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
    staff = {"secret": SECRET, "issuer": "staff", "passwords": CHEAP | {"memory": 72}}
    default = {"secret": SECRET, "passwords": CHEAP}
    settings = {"RECORDS_AUTHENTICATION": default, "STAFF": staff}

    with served(db, records, "sqlite://", **settings) as app:
        with app.app_context():
            db.session.execute(sa.insert(User), [ANN, BOB])
            rows = [{"id": i, "text": "hi", "user_id": o} for i, o in OWNERS.items()]
            db.session.execute(sa.insert(Message), rows)
            db.session.commit()

        yield app


def pairs_in(app, db, key, value):
    statement = sa.select(key, value).order_by(key)

    with app.app_context():
        return {row[0]: row[1] for row in db.session.execute(statement)}


KEY = {"X-Api-Key": "robot's key"}


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
def owners(app, db):
    """A function that returns the owner of each message."""
    return lambda: pairs_in(app, db, Message.id, Message.user_id)


def test_hook_reads_the_strategy_of_a_call(client, echo, ann):
    @echo.before("find")
    def by_key(method, context):
        if (context.params.authentication or {}).get("strategy") != "api-key":
            raise Forbidden

    statuses = [client.get("/echo", headers=each).status_code for each in (ann, KEY)]

    assert statuses == [403, 200]


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 401), ({"X-Api-Key": "wrong"}, 401), (KEY, 403)]
)
def test_client_without_a_user_owns_nothing(records, client, owners, headers, status):
    service = SQLAlchemyService(Message, multi=True)
    guards = {"public": True, "strategies": ["api-key"]}
    own = records.add("own", service, **guards)
    own.before("patch")(set_user_field("user_id"))

    response = client.patch("/own", json={"user_id": 2}, headers=headers)

    assert (response.status_code, owners()) == (status, OWNERS)


def test_owner_has_the_id_of_the_users_of_the_login(records, client, wanda, owners):
    options = {"authentication": "staff", "readable": {"text": FromUser("name")}}
    own = records.add("own", SQLAlchemyService(Message), **options)
    own.before("create")(set_user_field("text"))

    created = client.post("/own", json={"text": "x"}, headers=wanda)
    found = client.get("/own", headers=wanda)

    assert (created.status_code, created.json["text"]) == (201, "Wanda")
    assert found.json == [created.json]


ONE_OR_TWO = [{"id": "1"}, {"id": "2"}]

TWO_OR_THREE = {"$or": [{"id": 2}, {"id": 3}]}


@pytest.mark.parametrize(
    ("query", "conditions", "ids"),
    [
        ({}, [{"id": 1}], [1]),
        ({"id": {"$lt": "3"}}, [{"id": {"$gt": 1}}], [2]),
        ({"$sort": {"id": "-1"}, "$limit": "1"}, [{"id": {"$lt": 3}}], [2]),
        ({"$or": ONE_OR_TWO}, [TWO_OR_THREE], [2]),
        ({"$or": {"0": {"id": "1"}, "30": {"id": "2"}}}, [TWO_OR_THREE], [2]),
        ({"$or": ONE_OR_TWO}, [{"$or": []}], []),
        ({"$or": ONE_OR_TWO, "id": {"$ne": "1"}}, [{"id": {"$gt": 0}}], [2]),
        ({"$or": ONE_OR_TWO, "id": {"$ne": "1"}}, [TWO_OR_THREE | {"id": 3}], []),
        ({}, [TWO_OR_THREE, {"$or": [{"id": 1}, {"id": 2}]}, {"text": "hi"}], [2]),
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


@pytest.mark.parametrize("wrong", ["", [""], {"id": "2"}, 5])
def test_restricted_query_that_is_wrong_is_refused(app_context, messages, wrong):
    params = Params(query={"$or": wrong, "id": "2"})
    restrict_all = messages.before()
    restrict_all(lambda method, context: restrict(context.params, {"id": 2}))

    with pytest.raises(BadRequest, match=r"'\$or' takes a list of queries"):
        messages.find(params)


# Passwords


PASSWORD = "correct horse"


@pytest.fixture
def verify(app, records):
    with app.app_context():
        return records.authentication().settings.passwords.verify


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("POST", "/users", {"json": [EVE | {"password": PASSWORD}]}),
        ("PATCH", "/users?id=1", {"json": {"password": PASSWORD}}),
    ],
)
def test_password_is_stored_as_a_hash(app, db, client, users, verify, verb, path, body):
    users.before("create", "update", "patch")(hash_password())

    client.open(path, method=verb, **body)

    passwords = pairs_in(app, db, User.email, User.password).values()
    new = [stored for stored in passwords if stored != "old"]
    assert [verify(PASSWORD, hash) for hash in new] == [True]


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


def test_function_that_returns_a_hook_is_no_hook(app, messages):
    """Connected by mistake, it must not pass for a hook."""
    messages.after("find")(hash_password)

    with app.app_context(), pytest.raises(TypeError, match="returns a hook. Connect"):
        messages.find()


@pytest.fixture
def me(users):
    users.before("get", "update", "patch", "remove")(accept_me)


def test_me_is_the_caller(me, app, client, ann, db):
    found = client.get("/users/me", headers=ann)
    patched = client.patch("/users/me", json={"age": 31}, headers=ann)
    removed = client.delete("/users/me", headers=ann)

    assert (found.status_code, found.json["id"]) == (200, 1)
    assert (patched.json["id"], patched.json["age"]) == (1, 31)
    assert (removed.status_code, [*pairs_in(app, db, User.id, User.age)]) == (200, [2])


@pytest.mark.parametrize("verb", ["get", "patch", "delete"])
@pytest.mark.parametrize(("headers", "status"), [({}, 401), (KEY, 401)])
def test_me_is_nobody_without_a_user(me, app, client, db, verb, headers, status):
    body = {"json": {"age": 31}} if verb == "patch" else {}

    response = getattr(client, verb)("/users/me", headers=headers, **body)

    assert response.status_code == status
    assert pairs_in(app, db, User.id, User.age) == {1: 30, 2: 40}


def test_me_is_nobody_in_python_without_a_user(me, app_context, users):
    with pytest.raises(NotAuthenticated):
        users.patch("me", {"age": 31})

    assert users.patch("me", {"age": 31}, Params(user=users.get(1)))["id"] == 1
