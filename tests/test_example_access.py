"""The rights of users of the example application."""

from __future__ import annotations

import pytest

from .example import CHANGES
from .example import data_of
from .example import kind
from .example import new_room

NOT_FOUND = (404, "NotFound")


def test_others_are_seen(api, ann, bob):
    answers = [
        api("GET", bob.path, None, ann.token),
        api("GET", f"/users?id={bob.id}", None, ann.token),
    ]

    assert answers[0][1]["name"] == "Bob"
    assert answers[1][1]["data"] == [answers[0][1]]


@pytest.mark.parametrize("verb", CHANGES)
def test_user_changes_himself(api, ann, verb):
    status, user = api(verb, ann.path, data_of("/users"), ann.token)

    assert (status, user["id"]) == (200, ann.id)


@pytest.mark.parametrize(
    "query", ["", "?id={0}", "?$or[0][id]={0}", "?id[$ne]=0", "?id[$gt]=0"]
)
@pytest.mark.parametrize("verb", CHANGES)
def test_user_does_not_change_others(api, ann, bob, verb, query):
    before = api("GET", bob.path, None, bob.token)
    path = bob.path + query.format(bob.id)

    answer = api(verb, path, data_of(path), ann.token)

    assert kind(answer) == NOT_FOUND
    assert api("GET", bob.path, None, bob.token) == before
    assert api.log_in(bob.email)[0] == 201


@pytest.mark.parametrize(
    ("verb", "data", "status"),
    [
        ("POST", [{"email": "a@b.com", "password": "x"}], 405),
        ("PUT", {"email": "a@b.com", "password": "x"}, 400),
        ("PATCH", {"name": "nobody"}, 405),
        ("DELETE", None, 405),
    ],
)
@pytest.mark.parametrize("query", ["", "?id={0}", "?name=Ann", "?$limit=1"])
def test_no_users_are_changed_at_once(api, ann, verb, data, status, query):
    before = api("GET", ann.path, None, ann.token)

    answer = api(verb, "/users" + query.format(ann.id), data, ann.token)

    assert answer[0] == status
    assert api("GET", ann.path, None, ann.token) == before


@pytest.fixture(params=["rooms", "messages"])
def theirs(request, api, bob):
    """The path of a record that Bob owns."""
    path = f"/{request.param}"
    status, record = api("POST", path, data_of(path), bob.token)
    assert (status, record["userId"]) == (201, bob.id)
    return f"{path}/{record['id']}"


@pytest.mark.parametrize("verb", CHANGES)
def test_owner_changes_their_record(api, bob, theirs, verb):
    status, record = api(verb, theirs, data_of(theirs), bob.token)

    assert (status, record["userId"]) == (200, bob.id)


@pytest.mark.parametrize(
    "query",
    ["", "?userId={0}", "?$or[0][userId]={0}", "?userId[$ne]=0", "?userId[]={0}"],
)
@pytest.mark.parametrize("verb", CHANGES)
def test_others_do_not_change_a_record_of_its_owner(api, ann, bob, theirs, verb, query):
    before = api("GET", theirs, None, ann.token)

    answer = api(verb, theirs + query.format(bob.id), data_of(theirs), ann.token)

    assert kind(answer) == NOT_FOUND
    assert api("GET", theirs, None, ann.token) == before
    assert before[0] == 200


@pytest.mark.parametrize("verb", CHANGES)
def test_what_nobody_owns_is_changed_by_nobody(example, api, ann, verb):
    with example.app.app_context():
        room = example.rooms.create(new_room())

    answer = api(verb, f"/rooms/{room['id']}", new_room(), ann.token)

    assert (kind(answer), room["userId"]) == (NOT_FOUND, None)


@pytest.mark.parametrize("owner", [None, 0, -1, "", "x", [], {"$ne": 0}, "bob"])
@pytest.mark.parametrize("path", ["/rooms", "/messages"])
def test_owner_is_the_user_who_writes_whatever_the_body_says(
    api, ann, bob, path, owner
):
    said = {"userId": bob.id if owner == "bob" else owner}

    created = api("POST", path, {**data_of(path), **said}, ann.token)
    own = f"{path}/{created[1]['id']}"
    answers = [
        created,
        api("PUT", own, {**data_of(path), **said}, ann.token),
        api("PATCH", own, said, ann.token),
        api("PUT", own, data_of(path), ann.token),
        api("PATCH", own, {}, ann.token),
        api("GET", own, None, bob.token),
    ]

    assert [(status, body["userId"]) for status, body in answers] == [
        (status, ann.id) for status in (201, 200, 200, 200, 200, 200)
    ]


def test_owner_of_many_is_who_writes_them(api, ann, bob):
    data = [{"text": "one", "userId": bob.id}, {"text": "two"}]

    status, created = api("POST", "/messages", data, ann.token)

    assert (status, [each["userId"] for each in created]) == (201, [ann.id] * 2)


@pytest.mark.parametrize(
    "query", ["?read=false", "?text=hello", "?userId[$ne]=0", "?$or[0][read]=false"]
)
@pytest.mark.parametrize("verb", ["PATCH", "DELETE"])
def test_changes_of_many_reach_own_records_only(api, ann, bob, verb, query):
    mine = api("POST", "/messages", [{"text": "hello"}] * 2, ann.token)[1]
    others = api("POST", "/messages", {"text": "hello"}, bob.token)[1]

    status, changed = api(verb, f"/messages{query}", {"read": True}, ann.token)

    assert (status, [each["id"] for each in changed]) == (
        200,
        [each["id"] for each in mine],
    )
    assert api("GET", f"/messages/{others['id']}", None, ann.token) == (200, others)


@pytest.mark.parametrize("verb", ["PATCH", "DELETE"])
def test_changes_of_many_need_a_condition(api, ann, verb):
    mine = api("POST", "/messages", {"text": "hello"}, ann.token)[1]

    status, error = api(verb, "/messages?$limit=1", {"read": True}, ann.token)

    assert (status, error["name"]) == (400, "BadRequest")
    assert api("GET", f"/messages/{mine['id']}", None, ann.token) == (200, mine)


@pytest.mark.parametrize(
    "query", ["userId={0}", "userId[$ne]={1}", "$or[0][userId]={0}"]
)
@pytest.mark.parametrize("verb", ["PATCH", "DELETE"])
def test_many_changes_of_others_change_nothing(api, ann, bob, verb, query):
    api("POST", "/messages", {"text": "mine"}, ann.token)
    others = api("POST", "/messages", {"text": "hello"}, bob.token)[1]
    path = f"/messages?{query.format(bob.id, ann.id)}"

    answer = api(verb, path, {"read": True}, ann.token)

    assert answer == (200, [])
    assert api("GET", f"/messages/{others['id']}", None, ann.token) == (200, others)
