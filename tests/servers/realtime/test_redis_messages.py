"""The messages of workers on Redis, and the values that never leave a process."""

from __future__ import annotations

import json
import uuid
from contextlib import closing

import pytest
import redis

from flask_records import protect, SQLAlchemyService, Transaction
from flask_records.realtime.bus.shared import MAX_ENTRY

from ...authentication import ANN, bearer
from ...databases import redis_url
from ...models import Message, User
from ...realtime import BOB, in_memory, make_live_records
from ...waiting import wait_until


class Told:
    """The messages in a log of Redis."""

    def __init__(self, client, log):
        self._client = client
        self._log = log

    def messages(self, path, count):
        """The messages of the events of a service, as soon as there are so many."""
        wait_until(lambda: len(self._of(path)) >= count)
        return self._of(path)

    @property
    def texts(self):
        entries = self._client.xrange(self._log)
        return [fields[b"data"].decode() for _, fields in entries if b"data" in fields]

    @property
    def text(self):
        return "".join(self.texts)

    def _of(self, path):
        messages = [m for text in self.texts for m in json.loads(text)["body"]]
        return [message for message in messages if message["service"] == path]


@pytest.fixture
def channel():
    return uuid.uuid4().hex


@pytest.fixture
def told(channel):
    with closing(redis.Redis.from_url(redis_url())) as client:
        yield Told(client, f"{channel}:log")
        client.delete(f"{channel}:log")


@pytest.fixture
def open_site(channel, tmp_path):
    """A function that opens a site whose events leave through Redis."""
    settings = {"message_queue": redis_url(), "channel": channel}
    sites = []

    def open(records):
        sites.append(in_memory(records, tmp_path, settings))
        site = sites[0].__enter__()
        sites.append(site.app.app_context())
        sites[1].__enter__()
        return site

    yield open

    for each in reversed(sites):
        each.__exit__(None, None, None)


def own(user):
    return {"id": user["id"] if user else None, "age": [5, 6]}


@pytest.mark.parametrize("rule", [None, own])
@pytest.mark.parametrize("path", ["users", "people", "staff"])
def test_no_password_and_no_hidden_field_leaves_the_process(
    told, open_site, path, rule
):
    """All three services are over one model. The last one hides nothing by itself."""
    records = make_live_records()
    options = {"readonly": ["password"]}
    records.add(
        "people", SQLAlchemyService(User, hidden=["password", "age"], **options)
    )
    staff = records.add("staff", SQLAlchemyService(User, **options))
    staff.after()(protect("password"))
    service = records[path]
    service.readable = rule
    open_site(records)

    service.create({"email": "eve@example.com", "password": "$argon2 1", "age": 5})
    service.patch(2, {"password": "$argon2 2"})
    service.patch(2, {"age": 6})
    service.remove(2)

    assert len(told.messages(path, 4)) == 4
    assert "password" not in told.text
    assert "argon2" not in told.text
    assert ('"age"' in told.text) is (path != "people")


def test_hidden_field_leaves_if_the_rule_has_named_it(told, open_site):
    records = make_live_records()
    service = SQLAlchemyService(Message, hidden=["user_id", "rank"])
    letters = records.add(
        "letters", service, readable=lambda user: {"user_id": user["id"]}
    )
    site = open_site(records)
    site.register(BOB)
    ann, bob = site.connect(ANN), site.connect(BOB)

    letters.create({"text": "Hi", "user_id": 1, "rank": 5})
    created = events_of(ann)
    letters.remove(1)
    removed = events_of(ann)

    first, second = told.messages("letters", 2)
    shown = {"id": 1, "text": "Hi", "read": False, "room_id": None, "is_long": False}
    assert [name for name, _ in created + removed] == [
        "letters created",
        "letters removed",
    ]
    assert bob.events() == []
    assert first["record"] == second["record"] == shown
    assert "stored" not in first
    assert second["stored"] == {**shown, "user_id": 1}


def events_of(client):
    """The events of a client, as soon as there are some."""
    found = []
    wait_until(lambda: found.extend(client.events()) or found)
    return found


def test_field_that_a_hook_leaves_out_does_not_leave(told, open_site):
    """The database is asked in its stead."""
    records = make_live_records(readable=lambda user: {"user_id": user["id"]})
    records["messages"].after("create")(protect("user_id"))
    site = open_site(records)
    site.register(BOB)
    ann, bob = site.connect(ANN), site.connect(BOB)

    records["messages"].create({"text": "Hi", "user_id": 1})

    assert [name for name, _ in events_of(ann)] == ["messages created"]
    assert bob.events() == []
    assert told.messages("messages", 1) != []
    assert "user_id" not in told.text


def test_login_and_logout_tell_nothing_that_lets_in(told, open_site):
    site = open_site(make_live_records())
    token = site.token()
    site.http.delete("/authentication", headers=bearer(token))

    login, logout = told.messages("authentication", 2)

    payload = {"jti": login["record"]["authentication"]["payload"]["jti"]}
    assert payload["jti"]
    assert login["record"] == {"authentication": {"payload": payload}}
    assert logout["record"] == login["record"]
    assert token not in told.text


def test_events_that_are_too_large_for_one_message_are_several(told, open_site):
    records = make_live_records()
    ann = open_site(records).connect(ANN)
    texts = [f"{number} {'x' * 100_000}" for number in range(15)]

    with Transaction():
        for text in texts:
            records["messages"].emit("typing", {"text": text})

    assert len(told.messages("messages", 15)) == 15
    arrived = [record["text"] for _, record in events_of(ann)]
    sizes = [len(text) for text in told.texts if "typing" in text]
    assert arrived == texts
    assert len(sizes) == 2
    assert max(sizes) < MAX_ENTRY + 100


def test_event_that_is_published_to_nobody_is_not_told(told, open_site):
    records = make_live_records()
    records["messages"].publish("created")(lambda *_: [])
    open_site(records)

    records["messages"].create({"text": "Hi"})
    records["messages"].patch(1, {"text": "Ho"})

    assert [m["event"] for m in told.messages("messages", 1)] == ["patched"]
