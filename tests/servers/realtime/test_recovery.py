"""Clients that come back, and get what they have missed."""

from __future__ import annotations

import json
import threading

import pytest

from flask_records.realtime import recovery
from flask_records.realtime.recovery import OFFSET

from ...authentication import ANN
from ...realtime import BOB
from ...realtime import live
from ...realtime import make_live_records
from ...waiting import wait_until

SETTINGS = {"event_log": {"seconds": 60}}


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def site(records, tmp_path):
    with live(records, tmp_path, SETTINGS) as site:
        yield site


@pytest.fixture
def ann(site):
    return Follower(site, ANN)


class Follower:
    """A client that remembers what it needs to come back, and the texts of events."""

    def __init__(self, site, user=None):
        self._site = site
        self.user = user
        self.pid = self.offset = None
        self.texts = []
        self.is_recovered = False
        self.connect()
        self.log_in()

    def connect(self, **headers):
        shown = {} if self.pid is None else {"pid": self.pid, "offset": self.offset}
        self.client = self._site.connect(None, shown, **headers)
        pid = json.loads(self.client.welcome[2:])["pid"]
        self.is_recovered = self.pid == pid
        self.pid = pid

    def log_in(self):
        if self.user is not None:
            self.client.log_in(self.user)

    def leave(self):
        self.receive()
        self.client.socket.close()
        wait_until(lambda: self.client.id not in self.ids, 10)

    def come_back(self, **headers):
        self.leave()
        self.connect(**headers)

    @property
    def ids(self):
        return [each.id for each in self._site.connections]

    def receive(self):
        """Take the events that are there."""
        for name, *arguments in self.client.events():
            if isinstance(arguments[-1], str):
                self.offset = arguments[-1]

            if name.startswith("messages"):
                self.texts.append(arguments[0]["text"])

        return self.texts

    def gets(self, *texts):
        """Return ``True`` if just these texts arrive, in this order."""

        def has_arrived():
            return len(self.receive()) >= len(texts)

        wait_until(has_arrived, 20)
        return self.texts == list(texts)


def write(site, *texts, **data):
    """Create messages as the application does."""
    with site.app.app_context():
        for text in texts:
            site.records["messages"].create({"text": text, **data})

    site.settle()


def test_client_without_a_log_is_told_no_offset(records, tmp_path):
    with live(records, tmp_path) as site:
        client = site.connect(ANN)
        client.result("create", "messages", {"text": "one"})

        assert "pid" not in client.welcome
        assert [len(event) for event in client.events()] == [2]


def test_client_that_comes_back_gets_what_it_missed_once_and_in_order(site, ann):
    write(site, "one", "two")
    ann.leave()
    write(site, "three", "four")
    ann.connect()
    write(site, "five")
    ann.log_in()
    write(site, "six")

    assert ann.is_recovered
    assert ann.gets("one", "two", "three", "four", "five", "six")


def test_new_client_gets_what_comes_after_it_only(site, ann):
    write(site, "one")
    bob = Follower(site)
    write(site, "two")

    assert ann.gets("one", "two")
    assert not bob.is_recovered
    assert bob.receive() == []


def test_client_that_missed_nothing_gets_nothing_again(site, ann):
    write(site, "one")
    ann.come_back()
    ann.log_in()
    write(site, "two")

    assert ann.is_recovered
    assert ann.gets("one", "two")


def test_client_may_come_back_many_times(site, ann):
    texts = []

    for number in range(5):
        write(site, f"before {number}")
        ann.leave()
        write(site, f"while {number}")
        ann.connect()
        ann.log_in()
        texts += [f"before {number}", f"while {number}"]

        assert ann.is_recovered
        assert ann.gets(*texts)


def test_client_that_has_got_some_events_of_a_transaction_gets_the_others(site, ann):
    with site.app.app_context():
        texts = ["one", "two", "three"]
        site.records["messages"].create([{"text": text} for text in texts])

    assert ann.gets("one", "two", "three")
    id, _, number = ann.offset.rpartition(".")
    assert number == "3"
    ann.leave()
    ann.texts, ann.offset = [], f"{id}.1"
    ann.connect()
    ann.log_in()

    assert ann.gets("two", "three")


def test_login_by_a_header_is_enough(site, ann):
    token = site.token()
    ann.leave()
    write(site, "one")
    ann.connect(Authorization=f"Bearer {token}")

    assert ann.gets("one")


@pytest.mark.parametrize(
    "shown",
    [
        {"offset": None},
        {"offset": "unknown.1"},
        {"offset": ""},
        {"offset": 5},
        {"offset": ["a"]},
        {"pid": None},
        {"pid": ""},
        {"pid": "x" * 1000},
        {"pid": 5},
    ],
)
def test_client_with_an_unknown_place_loads_anew(site, ann, shown):
    write(site, "one")
    ann.leave()
    write(site, "two")
    before = ann.pid
    client = site.connect(ANN, {"pid": before, "offset": ann.offset, **shown})
    write(site, "three")

    assert json.loads(client.welcome[2:])["pid"] not in (before, *shown.values())
    texts = [event[1]["text"] for event in client.events() if event[0] != OFFSET]
    assert texts == ["three"]


@pytest.mark.parametrize("shown", ["text", 5, ["a"], True, {}])
def test_client_may_send_anything_to_connect(site, shown):
    assert "pid" in json.loads(site.connect(None, shown).welcome[2:])


def test_client_gets_only_what_it_may_see_now(site, records, ann):
    records["messages"].readable = lambda user: {"rank": user["id"]}
    site.register(BOB)
    bob = Follower(site, BOB)
    mine, other = 1, 2
    write(site, "one", rank=mine)
    write(site, "two", rank=other)
    ann.leave()
    bob.leave()
    write(site, "three", rank=mine)
    write(site, "four", rank=other)

    for each in (ann, bob):
        each.connect()
        each.log_in()

    assert ann.gets("one", "three")
    assert bob.gets("two", "four")

    # The rule has changed since the events.
    ann.leave()
    write(site, "five", rank=mine)
    write(site, "six", rank=other)
    records["messages"].readable = lambda user: {"rank": other}
    ann.connect()
    ann.log_in()

    assert ann.gets("one", "three", "six")


class Visits:
    """Lets connections into a room."""

    def create(self, data, params):
        params.connection.join("room")
        return data


def test_channel_that_a_call_has_joined_is_not_joined_again(records, tmp_path):
    records.add("visits", Visits()).publish()(lambda *event: [])
    publish = records["messages"].publish()
    publish(lambda event, record, context: ["room"] if record["rank"] else ["users/1"])

    with live(records, tmp_path, SETTINGS) as site:
        ann = Follower(site, ANN)
        ann.client.result("create", "visits", {})
        write(site, "in the room", rank=1)
        write(site, "for the user")
        assert ann.gets("in the room", "for the user")
        ann.leave()
        write(site, "missed in the room", rank=1)
        write(site, "missed for the user")
        ann.connect()
        ann.log_in()

        assert ann.is_recovered
        assert ann.gets("in the room", "for the user", "missed for the user")


def test_client_of_another_user_gets_what_that_one_may_see(site, records, ann):
    records["messages"].readable = lambda user: {"rank": user["id"]}
    site.register(BOB)
    ann.leave()
    write(site, "of Ann", rank=1)
    write(site, "of Bob", rank=2)
    ann.connect()
    ann.client.log_in(BOB)

    assert ann.gets("of Bob")


def test_client_that_does_not_log_in_again_is_one_without_a_login(
    site, ann, monkeypatch
):
    monkeypatch.setattr(recovery, "LOGIN_TIMEOUT", 0.1)
    public = site.records["rooms"]
    public.public = frozenset(["find"])
    public.publish()(lambda event, record, context: ["anonymous", "authenticated"])
    ann.leave()
    write(site, "secret")

    with site.app.app_context():
        public.create({"name": "open"})

    ann.connect()
    seen = []

    def arrives():
        seen.extend(event for event in ann.client.events() if event[0] != OFFSET)
        return seen

    wait_until(arrives, 20)
    assert [event[0] for event in seen] == ["rooms created"]


def test_login_that_comes_too_late_lets_the_client_load_anew(site, ann, monkeypatch):
    monkeypatch.setattr(recovery, "LOGIN_TIMEOUT", 0.1)
    write(site, "one")
    ann.leave()
    write(site, "two")
    ann.connect()
    server = site.app.extensions["records_realtime"]
    assert ann.is_recovered
    wait_until(lambda: not server.recovery.returns, 20)
    ann.log_in()
    wait_until(lambda: not site.connections, 20)
    packets = list(iter(ann.client.socket.recv, ""))

    assert f'42["{OFFSET}",""]' in packets


def test_client_that_leaves_again_before_its_login_is_forgotten(site, ann):
    ann.come_back()
    server = site.app.extensions["records_realtime"]
    assert len(server.recovery.returns) == 1
    ann.leave()

    assert server.recovery.returns == {}
    ann.connect()
    ann.log_in()
    write(site, "one")
    assert ann.gets("one")


def test_log_forgets_what_exceeds_its_bounds(records, tmp_path):
    with live(records, tmp_path, {"event_log": {"events": 5}}) as site:
        ann = Follower(site, ANN)
        write(site, "0")
        ann.leave()
        write(site, *"12345")
        ann.connect()
        ann.log_in()
        assert ann.is_recovered
        assert ann.gets(*"012345")
        ann.leave()
        write(site, *"6789abcdef")
        ann.connect()
        ann.log_in()
        write(site, "g")

        assert not ann.is_recovered
        assert ann.gets(*"012345", "g")


def test_client_that_gets_few_events_learns_its_place(site, records, ann):
    records["messages"].readable = lambda user: {"rank": 1}
    write(site, "mine", rank=1)
    assert ann.gets("mine")
    before = ann.offset
    write(site, *"abc", rank=2)
    server = site.app.extensions["records_realtime"]
    server.recovery._tell_all()
    site.settle()
    ann.receive()

    assert ann.offset != before
    assert ann.offset == server.recovery.log.end


@pytest.mark.slow
def test_many_clients_come_back_while_events_flow(site):
    followers = [Follower(site, ANN) for _ in range(20)]
    write(site, "start")
    texts = ["start", *(f"{number}" for number in range(300))]
    done = threading.Event()

    def write_all():
        for text in texts[1:]:
            write(site, text)

        done.set()

    writer = threading.Thread(target=write_all)
    writer.start()

    while not done.is_set():
        for follower in followers:
            follower.come_back()
            follower.log_in()

    writer.join()
    assert all(follower.is_recovered for follower in followers)
    assert [follower.gets(*texts) for follower in followers] == [True] * 20


def test_client_that_missed_more_than_it_may_leave_unread_gets_it_all(
    records, tmp_path
):
    settings = {**SETTINGS, "max_unsent": 50_000}

    with live(records, tmp_path, settings) as site:
        ann = Follower(site, ANN)
        ann.leave()
        texts = [f"{number} {'x' * 150}" for number in range(900)]
        write(site, *texts)
        ann.connect()
        ann.log_in()

        assert ann.gets(*texts)
