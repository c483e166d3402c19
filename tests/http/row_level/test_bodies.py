"""No body gives a record away or takes one."""

import pytest

from .app import calls_of, EVE, NOTES, once, Person, rows_of, TEXT


@once
@pytest.mark.parametrize(("verb", "path", "data"), calls_of("/notes", TEXT))
def test_stranger_reaches_nothing(client, notes, verb, path, data):
    response = client.open(path, method=verb, json=data)

    assert (response.status_code, notes()) == (401, NOTES)


@pytest.mark.parametrize("body", ["json", "data"])
@pytest.mark.parametrize("owner", [{}, {"userId": 2}, {"userId": ""}, {"userId": "2"}])
def test_created_record_is_the_callers(client, ann, notes, body, owner):
    response = client.post(
        "/notes?userId=2", headers=ann, **{body: {"text": "new", **owner}}
    )

    assert response.status_code == 201
    assert [note["userId"] for note in notes() if note["text"] == "new"] == [1]


def test_created_records_are_the_callers(client, ann, notes):
    owners = [{"userId": 2}, {"userId": None}, {}, {"userId": "2"}]

    client.post("/notes", json=[{"text": "new", **one} for one in owners], headers=ann)

    assert [note["userId"] for note in notes() if note["text"] == "new"] == [1] * 4


def test_create_does_not_replace_a_record_of_somebody_else(client, ann, notes):
    response = client.post("/notes", json={"id": 3, "text": "mine"}, headers=ann)

    assert (response.status_code, notes()) == (409, NOTES)


@pytest.mark.parametrize("owner", [2, None, "2"])
@pytest.mark.parametrize(
    ("verb", "path", "changed"),
    [
        ("PUT", "/notes/1", [1]),
        ("PATCH", "/notes/1", [1]),
        ("PATCH", "/notes", [1, 2]),
        ("PATCH", "/notes?userId=2", []),
        ("PATCH", "/notes/3", []),
        ("PUT", "/notes/3", []),
    ],
)
def test_record_is_neither_given_away_nor_taken(
    client, ann, notes, owner, verb, path, changed
):
    data = {"text": "changed", "userId": owner}

    client.open(path, method=verb, json=data, headers=ann)

    assert [note["id"] for note in notes() if note["text"] == "changed"] == changed
    assert [note["userId"] for note in notes()] == [1, 1, 2, 2, None]


@once
@pytest.mark.parametrize(
    "data",
    [
        *({"user_id": 2}, {"USERID": 2}, {"user": 2}, {"userId[]": 2}),
        *({"userId": {"$ne": 1}}, {"userId": [2, 1]}, {"$set": {"userId": 2}}),
        *({"__proto__": {"userId": 2}}, [{"userId": 2}], None),
    ],
)
@pytest.mark.parametrize(
    ("verb", "path"), [("PUT", "/notes/1"), ("PATCH", "/notes/1"), ("PATCH", "/notes")]
)
def test_body_that_is_not_understood_changes_nothing(
    client, ann, notes, verb, path, data
):
    if isinstance(data, dict):
        data = {"text": "changed", **data}

    response = client.open(path, method=verb, json=data, headers=ann)

    assert (response.status_code, notes()) == (400, NOTES)


@once
@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
def test_related_record_in_a_body_changes_nothing_of_it(client, ann, notes, verb):
    """A front end sends back what it got."""
    data = {"text": "changed", "user": {"id": 2, "email": "ann@evil.example"}}
    before = rows_of(client, Person)

    response = client.open("/notes/1", method=verb, json=data, headers=ann)

    assert response.status_code == 200
    assert [note["userId"] for note in notes()] == [note["userId"] for note in NOTES]
    assert rows_of(client, Person) == before


def test_other_users_are_not_changed(client, ann):
    before = rows_of(client, Person)
    calls = [("PUT", "/2", EVE), ("PATCH", "/2", EVE), ("DELETE", "/2", None)]
    many = [("PATCH", "?id=2", EVE), ("DELETE", "?id=2", None)]

    answers = [
        client.open(f"/users{path}", method=verb, json=data, headers=ann)
        for verb, path, data in calls + many
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 200, 200]
    assert [answer.json for answer in answers[3:]] == [[], []]
    assert rows_of(client, Person) == before
