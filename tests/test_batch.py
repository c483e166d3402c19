"""Several calls of a client in one, as the client of ``feathers-batch`` makes them."""

from __future__ import annotations

import threading

import pytest
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_sqlalchemy import SQLAlchemy

from flask_records import BatchService
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .authentication import bearer
from .authentication import log_in
from .authentication import make_records
from .authentication import serving
from .conftest import served
from .models import Base
from .models import Message
from .models import Room
from .realtime import ANN
from .realtime import live
from .realtime import make_live_records


@pytest.fixture
def client():
    records = make_records()
    records.add("batch", BatchService(max_calls=10), public=True)
    notes = SQLAlchemyService(Message, paginate={"default": 2, "max": 3})
    records.add("notes", notes, public=True)
    records.add("rooms/:roomId/notes", Placed(), public=True)

    with serving(records) as client:
        yield client


class Placed:
    def find(self, params):
        return [params.route, params.query, params.extra]


def batch(client, *calls, **options):
    response = client.post("/batch", json={"calls": calls}, **options)
    assert response.status_code == 201, response.json
    return [
        each["value"] if each["status"] == "fulfilled" else each["reason"]["code"]
        for each in response.json
    ]


NOTE = {"text": "x", "rank": None, "read": False, "room_id": None, "user_id": None}


def note(id, **values):
    return {"id": id, **NOTE, "is_long": False, **values}


def test_calls_are_answered_in_their_order(client):
    page = {"total": 1, "limit": 2, "skip": 0, "data": [note(1, rank=2)]}

    answers = batch(
        client,
        ["create", "notes", {"text": "x"}, {}],
        ["patch", "notes", 1, {"rank": 2}],
        ["find", "notes", {"rank": 2, "text": "x"}],
        ["find", "/notes/"],
        ["get", "notes", 1, {"$select": ["rank"]}],
        ["update", "notes", 1, {"text": "y"}, {}],
        ["remove", "notes", 1, {}],
        ["get", "notes", 1],
        ["find", "rooms/7/notes", {"a": "b"}],
    )

    assert answers == [
        *(note(1), note(1, rank=2), page, page, {"id": 1, "rank": 2}),
        *(note(1, text="y"), note(1, text="y"), 404),
        [{"roomId": "7"}, {"a": "b"}, {}],
    ]


def test_error_of_a_call_is_that_of_the_call_alone(client):
    calls = [["get", "notes", 99], ["create", "notes", {"rank": "x"}]]
    response = client.post("/batch", json={"calls": calls})
    alone = [
        client.get("/notes/99").json,
        client.post("/notes", json={"rank": "x"}).json,
    ]

    assert response.json == [{"status": "rejected", "reason": each} for each in alone]


@pytest.mark.parametrize(
    ("status", "call"),
    [
        (400, None),
        (400, "find"),
        (400, []),
        (400, [["find"], "notes"]),
        (404, ["find"]),
        (404, ["find", None]),
        (404, ["find", "nothing"]),
        (400, ["find", "notes", "text"]),
        (400, ["find", "notes", {"$nope": 1}]),
        (400, ["find", "notes", {"id": list(range(1001))}]),
        (400, ["get", "notes"]),
        (404, ["get", "notes", None]),
        (400, ["create", "notes"]),
        (400, ["create", "notes", "text"]),
        (405, ["create", "notes", [{"text": "x"}]]),
        (405, ["remove", "notes", None]),
        (401, ["_find", "notes", {}]),
        (401, ["call", "notes", {}]),
        (401, ["find", "users"]),
        (401, ["find", "secrets"]),
        (401, ["nope", "secrets", {}]),
        (400, ["create", "batch", {"calls": []}]),
    ],
)
def test_call_that_fails_does_not_fail_the_others(client, status, call):
    answers = batch(client, ["find", "notes"], call, ["create", "notes", {"text": "x"}])

    assert answers[1] == status
    assert answers[2] == note(1)
    assert client.get("/notes/1").json == note(1)


@pytest.mark.parametrize("body", [{}, [], [{"calls": []}], {"calls": {}}])
def test_body_without_calls_is_refused(client, body):
    response = client.post("/batch", json=body)

    assert response.status_code == 400
    assert response.json["message"] == (
        "The data needs a list of calls: {'calls': [...]}."
    )


def test_batch_has_a_number_of_calls_at_most(client):
    calls = [["find", "notes"]] * 11

    response = client.post("/batch", json={"calls": calls})

    assert response.status_code == 400
    assert response.json["message"] == "A batch has at most 10 calls."


def test_maximum_is_a_positive_integer():
    with pytest.raises(ValueError, match="'max_calls' must be a positive integer"):
        BatchService(0)


def test_calls_have_the_rights_of_the_client(client):
    calls = [["get", "users", 1], ["find", "secrets"], ["find", "vault"]]
    user = {"id": 1, "email": "ann@example.com", "age": None}

    own = batch(client, *calls, headers=bearer(log_in(client)))
    key = batch(client, *calls, headers={"X-Api-Key": "robot's key"})

    assert own[0] == user
    assert [answer["user"] for answer in own[1:]] == [user, user]
    assert key[:2] == [401, 401]
    assert key[2]["extra"] == {"robot": "R2"}


def test_batch_needs_a_token_unless_it_is_public():
    records = make_records()
    records.add("batch", BatchService())

    with serving(records) as client:
        refused = client.post("/batch", json={"calls": []})
        allowed = batch(client, headers=bearer(log_in(client)))

    assert refused.status_code == 401
    assert allowed == []


def test_calls_are_counted_for_their_limits():
    records = FlaskRecords(limiter=Limiter(get_remote_address))
    records.add("rooms", SQLAlchemyService(Room), public=True)
    records.add("batch", BatchService(), public=True)
    config = {"RECORDS_LIMITS": {"rooms.find": "2 per hour"}}

    with served(
        SQLAlchemy(model_class=Base),
        records,
        "sqlite://",
        RATELIMIT_STORAGE_URI="memory://",
        **config,
    ) as app:
        answers = batch(app.test_client(), *[["find", "rooms"]] * 3)

    assert answers == [[], [], 429]


def test_calls_are_committed_together(client, database_url):
    """Workers read and write in batches, each with one transaction."""
    records = FlaskRecords()
    records.add("rooms", SQLAlchemyService(Room), public=True)
    records.add("batch", BatchService(), public=True)
    calls = [
        ["find", "rooms", {"$limit": 1}],
        ["create", "rooms", {"name": "A"}],
        ["create", "rooms", {"name": "long" * 20}],
        ["create", "rooms", {"name": "B"}],
    ]
    codes = []

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:

        def work():
            for _ in range(5):
                answers = batch(app.test_client(), *calls)
                codes.append([type(each) for each in answers])

        threads = [threading.Thread(target=work) for _ in range(4)]

        for thread in threads:
            thread.start()

        for thread in threads:
            thread.join()

        names = [room["name"] for room in app.test_client().get("/rooms").json]

    assert codes == [[list, dict, int, dict]] * 20
    assert sorted(names) == ["A"] * 20 + ["B"] * 20


def test_error_of_the_server_is_logged_and_has_no_details(client, caplog):
    class Broken:
        def find(self, params):
            raise RuntimeError("a secret of the server")

    records = FlaskRecords()
    records.add("broken", Broken(), public=True)
    records.add("batch", BatchService(), public=True)

    with served(SQLAlchemy(model_class=Base), records, "sqlite://") as app:
        calls = {"calls": [["find", "broken"]]}
        response = app.test_client().post("/batch", json=calls)

    assert response.status_code == 201
    assert "secret" not in response.text
    assert response.json[0]["reason"]["code"] == 500
    assert "a secret of the server" in caplog.text


@pytest.fixture
def site(tmp_path):
    records = make_live_records()
    records.add("batch", BatchService())

    with live(records, tmp_path, {"calls_per_second": 1}) as site:
        yield site


def test_batch_over_a_socket(site):
    ann = site.connect(ANN)
    calls = [["get", "users", 1], ["create", "messages", {"text": "Hi"}]]

    user, message = ann.result("create", "batch", {"calls": calls})

    assert user["value"]["email"] == ANN["email"]
    assert message["value"]["text"] == "Hi"
    # No one gets the results of the batch itself.
    assert ann.names() == ["messages created"]


def test_calls_of_a_batch_are_calls_of_the_connection(site):
    ann = site.connect(ANN)

    answers = ann.result("create", "batch", {"calls": [["get", "users", 1]] * 50})

    assert answers[0]["status"] == "fulfilled"
    assert answers[-1]["reason"]["name"] == "TooManyRequests"
