"""Users of the example see all records, and change their own."""

from itertools import product

import pytest

from ...processes import PASSWORD
from .people import new_email

CHANGES = ["PUT", "PATCH", "DELETE"]

CLOSED = [
    *product(["GET", "POST", *CHANGES], ["/rooms", "/rooms/1"]),
    *product(["GET", "POST", *CHANGES], ["/messages", "/messages/1"]),
    *product(["GET", *CHANGES], ["/users", "/users/1"]),
    *product(["DELETE"], ["/authentication"]),
]


def data_of(path):
    """The body that replaces a record of a service."""
    services = {
        "users": {"email": new_email(), "password": PASSWORD},
        "rooms": {"name": "Lobby"},
        "messages": {"text": "hello"},
    }
    return services[path.split("/")[1]]


@pytest.mark.parametrize("header", [None, "Bearer x", "Basic YTpi"])
def test_services_are_closed_without_a_token(api, header):
    headers = {"Authorization": header} if header else {}

    answers = [api(verb, path, {}, headers=headers) for verb, path in CLOSED]

    assert {(status, body["name"]) for status, body in answers} == {
        (401, "NotAuthenticated")
    }


@pytest.fixture(params=["users", "rooms", "messages"])
def theirs(request, api, bob):
    """The path of a record of Bob."""
    if request.param == "users":
        return bob.path

    path = f"/{request.param}"
    status, record = api("POST", path, data_of(path), bob)
    assert (status, record["userId"]) == (201, bob.id)
    return f"{path}/{record['id']}"


@pytest.mark.parametrize("verb", CHANGES)
def test_owner_changes_their_record(api, bob, theirs, verb):
    status, record = api(verb, theirs, data_of(theirs), bob)

    assert (status, f"{theirs.rpartition('/')[0]}/{record['id']}") == (200, theirs)


@pytest.mark.parametrize("query", ["", "?$or[0][id][$gt]=0", "?id[$ne]=0"])
@pytest.mark.parametrize("verb", CHANGES)
def test_others_see_a_record_and_do_not_change_it(api, ann, theirs, verb, query):
    before = api("GET", theirs, None, ann)

    status, error = api(verb, theirs + query, data_of(theirs), ann)

    assert (status, error["name"]) == (404, "NotFound")
    assert api("GET", theirs, None, ann) == before
    assert before[0] == 200


@pytest.mark.parametrize("owner", [None, 0, "0", "bob"])
@pytest.mark.parametrize("path", ["/rooms", "/messages"])
def test_owner_is_the_user_who_writes_whatever_the_body_says(
    api, ann, bob, path, owner
):
    said = {"userId": bob.id if owner == "bob" else owner}

    created = api("POST", path, {**data_of(path), **said}, ann)
    own = f"{path}/{created[1]['id']}"
    answers = [
        created,
        api("PUT", own, {**data_of(path), **said}, ann),
        api("PATCH", own, said, ann),
        api("PUT", own, data_of(path), ann),
        api("PATCH", own, {}, ann),
    ]

    assert [body["userId"] for _, body in answers] == [ann.id] * 5
