"""Hooks that hash passwords."""

from __future__ import annotations

import pytest

from flask_records import authenticate, hash_password
from tests.http.hooked import app as app
from tests.http.hooked import echo as echo
from tests.http.hooked import EVE
from tests.http.hooked import messages as messages
from tests.http.hooked import passwords as passwords
from tests.http.hooked import records as records
from tests.http.hooked import users as users

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


@pytest.mark.parametrize("factory", [authenticate, hash_password])
def test_function_that_returns_a_hook_is_no_hook(app, messages, factory):
    """Connected by mistake, it must not pass for a check."""
    messages.after("find")(factory)

    with app.app_context(), pytest.raises(TypeError, match="returns a hook. Connect"):
        messages.find()
