"""Users in channels."""

from __future__ import annotations

from functools import partial

import pytest

from flask_records import FromUser
from flask_records.openapi import document
from flask_records.realtime import Realtime

from . import waiting
from .authentication import ANN
from .authentication import bearer
from .realtime import BOB
from .realtime import live
from .realtime import make_live_records

wait_until = partial(waiting.wait_until, seconds=30)


class Rooms:
    """Lets callers enter and leave rooms."""

    def create(self, data, params):
        params.connection.join(f"rooms/{data['room']}")
        return data

    def remove(self, id, params):
        params.connection.leave(f"rooms/{id}")
        return {"room": id}


@pytest.fixture
def records():
    records = make_live_records()
    records.add("entries", Rooms()).publish()(lambda *_: None)
    return records


@pytest.fixture
def realtime(records):
    return Realtime(records)


@pytest.fixture
def presence(realtime):
    return realtime.presence(channels=["rooms/*"], grace=0)


@pytest.fixture
def site(records, realtime, presence, tmp_path):
    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        yield site


def enter(client, room=1):
    client.result("create", "entries", {"room": room})


def present(client, query=None):
    """The channels and users that a client finds."""
    found = client.result("find", "presence", query or {})
    return sorted((each["channel"], each["userId"]) for each in found)


def gets(client, *expected):
    """Wait for events of a client: their names, channels and users."""
    seen = []

    def arrived():
        seen.extend(
            (name.removeprefix("presence "), record["channel"], record["userId"])
            for name, record in client.events()
        )
        return len(seen) >= len(expected)

    wait_until(arrived)
    return seen == list(expected)


def test_members_see_who_comes_and_leaves(site):
    ann, bob = site.connect(ANN), site.connect(BOB)
    enter(ann)
    assert gets(ann, ("created", "rooms/1", 1))
    enter(bob)

    assert gets(ann, ("created", "rooms/1", 2))
    assert present(ann) == present(bob) == [("rooms/1", 1), ("rooms/1", 2)]

    bob.result("remove", "entries", 1)

    assert gets(ann, ("removed", "rooms/1", 2))
    assert present(ann) == [("rooms/1", 1)]
    assert present(bob) == []


def test_user_is_there_once_and_leaves_with_the_last_connection(site):
    ann, first, second = site.connect(ANN), site.connect(BOB), site.connect(BOB)

    for client in (ann, first, second):
        enter(client)

    assert gets(ann, ("created", "rooms/1", 1), ("created", "rooms/1", 2))
    first.socket.close()
    second.result("remove", "authentication", None)

    assert gets(ann, ("removed", "rooms/1", 2))


def test_short_reconnect_is_not_noticed(records, tmp_path):
    realtime = Realtime(records)
    realtime.presence(channels=["authenticated"], grace=60)

    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)
        users = [("created", "authenticated", 1), ("created", "authenticated", 2)]
        wait_until(lambda: len(present(ann)) == 2)
        assert gets(ann, *users)
        bob.socket.close()
        wait_until(lambda: len(site.connections) == 1)
        site.connect(BOB)

        assert present(ann) == [("authenticated", 1), ("authenticated", 2)]
        assert ann.events() == []


def test_records_have_stable_ids_and_the_time_of_coming(site):
    ann = site.connect(ANN)
    enter(ann)
    wait_until(lambda: present(ann))

    (record,) = ann.result("find", "presence", {"channel": "rooms/1"})

    assert record.pop("since").endswith("Z")
    assert record == {"id": "rooms/1:1", "channel": "rooms/1", "userId": 1}
    assert ann.result("get", "presence", "rooms/1:1")["userId"] == 1


def test_records_show_what_the_application_chooses(records, tmp_path):
    realtime = Realtime(records)
    realtime.presence(
        channels=["authenticated"], show=lambda user: {"email": user["email"]}
    )

    with live(records, tmp_path, realtime=realtime) as site:
        ann = site.connect(ANN)
        wait_until(lambda: present(ann))

        (record,) = ann.result("find", "presence")
        assert record["email"] == ANN["email"]


def test_others_do_not_see_a_channel(site):
    ann, bob, nobody = site.connect(ANN), site.connect(BOB), site.connect()
    enter(ann)
    wait_until(lambda: present(ann))

    assert present(bob) == present(bob, {"channel": "rooms/1"}) == []
    assert bob.error("get", "presence", "rooms/1:1")[0] == 404
    assert nobody.error("find", "presence")[0] == 401
    assert bob.events() == nobody.events() == []


def test_rules_define_who_sees_a_channel(records, tmp_path):
    realtime = Realtime(records)
    presence = realtime.presence(
        channels=["rooms/*"],
        grace=0,
        readable=lambda user: {"channel": {"$ne": "rooms/2"}},
    )
    presence.publish()(lambda *_: ["authenticated"])

    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)
        enter(ann, 2)
        enter(ann, 1)

        assert gets(bob, ("created", "rooms/1", 1))
        assert present(bob) == [("rooms/1", 1)]
        ann.result("remove", "entries", 1)
        assert gets(bob, ("removed", "rooms/1", 1))


def test_rules_may_name_fields_of_the_user(records, tmp_path):
    realtime = Realtime(records)
    presence = realtime.presence(
        channels=["rooms/*"], grace=0, readable={"userId": FromUser("id")}
    )
    presence.publish()(lambda *_: ["authenticated"])

    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)
        enter(ann)
        enter(bob)

        assert gets(bob, ("created", "rooms/1", 2))
        assert gets(ann, ("created", "rooms/1", 1))
        assert present(bob) == [("rooms/1", 2)]


def test_callers_over_http_see_the_channels_of_their_user(site):
    ann = site.connect(ANN)
    enter(ann)
    wait_until(lambda: present(ann))
    ann_http, bob_http = bearer(site.token(ANN)), bearer(site.token(BOB))
    url = "/presence?channel=rooms/1&$select[]=userId"
    one = site.http.get("/presence/rooms%2F1:1", headers=ann_http)

    assert site.http.get(url, headers=ann_http).json == [
        {"id": "rooms/1:1", "userId": 1}
    ]
    assert one.json["userId"] == 1
    assert site.http.get("/presence?name=x", headers=ann_http).status_code == 400
    assert site.http.get("/presence", headers=bob_http).json == []


def test_calls_in_python_see_all(site, presence):
    ann = site.connect(ANN)
    enter(ann)

    with site.app.app_context():
        wait_until(lambda: presence.find())
        assert presence.get("rooms/1:1")["channel"] == "rooms/1"


def test_receivers_in_python_get_events(site, presence):
    seen = []
    presence.events()(lambda event, record, context: seen.append((event, record["id"])))
    ann = site.connect(ANN)
    enter(ann)
    wait_until(lambda: seen)
    ann.result("remove", "entries", 1)
    wait_until(lambda: len(seen) == 2)

    assert seen == [("created", "rooms/1:1"), ("removed", "rooms/1:1")]


def test_pages(records, tmp_path):
    realtime = Realtime(records)
    pages = {"default": 1, "max": 1}
    realtime.presence(channels=["rooms/*"], grace=0, paginate=pages)

    with live(records, tmp_path, realtime=realtime) as site:
        ann = site.connect(ANN)
        enter(ann, 1)
        enter(ann, 2)

        def page(**query):
            return ann.result("find", "presence", {"$sort": {"channel": -1}, **query})

        wait_until(lambda: page()["total"] == 2)
        assert [r["channel"] for r in page()["data"]] == ["rooms/2"]
        assert [r["channel"] for r in page(**{"$skip": 1})["data"]] == ["rooms/1"]
        assert page(**{"$limit": 0})["data"] == []


def test_service_is_in_the_openapi_document(site):
    with site.app.app_context():
        api = document()

    found = api["paths"]["/presence"]["get"]["responses"]["200"]["content"]
    assert set(api["paths"]["/presence"]) - {"parameters"} == {"get"}
    assert found["application/json"]["schema"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Presence"},
    }
    assert list(api["components"]["schemas"]["Presence"]["properties"]) == [
        "id",
        "channel",
        "userId",
        "since",
    ]


def test_failing_show_is_logged_and_shows_less(records, tmp_path, caplog):
    realtime = Realtime(records)
    realtime.presence(channels=["authenticated"], show=lambda user: 1 / 0)

    with live(records, tmp_path, realtime=realtime) as site:
        ann = site.connect(ANN)
        wait_until(lambda: present(ann))

    assert "The 'show' function of 'presence' failed." in caplog.text


@pytest.mark.parametrize(
    ("channels", "error"), [("rooms/*", TypeError), ([], ValueError), (1, TypeError)]
)
def test_wrong_channels_are_refused(realtime, channels, error):
    with pytest.raises(error, match="'channels'"):
        realtime.presence(channels=channels)
