"""A hidden field is like one that does not exist."""

import pytest

from ...authentication import ANN, bearer, log_in
from .app import calls_of, EVE, make_records, Note, once, Person, rows_of, served, TEXT

PASSWORD_QUERIES = {
    "/users": [
        *("password", "password=x", "password[]=", "password[$ne]="),
        *(
            "password[$like]=$argon2%25",
            "password[$null]=false",
            "password[$not][$gt]=",
        ),
        *(
            "$sort[password]=1",
            "$select=password",
            "$select[]=email&$select[]=password",
        ),
        *("$limit=0&password[$gt]=", "$or[0][id]=1&$or[1][password]=x"),
        *("$and[0][$or][0][password]=x", "$nor[0][password]=x", "$not[password]=x"),
        *("id=1&password[$gt]=", "$populate=password", "$populate[]=notes&password=x"),
        "notes.user.password[$gt]=",
    ],
    "/notes": [
        *("password[$gt]=", "user.password=x", "user[password]=x"),
        *(
            "$or[0][user][password]=x",
            "$sort[user.password]=1",
            "$sort[user][password]=1",
        ),
        *("$select[]=user.password", "$populate=user.password"),
        *("$populate[user]=password", "$populate[]=user&password[$gt]="),
        "$populate[0][path]=user&$populate[0][select]=password",
    ],
}


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"hidden": ["userId"]}, {"id": 1, "text": "new", "rank": None}),
        ({"readonly": ["userId"]}, {"id": 1, "text": "new", "rank": None, "userId": 1}),
    ],
)
def test_field_of_the_owner_may_be_hidden_or_readonly(options, note):
    with served(make_records(notes=options)) as client:
        ann = bearer(log_in(client))

        created = client.post("/notes", json={"id": 1, "text": "new"}, headers=ann)
        found = client.get("/notes", headers=ann)

    assert (created.status_code, created.json) == (201, note)
    assert (found.status_code, found.json["data"]) == (200, [note])


@once
@pytest.mark.parametrize(
    ("path", "query"),
    [(path, query) for path, queries in PASSWORD_QUERIES.items() for query in queries],
)
def test_hidden_field_is_asked_for_like_one_that_is_not_there(client, ann, path, query):
    before = rows_of(client, Person), rows_of(client, Note)
    data = EVE if path == "/users" else TEXT

    for verb, place, body in calls_of(path, data):
        answers = [
            client.open(f"{place}?{each}", method=verb, json=body, headers=ann)
            for each in (query, query.replace("password", "nothing"))
        ]
        hidden, unknown = [(one.status_code, one.text) for one in answers]
        assert hidden == (400, unknown[1].replace("nothing", "password"))

    assert (rows_of(client, Person), rows_of(client, Note)) == before


@once
def test_answers_have_no_password(client, ann):
    registered = client.post("/users", json=EVE)
    conflict = client.post("/users", json=EVE)
    changed = client.patch("/users/1", json={"password": ANN["password"]}, headers=ann)

    assert registered.json == {"id": registered.json["id"], "email": EVE["email"]}
    assert (conflict.status_code, list(conflict.json["errors"])) == (409, ["email"])
    assert changed.json == {"id": 1, "email": ANN["email"]}
