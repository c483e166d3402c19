"""Populated records are those that the user could read."""

import pytest

from flask_records import Strategy

from ...authentication import ANN, bearer, key_in, log_in
from .app import (
    calls_of,
    EVE,
    make_records,
    NOTES,
    once,
    Person,
    records_of,
    rows_of,
    served,
    TEXT,
)


@pytest.mark.parametrize(
    ("path", "populated"),
    [
        ("/users?$sort[id]=1", {1: NOTES[:2], 2: []}),
        ("/users?$sort[id]=1&$select[]=email", {1: NOTES[:2], 2: []}),
        ("/users?$sort[id]=-1&$limit=1", {2: []}),
        ("/users/1?", {1: NOTES[:2]}),
        ("/users/2?", {2: []}),
    ],
)
def test_populated_records_are_own_ones(client, ann, path, populated):
    response = client.get(f"{path}&$populate=notes", headers=ann)

    found = {user["id"]: user["notes"] for user in records_of(response)}
    assert found == populated


@once
def test_stranger_who_registers_populates_nothing(client):
    before = rows_of(client, Person)

    response = client.post("/users?$populate=notes", json=EVE)

    assert (response.status_code, rows_of(client, Person)) == (401, before)


@pytest.mark.parametrize(("verb", "path", "data"), calls_of("/notes", TEXT))
def test_populated_user_has_no_hidden_field(client, ann, verb, path, data):
    response = client.open(
        f"{path}?$populate=user", method=verb, json=data, headers=ann
    )

    users = [note["user"] for note in records_of(response)]
    assert users == [{"id": 1, "email": ANN["email"]}] * (len(users) or 1)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("accepted", ["api-key", "staff"])
def test_populating_needs_what_the_other_service_needs(accepted, public):
    """A login that one service accepts is not one for the other."""
    options = {
        "api-key": {"strategies": ["jwt", "api-key"]},
        "staff": {"authentication": "staff"},
    }
    key = Strategy(lambda service, data, params: {"user": service.get_user(1)}, key_in)
    records = make_records(options[accepted], public=public, own={"api-key": key})

    with served(records) as client:
        token = log_in(client, "/staff")
        who = {"api-key": {"X-Api-Key": "Ann's"}, "staff": bearer(token)}[accepted]
        paths = "/users", "/notes", "/users?$populate=notes"

        with client.application.app_context():
            records["notes"].create({"text": "Ann's", "userId": 1})

        answers = [client.get(path, headers=who) for path in paths]

    expected = [200, 200, 200] if public else [200, 401, 401]
    assert [answer.status_code for answer in answers] == expected
    assert not [answer for answer in answers if "Ann's" in answer.text]
