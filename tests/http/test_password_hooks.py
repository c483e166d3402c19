"""Hooks that hash passwords and protect fields."""

from __future__ import annotations

import pytest

from flask_records import authenticate, hash_password, protect, SQLAlchemyService
from tests.http.hooked import ANN, CALLS, EVE
from tests.http.hooked import app as app
from tests.http.hooked import echo as echo
from tests.http.hooked import messages as messages
from tests.http.hooked import passwords as passwords
from tests.http.hooked import records as records
from tests.http.hooked import users as users
from tests.models import User

PASSWORD = "correct horse"


@pytest.fixture
def verify(app, records):
    with app.app_context():
        return records.authentication().settings.passwords.verify


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


def test_protected_field_is_seen_by_hooks_and_calls_in_python(
    app_context, records, users
):
    seen = []
    users.after()(protect("age"))
    records.after()(lambda method, context: seen.append(context.result["age"]))

    assert (users.get(1), seen) == (ANN, [30])


def test_protect_hides_fields_of_a_mended_result(client, users):
    def mend(method, context):
        context.error, context.result = None, {"id": 9, "age": 9}

    users.error()(mend)
    users.error()(protect("age"))

    assert client.get("/users/9").json == {"id": 9}


@pytest.mark.parametrize("factory", [authenticate, hash_password, protect])
def test_function_that_returns_a_hook_is_no_hook(app, messages, factory):
    """Connected by mistake, it must not pass for a check, or for a field hidden."""
    messages.after("find")(factory)

    with app.app_context(), pytest.raises(TypeError, match="returns a hook. Connect"):
        messages.find()
