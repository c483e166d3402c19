"""Changes of users revoke tokens that do not tell their password, too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
    Transaction,
)
from flask_records.transaction import before_commit
from tests.http.revocation.revocations import (
    add_users,
    everywhere,
    in_tables,
    is_valid,
    log_in,
    on_sqlite,
    served,
    signed,
    User,
)

in_redis = pytest.mark.parametrize(
    ("database_url", "store"), [("sqlite", "redis")], indirect=True
)


def add_people(records, **options):
    """Another service over the users, with another identifier."""
    options = {"hidden": ["password"], "id": "email", "multi": True, **options}
    people = records.add("people", SQLAlchemyService(User, **options), public=True)
    people.before("create", "update", "patch")(hash_password())
    return people


@pytest.fixture
def app(records, database_url):
    add_people(records)

    with served(records, database_url) as app:
        yield app


@on_sqlite
@pytest.mark.parametrize(
    ("verb", "path", "data"),
    [
        ("PATCH", "/people/ann", {"password": "new"}),
        ("PATCH", "/people/ann?$select=name", {"password": "new"}),
        ("PATCH", "/people?email=ann&$select=name&$sort[email]=1", {"password": "new"}),
        ("PUT", "/people/ann", {"email": "ann", "password": "new"}),
    ],
)
def test_change_through_another_service_over_the_model_revokes(
    client, ann, ben, verb, path, data
):
    token, other = signed(ann), signed(ben)

    assert client.open(path, method=verb, json=data).status_code == 200

    assert [is_valid(client, token), is_valid(client, other)] == [False, True]


@everywhere
@pytest.mark.parametrize(
    "path", ["/people/ann", "/people/ann?$select=name", "/people?$select=name&id=1"]
)
def test_removal_through_another_service_over_the_model_revokes(
    app, client, ann, ben, path
):
    """Its identifier may belong to another user later."""
    token, other = signed(ann), signed(ben)
    path = path.replace("=1", f"={ann}")

    assert client.delete(path).status_code == 200

    with app.app_context():
        app.extensions["records"]["users"].create({"id": ann, "email": "eve"})

    assert [is_valid(client, token), is_valid(client, other)] == [False, True]


@everywhere
def test_user_is_logged_out_everywhere(app, client, ann, ben):
    tokens, other = [log_in(client), log_in(client), signed(ann)], log_in(client, "ben")

    with app.app_context():
        app.extensions["records"].authentication().revoke_user(f"0{ann}")

    assert [is_valid(client, token) for token in tokens] == [False] * 3
    assert is_valid(client, other)
    assert is_valid(client, log_in(client))


@in_tables
def test_logging_out_everywhere_is_undone_with_its_call(app, client, ann):
    token = log_in(client)

    with app.app_context(), pytest.raises(ZeroDivisionError), Transaction():
        app.extensions["records"].authentication().revoke_user(ann)
        raise ZeroDivisionError

    assert is_valid(client, token)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_logging_out_everywhere_needs_a_store(database_url):
    records = FlaskRecords()
    add_users(records)
    records.add("authentication", AuthenticationService())

    with served(records, database_url) as app, app.app_context():
        with pytest.raises(RuntimeError, match=r"AuthenticationService\(revocations="):
            records.authentication().revoke_user(1)


def removed(records, id):
    records["users"].remove(id)


def revoked(records, id):
    records.authentication().revoke_user(id)


@in_redis
@pytest.mark.parametrize("end", [removed, revoked])
def test_token_that_is_issued_before_the_commit_does_not_outlive_it(
    app, client, ann, end
):
    """Redis knows of it before the database does."""
    records = app.extensions["records"]
    tokens = []

    with app.app_context():
        # Who has no password has none that a token could be too old for.
        records["users"]._patch(ann, {"password": None})

    def log_in_meanwhile():
        with app.app_context():
            return records.authentication().create_token({"id": ann})[0]

    with ThreadPoolExecutor(1) as pool, app.app_context(), Transaction():
        end(records, ann)
        before_commit(lambda: tokens.append(pool.submit(log_in_meanwhile).result()))

    if end is removed:
        with app.app_context():
            records["users"]._create({"id": ann, "email": "eve"})

    assert len(tokens) == 1
    assert not is_valid(client, tokens[0])
