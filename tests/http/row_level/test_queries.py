"""No query reaches the records of other users."""

import pytest

from .app import BY_ID, ids_of, NOTES, once, TEXT

FOUND = {
    "": [1, 2],
    "userId=1": [1, 2],
    "userId=2": [],
    "userId=": [],
    "userId=null": [],
    "userId[]=": [],
    "userId[]=2&userId[]=1": [1, 2],
    "userId[$ne]=1": [],
    "userId[$ne]=2": [1, 2],
    "userId[$in][]=1&userId[$in][]=2": [1, 2],
    "userId[$nin]=1": [],
    "userId[$gt]=1": [],
    "userId[$lt]=9&userId[$gt]=-9": [1, 2],
    "userId[$between][]=2&userId[$between][]=9": [],
    "userId[$null]=true": [],
    "userId[$not]=1": [],
    "userId[$not][$in][]=1": [],
    "userId[$ne]=1&userId[$eq]=2": [],
    "$not[userId]=1": [],
    "$not[$not][userId]=2": [],
    "$nor[0][userId]=1": [],
    "$and[0][userId]=2": [],
    "$and[0][$or][0][userId]=1&$and[0][$or][1][userId]=2": [1, 2],
    "$or[0][userId]=2": [],
    "$or[0][userId]=1&$or[1][userId]=2": [1, 2],
    "$or[0][text]=bob's": [],
    "$or[0][userId]=2&$or[1][rank]=2": [2],
    "userId=1&$or[0][userId]=2&$or[1][rank]=2": [2],
    "$or[0][userId]=1&$or[0][rank]=1&userId[$ne]=2": [1],
    "&".join(f"$or[{place}][userId]=2" for place in range(25)): [],
    "&".join(f"userId[]={number}" for number in range(25)): [1, 2],
    "&".join(f"userId[$in][{n}]={n + 2}" for n in range(25)): [],
    "$or[0][userId]=2&$or[0][userId]=1": [1, 2],
    "$sort[userId]=-1": [2, 1],
    "$skip=1": [2],
    "$limit=1": [1],
    "$limit=0": [],
    "$select[]=text": [1, 2],
    "$select[]=text&userId[$ne]=1": [],
}
"""The ids of the notes that Ann finds, by query."""


@pytest.mark.parametrize(("query", "found"), FOUND.items())
def test_calls_reach_own_records_only(client, ann, notes, query, found):
    path = f"/notes?{query}"
    by_id = {
        client.open(f"/notes/{id}?{query}", method=verb, json=data, headers=ann).status
        for id in (3, 5)
        for verb, data in BY_ID
    }
    read = client.get(path, headers=ann)
    patched = client.patch(path, json=TEXT, headers=ann)
    changed = [note["id"] for note in notes() if note["text"] == "changed"]
    removed = client.delete(path, headers=ann)

    assert by_id == {"404 NOT FOUND"}
    assert [ids_of(each) for each in (read, patched, removed)] == [found] * 3
    assert changed == sorted(found)
    assert [note["id"] for note in notes()] == [
        note["id"] for note in NOTES if note["id"] not in found
    ]


@once
def test_answer_for_a_record_of_somebody_else_is_that_for_none(client, ann):
    theirs, nobodys = (client.get(f"/notes/{id}", headers=ann).json for id in (3, 99))

    assert theirs["message"] == "No record found for id '3'"
    assert {**nobodys, "message": theirs["message"]} == theirs


@pytest.mark.parametrize(
    "id",
    [
        *("null", "undefined", "0", "-1", "*", "%25", "3,1", "3.0", "03", "3 OR 1=1"),
        *("%203", "3%00", "[3]", "$ne", "%5B%24gt%5D=0"),
    ],
)
def test_id_of_no_own_record_is_not_an_id_of_many(client, ann, notes, id):
    statuses = {
        client.open(f"/notes/{id}", method=verb, json=data, headers=ann).status_code
        for verb, data in BY_ID
    }

    assert (statuses, notes()) == ({404}, NOTES)


def test_each_user_finds_and_counts_their_own_records(client, ann, bob):
    pages = [client.get("/notes", headers=who).json for who in (ann, bob)]

    assert [page["data"] for page in pages] == [NOTES[:2], NOTES[2:4]]
    assert [page["total"] for page in pages] == [2, 2]
