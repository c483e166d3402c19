"""Calls in Python that are made in the name of a client are checked as its own."""

from dataclasses import replace

import pytest
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from flask_records import (
    FromUser,
    Params,
    RecordsError,
    set_user_field,
    SQLAlchemyService,
)

from ..authentication import bearer, log_in, make_records, serving
from ..models import Message, Room


def as_caller(service, params, method, query, *arguments):
    return getattr(service.as_caller(params), method)(*arguments, query)


def with_params(service, params, method, query, *arguments):
    return getattr(service, method)(*arguments, replace(params, query=query))


both_ways = pytest.mark.parametrize("make", [as_caller, with_params])
"""The two ways to make a call in the name of a client."""


class Gateway:
    """Makes any call as the client."""

    def __init__(self, records, make):
        self.records = records
        self.make = make

    def create(self, data, params):
        service = self.records[data["path"]]
        query = data.get("query", {})
        result = self.make(service, params, data["method"], query, *data["arguments"])
        return {"result": result}


@pytest.fixture
def site(make):
    records = make_records()
    options = {"paginate": {"default": 2, "max": 3}, "multi": ["create"]}
    notes = SQLAlchemyService(
        Message,
        readonly=["rank"],
        visible={"read": lambda user: user is not None},
        writable={"room_id": lambda user: False},
        **options,
    )
    records.add(
        "notes",
        notes,
        public=["find", "create", "patch"],
        readable=lambda user: True if user else {"rank": None},
    )
    records.add("rooms", SQLAlchemyService(Room), methods=["find", "get"])
    records.add("gateway", Gateway(records, make), public=True)

    with serving(records) as client, client.application.app_context():
        for number in range(5):
            records["notes"].create({"text": str(number), "rank": number or None})

        yield client


def call(client, path, method, *arguments, query=None, headers=None):
    """Make a call through the gateway, and return its status and its result."""
    data = {
        "path": path,
        "method": method,
        "arguments": arguments,
        "query": query or {},
    }
    response = client.post("/gateway", json=data, headers=headers)
    return response.status_code, response.json.get("result") or response.json


@both_ways
@pytest.mark.parametrize(
    ("status", "path", "method", "arguments", "query"),
    [
        (401, "users", "find", (), None),
        (401, "users", "get", (1,), None),
        (401, "users", "remove", (1,), None),
        (401, "notes", "remove", (1,), None),
        (401, "rooms", "create", ({"name": "A"},), None),
        (401, "secrets", "find", (), None),
        (404, "notes", "patch", (2, {"text": "x"}), None),
        (405, "notes", "patch", (None, {"text": "x"}), None),
        (400, "notes", "create", ([{"text": "x"}] * 1001,), None),
        (400, "notes", "create", ({"text": "x", "rank": 1},), None),
        (400, "notes", "create", ({"text": "x", "room_id": 1},), None),
        (400, "notes", "find", (), {"read": False}),
        (400, "users", "create", ({"email": "b", "id": 7},), None),
    ],
)
def test_call_that_a_client_may_not_make(site, status, path, method, arguments, query):
    answer = call(site, path, method, *arguments, query=query)

    assert answer[0] == status
    assert answer[1]["code"] == status


@both_ways
def test_call_of_a_client_shows_what_the_client_may_see(site):
    token = bearer(log_in(site))
    page = call(site, "notes", "find", query={"$limit": "9"})[1]
    own = call(site, "notes", "find", query={"$limit": "9"}, headers=token)[1]
    user = call(site, "users", "get", 1, headers=token)[1]

    assert (page["limit"], page["total"]) == (3, 1)
    assert [set(note) for note in page["data"]] == [
        {"id", "text", "rank", "room_id", "user_id", "is_long"}
    ]
    assert (own["limit"], own["total"], "read" in own["data"][0]) == (3, 5, True)
    assert user == {"id": 1, "email": "ann@example.com", "age": None}


@both_ways
def test_login_of_another_strategy_does_not_count(site):
    key = {"X-Api-Key": "robot's key"}

    direct = site.get("/vault", headers=key)
    passed_on = call(site, "vault", "find", headers=key)
    refused = call(site, "secrets", "find", headers=key)

    assert direct.status_code == 200
    assert passed_on[0] == 201
    assert refused[0] == 401


@both_ways
def test_calls_of_a_client_are_counted(make):
    records = make_records(limiter=Limiter(get_remote_address))
    records.add("many", Many(records, make), public=True)
    login = {"strategy": "local", "email": "a", "password": "b"}

    with serving(records, RATELIMIT_STORAGE_URI="memory://") as client:
        codes = client.post("/many", json={"login": login, "times": 22}).json

    assert codes == [401] * 20 + [429] * 2


@both_ways
def test_job_acts_for_a_user(make):
    records = make_records()
    notes = SQLAlchemyService(Message)
    records.add("notes", notes, readable={"user_id": FromUser("id")})
    notes = records["notes"]
    notes.before("create")(set_user_field("user_id"))

    with serving(records) as client, client.application.app_context():
        ann = records["users"].get(1)
        notes._create({"text": "of nobody"})
        job = Params(provider="job", authenticated=True, user=ann, user_id=ann["id"])

        note = make(notes, job, "create", {}, {"text": "hers"})

        assert note["user_id"] == ann["id"]
        assert make(notes, job, "find", {}) == [note]
        assert make(records["users"], job, "get", {}, ann["id"]).keys() == {
            *("id", "email", "age")
        }


class Many:
    """Tries to log in many times, in one call."""

    def __init__(self, records, make):
        self.records = records
        self.make = make

    def create(self, data, params):
        return [self.code(data["login"], params) for _ in range(data["times"])]

    def code(self, login, params):
        try:
            self.make(self.records["authentication"], params, "create", {}, login)
        except RecordsError as error:
            return error.code
