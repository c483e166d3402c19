"""Channels, publishers, and the events of connections."""

import pytest

from flask_records import Conflict
from flask_records.realtime import Realtime

from ...authentication import ANN, bearer
from ...realtime import BOB, in_memory, Plain


def test_anonymous_connections_get_none_by_default(records, tmp_path):
    records.add("news", Plain(), public=True)

    with in_memory(records, tmp_path) as site:
        nobody, ann = site.connect(), site.connect(ANN)
        nobody.result("create", "news", {"id": 1})
        nobody_too = site.connect()
        nobody.result("create", "news", {"id": 2})

        assert nobody.names() == nobody_too.names() == []
        assert ann.names() == ["news created"] * 2


def test_anonymous_connections_get_what_is_published_to_them(records, tmp_path):
    records.add("news", Plain(), public=True).publish()(lambda *_: "anonymous")
    records.add("inside", Plain()).publish()(lambda *_: ["anonymous", "authenticated"])

    with in_memory(records, tmp_path) as site:
        nobody, ann = site.connect(), site.connect(ANN)
        ann.result("create", "news", {"id": 1})
        ann.result("create", "inside", {"id": 2})

        assert nobody.events() == [["news created", {"id": 1}]]
        assert ann.events() == [["inside created", {"id": 2}]]


def test_publisher_of_the_event_comes_before_that_of_all(records, messages, site, ann):
    calls = []
    records.publish("created", "patched")(lambda *_: calls.append("records named"))
    records.publish()(lambda *_: calls.append("records"))
    messages.publish("created")(lambda *_: calls.append("messages named"))

    ann.result("create", "messages", {"text": "A"})
    ann.result("patch", "messages", 1, {"text": "A"})
    ann.result("remove", "messages", 1)

    assert calls == ["messages named", "records named", "records"]
    assert ann.names() == []


def test_publisher_gets_the_event_the_record_and_the_context(messages, ann):
    calls = []

    @messages.publish("created")
    def publish(event, record, context):
        calls.append((event, record["text"], context.method, context.params.user_id))
        return "authenticated"

    ann.result("create", "messages", {"text": "A"})

    assert calls == [("created", "A", "create", 1)]
    assert ann.names() == ["messages created"]


@pytest.mark.parametrize(
    ("channels", "names"),
    [
        ("authenticated", ["messages created"]),
        (["authenticated", "x"], ["messages created"]),
        ({"authenticated"}, ["messages created"]),
        (("authenticated", "authenticated"), ["messages created"]),
        ("auth", []),
        (None, []),
        ([], []),
        ("", []),
        ("anonymous", []),
        (False, []),
    ],
)
def test_event_reaches_the_channels_it_is_published_to(messages, ann, channels, names):
    messages.publish()(lambda *_: channels)

    ann.result("create", "messages", {"text": "A"})

    assert ann.names() == names


@pytest.mark.parametrize(
    "channels",
    [5, True, [None, "x"], [["x"]], [{}, 1], object(), {"authenticated": {"id": 1}}],
)
def test_publisher_that_names_no_channel_does_not_fail_the_call(
    messages, ann, channels, caplog
):
    messages.publish()(lambda *_: channels)

    created = ann.call("create", "messages", {"text": "A"})

    assert created[0] is None
    assert ann.names() == []
    assert [record.exc_info[0] for record in caplog.records] == [TypeError]
    assert ann.result("get", "messages", 1)["text"] == "A"


def test_channels_are_joined_and_left(records, messages, tmp_path):
    realtime = Realtime(records)
    messages.publish()(lambda event, record, context: [record["text"]])

    @realtime.connections("connect")
    def join_all(event, connection):
        connection.join("all", "lobby")

    @realtime.connections("login")
    def join_own(event, connection):
        connection.leave("lobby")
        connection.join(f"user {connection.user['id']}")

    with in_memory(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)

        for channel in ("all", "lobby", "user 1", "user 2"):
            ann.result("create", "messages", {"text": channel})

        got = [[r["text"] for name, r in client.events()] for client in (ann, bob)]
        bob.result("remove", "authentication", None)
        channels = [connection.channels for connection in site.connections]

    assert got == [["all", "user 1"], ["all", "user 2"]]
    assert channels == [{"all", "authenticated", "user 1", "users/1"}, {"anonymous"}]


def test_each_event_of_a_connection_runs_its_receivers_once(records, tmp_path):
    realtime = Realtime(records)
    runs = []
    realtime.connections()(
        lambda event, c: runs.append((event, c.user and c.user["id"]))
    )

    with in_memory(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        client = site.connect(**bearer(site.token()))
        client.log_in(ANN)
        client.log_in(BOB)
        client.result("remove", "authentication", None)

    assert [event for event, user in runs][:5] == [
        "connect",
        "login",
        "logout",
        "login",
        "logout",
    ]
    assert [user for event, user in runs if event == "login"] == [1, 2]


def test_receiver_that_raises_leaves_a_connection_without_channels(
    records, tmp_path, caplog
):
    realtime = Realtime(records)
    realtime.connections("login")(lambda event, connection: 1 / 0)

    with in_memory(records, tmp_path, realtime=realtime) as site:
        ann = site.connect(ANN)
        ann.result("create", "messages", {"text": "A"})

        assert ann.names() == []


def test_authentication_service_sends_no_events(records, tmp_path):
    records.publish()(lambda *_: ["anonymous", "authenticated"])

    with in_memory(records, tmp_path) as site:
        nobody, ann, other = site.connect(), site.connect(ANN), site.connect(ANN)
        other.result("remove", "authentication", None)
        site.token()

        assert [c.names() for c in (nobody, ann, other)] == [[], [], []]


def test_hook_that_refuses_a_login_leaves_the_connection_as_it_was(records, tmp_path):
    realtime = Realtime(records)

    with in_memory(records, tmp_path, realtime=realtime) as site:

        @records.after("create")
        def refuse(method, context):
            if context.path == "authentication":
                raise Conflict("Not today.")

        client = site.connect()
        refused = client.error("create", "authentication", {"strategy": "local", **ANN})
        [connection] = site.connections

    assert refused == (409, "Not today.")
    assert connection.channels == {"anonymous"}
    assert connection.authentication is None
