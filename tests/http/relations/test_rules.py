"""Rules that follow relationships, in calls and in events."""

import pytest

from flask_records import BadRequest, FromUser, NotFound

from ...authentication import ANN
from ...realtime import BOB, in_memory, make_live_records

BY_ORGANISATION = {"ticket.organisationId": FromUser("organisationId")}


def test_readable_follows_a_relationship(desk):
    assert desk.find("comments", id=1) == [1, 2, 3, 4]
    assert desk.find("comments", id=2) == [3]
    assert desk.find("comments", id=3) == [1]

    with pytest.raises(NotFound):
        desk.client(3).service("comments").get(3)


def test_allow_follows_a_relationship_of_the_new_record(desk):
    comments = desk.client(2).service("comments")

    assert comments.create({"text": "mine", "ticketId": 4})["ticketId"] == 4

    with pytest.raises(BadRequest, match="'ticketId' refers to a record that is not"):
        comments.create({"text": "theirs", "ticketId": 1})

    assert len(desk.find("comments")) == 5


def test_visible_and_writable_follow_relationships(open_desk):
    rules = {"text": {"ticket.assignee.id": FromUser("id")}}
    options = {"readable": None, "visible": rules, "writable": rules}

    with open_desk(comments=options) as desk:
        comments = desk.client(2).service("comments")

        assert [record.get("text") for record in comments.find()] == [
            *(None, None, "hi", "psst")
        ]
        assert comments.patch(3, {"text": "new"})["text"] == "new"

        with pytest.raises(BadRequest, match="'text' is read-only"):
            comments.patch(1, {"text": "new"})


def test_rule_as_a_query_is_checked_at_the_start(open_desk):
    with open_desk(comments={"readable": BY_ORGANISATION}) as desk:
        assert desk.find("comments", id=2) == [3, 4]

    for name in ("ticket.nothing", "nothing.id", "ticket"):
        with pytest.raises(ValueError, match=f"does not fit.*: '{name}' is not"):
            with open_desk(comments={"readable": {name: FromUser("id")}}):
                pass

        with pytest.raises(ValueError, match=f"does not fit.*: '{name}' is not"):
            with open_desk(comments={"visible": {"text": {name: FromUser("id")}}}):
                pass


def test_rules_of_the_same_path_are_about_different_related_records(open_desk):
    with open_desk(
        tickets={
            "readable": {"tags.name": FromUser("name")},
            "allow": {"find": {"tags.color": "b"}, "get": lambda user: False},
        }
    ) as desk:
        desk.records["people"].patch(1, {"name": "red"})

        assert desk.find("tickets") == [1, 2]


def test_rule_follows_a_model_without_a_service(open_desk):
    with open_desk(comments={"readable": {"ticket.tags.name": "blue"}}) as desk:
        del desk.records.services["tags"]

        assert desk.find("comments") == [1, 2]


def in_room(user):
    return user is not None and {"room.name": user["email"]}


def live(tmp_path, rule):
    return in_memory(make_live_records(readable=rule), tmp_path)


@pytest.mark.parametrize("rule", [in_room, {"room.name": FromUser("email")}])
def test_events_reach_those_whose_rule_the_related_record_meets(tmp_path, rule):
    with live(tmp_path, rule) as site, site.app.app_context():
        site.register(BOB)
        rooms, messages = site.records["rooms"], site.records["messages"]
        of_ann = rooms.create({"name": ANN["email"]})["id"]
        of_bob = rooms.create({"name": BOB["email"]})["id"]
        ann, bob = site.connect(ANN), site.connect(BOB)
        ann.events(), bob.events()

        message = messages.create({"text": "Hi", "room_id": of_ann})["id"]
        messages.create({"text": "nowhere"})
        messages.patch(message, {"room_id": of_bob})
        messages.remove(message)

        assert [name for name, _ in ann.events()] == ["messages created"]
        assert [name for name, _ in bob.events()] == [
            *("messages patched", "messages removed")
        ]
