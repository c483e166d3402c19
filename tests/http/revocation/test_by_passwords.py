"""Changes of passwords revoke tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from werkzeug.security import generate_password_hash

from flask_records import BadRequest
from flask_records import Params
from flask_records import Transaction
from flask_records.authentication.token_ids import create_token_id
from tests.authentication import bearer
from tests.http.revocation.revocations import ann as ann
from tests.http.revocation.revocations import app as app
from tests.http.revocation.revocations import ben as ben
from tests.http.revocation.revocations import client as client
from tests.http.revocation.revocations import everywhere
from tests.http.revocation.revocations import in_tables
from tests.http.revocation.revocations import is_valid
from tests.http.revocation.revocations import log_in
from tests.http.revocation.revocations import log_out
from tests.http.revocation.revocations import on_sqlite
from tests.http.revocation.revocations import records as records
from tests.http.revocation.revocations import redis_client as redis_client
from tests.http.revocation.revocations import redis_store as redis_store
from tests.http.revocation.revocations import refusal
from tests.http.revocation.revocations import signed
from tests.http.revocation.revocations import store as store


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


@on_sqlite
def test_change_revokes_tokens_whatever_a_hook_makes_of_the_result(app, client, ann):
    token = log_in(client)

    @app.extensions["records"]["users"].after("patch")
    def replace(method, context):
        context.result = {"ok": True}

    response = client.patch(
        f"/users/{ann}", json={"password": "new"}, headers=bearer(token)
    )

    assert (response.status_code, response.json) == (200, {"ok": True})
    assert not is_valid(client, token)


@everywhere
def test_change_of_the_passwords_of_all_revokes_the_tokens_of_all(client, ann, ben):
    token, other = log_in(client), log_in(client, "ben")

    client.patch("/users", json={"password": "new"}, headers=bearer(token))

    assert not is_valid(client, token)
    assert not is_valid(client, other)


@everywhere
def test_login_right_after_a_change_gives_a_token_that_can_be_revoked(client, ann):
    url, new = f"/users/{ann}", {"password": "new"}
    client.patch(url, json=new, headers=bearer(log_in(client)))
    first, second = log_in(client, password="new"), log_in(client, password="new")

    log_out(client, first)

    assert [is_valid(client, first), is_valid(client, second)] == [False, True]


@everywhere
def test_each_change_revokes_tokens_however_fast_they_follow(client, ann):
    url, headers = f"/users/{ann}", bearer(log_in(client))
    client.patch(url, json={"password": "1"}, headers=headers)
    token = log_in(client, password="1")

    client.patch(url, json={"password": "2"}, headers=bearer(token))

    assert not is_valid(client, token)
    assert is_valid(client, log_in(client, password="2"))


@everywhere
@pytest.mark.parametrize("data", [{"name": "Ann"}, {}, {"email": "anna"}])
def test_patch_without_the_password_revokes_nothing(client, ann, data):
    token = log_in(client)

    response = client.patch(f"/users/{ann}", json=data, headers=bearer(token))

    assert response.status_code == 200
    assert is_valid(client, token)


@everywhere
def test_patch_of_nobody_revokes_nothing(client, ann):
    token = log_in(client)

    for url in ("/users/999", "/users?email=nobody"):
        client.patch(url, json={"password": "new"}, headers=bearer(token))

    assert is_valid(client, token)


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


@in_tables
def test_change_that_is_undone_within_a_transaction_revokes_nothing(app, client, ann):
    token = log_in(client)
    users = app.extensions["records"]["users"]

    with app.app_context(), Transaction():
        with pytest.raises(BadRequest), Transaction():
            users.patch(ann, {"password": "new"})
            raise BadRequest

        users.patch(ann, {"name": "Ann"})

    assert is_valid(client, token)


def token_of_a_login(records, id):
    hash = records["users"]._get(id)["password"]
    token_id = create_token_id("users", hash)
    tokens = records.authentication().settings.tokens
    return tokens.create_token(id, token_id=token_id)[0]


@pytest.mark.parametrize(
    ("database_url", "store"), [("sqlite", "table")], indirect=True
)
def test_token_issued_for_the_old_password_before_the_commit_is_refused(
    app, client, ann
):
    def meanwhile():
        with app.app_context():
            return token_of_a_login(app.extensions["records"], ann)

    with ThreadPoolExecutor(1) as pool, app.app_context(), Transaction():
        app.extensions["records"]["users"].patch(ann, {"password": "new"})
        token = pool.submit(meanwhile).result()

    assert not is_valid(client, token)


@everywhere
def test_token_of_a_removed_user_is_not_that_of_the_next_with_the_id(app, client, ann):
    token = log_in(client)
    users = app.extensions["records"]["users"]

    with app.app_context():
        users.remove(ann)
        users.create({"id": ann, "email": "eve", "password": "old"})

    assert client.get("/users", headers=bearer(token)).json == refusal("jwt revoked")
    assert is_valid(client, log_in(client, "eve"))


@everywhere
def test_login_that_upgrades_a_hash_revokes_nothing(app, client, ann):
    older = generate_password_hash("old", "pbkdf2:sha256:10")
    token = signed(ann)

    with app.app_context():
        app.extensions["records"]["users"]._patch(ann, {"password": older})

    second = log_in(client)

    with app.app_context():
        hash = app.extensions["records"]["users"].get(ann)["password"]

    assert hash.startswith("$argon2id$")
    assert [is_valid(client, token), is_valid(client, second)] == [True, True]
