"""Hooks for callers and owners of records."""

from __future__ import annotations

from copy import deepcopy

import pytest

from flask_records import (
    authenticate,
    BadRequest,
    limit_to_user,
    Params,
    restrict,
    set_user_field,
    SQLAlchemyService,
)
from tests.authentication import bearer
from tests.http.hooked import _pairs, ANN, BOB, CALLS, Echo, OWNERS
from tests.http.hooked import app as app
from tests.http.hooked import echo as echo
from tests.http.hooked import messages as messages
from tests.http.hooked import records as records
from tests.http.hooked import users as users
from tests.models import Message

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
    return lambda: _pairs(app, db, Message.id, Message.user_id)


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


def test_authenticate_lets_calls_in_python_pass(app_context, echo):
    echo.before()(authenticate())

    assert echo.find() == {"strategy": None, "user": None}


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


def test_owner_has_the_id_of_the_users_of_the_login(records, client, wanda, owners):
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

    with pytest.raises(BadRequest, match=r"\$or takes a list of queries"):
        messages.find(params)
