"""Changes of passwords revoke tokens."""

from __future__ import annotations

import pytest

from flask_records import BadRequest, Params
from tests.authentication import bearer
from tests.http.revocation.revocations import (
    everywhere,
    in_tables,
    is_valid,
    log_in,
    refusal,
)


@everywhere
@pytest.mark.parametrize(
    ("verb", "path", "data"),
    [
        ("PATCH", "/users/{id}", {"password": "new"}),
        ("PATCH", "/users/{id}", {"password": "new", "name": "Ann"}),
        ("PATCH", "/users/{id}?$select=name", {"password": "new"}),
        ("PATCH", "/users?email=ann", {"password": "new"}),
        ("PATCH", "/users?email=ann&$select=name", {"password": "new"}),
        ("PATCH", "/users/{id}", {"password": "old"}),
        ("PATCH", "/users/{id}", {"password": None}),
        ("PUT", "/users/{id}", {"email": "ann", "password": "new"}),
    ],
)
def test_change_of_a_password_revokes_older_tokens(client, ann, ben, verb, path, data):
    tokens, other = [log_in(client), log_in(client)], log_in(client, "ben")
    url = path.format(id=ann)

    response = client.open(url, method=verb, json=data, headers=bearer(tokens[0]))

    assert response.status_code == 200
    assert [is_valid(client, token) for token in tokens] == [False, False]
    assert is_valid(client, other)


@everywhere
@pytest.mark.parametrize(
    "change",
    [
        lambda users, id: users.patch(id, {"password": "new"}),
        lambda users, id: users.patch(
            None, {"password": "new"}, Params(query={"id": {"$in": [id]}})
        ),
        lambda users, id: users.update(id, {"email": "ann", "password": "new"}),
        lambda users, id: users.remove(id),
        lambda users, id: users.remove(None, Params(query={"email": "ann"})),
    ],
    ids=["patch", "patch of many", "update", "remove", "remove of many"],
)
def test_change_in_python_revokes_older_tokens(app, client, ann, ben, change):
    token, other = log_in(client), log_in(client, "ben")

    with app.app_context():
        change(app.extensions["records"]["users"], ann)

    assert not is_valid(client, token)
    assert is_valid(client, other)


@in_tables
def test_failed_change_revokes_nothing(records, client, ann):
    token = log_in(client)

    @records.after("patch")
    def refuse(method, context):
        raise BadRequest("Too weak")

    response = client.patch(
        f"/users/{ann}", json={"password": "new"}, headers=bearer(token)
    )

    assert response.status_code == 400
    assert is_valid(client, token)
    assert is_valid(client, log_in(client))


@everywhere
def test_token_of_a_removed_user_is_not_that_of_the_next_with_the_id(app, client, ann):
    token = log_in(client)
    users = app.extensions["records"]["users"]

    with app.app_context():
        users.remove(ann)
        users.create({"id": ann, "email": "eve", "password": "old"})

    assert client.get("/users", headers=bearer(token)).json == refusal("jwt revoked")
    assert is_valid(client, log_in(client, "eve"))
