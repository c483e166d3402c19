"""Who gets which events, and when."""

from __future__ import annotations

import threading

import pytest

from flask_records import AuthenticationService
from flask_records import Conflict
from flask_records import hash_password
from flask_records import Params
from flask_records import protect
from flask_records import SQLAlchemyService
from flask_records import Transaction
from flask_records.realtime import Realtime

from .authentication import ANN
from .authentication import bearer
from .authentication import CHEAP
from .models import User
from .realtime import BOB
from .realtime import live
from .realtime import make_live_records


class Plain:
    """Answers what it is sent."""

    def find(self, params):
        return []

    def create(self, data, params):
        return data


class WriteOnly:
    def create(self, data, params):
        return data


@pytest.fixture
def records():
    return make_live_records()


@pytest.fixture
def messages(records):
    return records["messages"]


@pytest.fixture
def ann(site):
    return site.connect(ANN)


@pytest.fixture
def other(site):
    """A second connection of Ann."""
    return site.connect(ANN)


@pytest.fixture
def in_app(site):
    with site.app.app_context():
        yield


def test_each_write_sends_what_it_answers_to_the_caller_too(ann, other):
    written = [
        ann.result("create", "messages", {"text": "Hi"}),
        ann.result("patch", "messages", 1, {"rank": 1}),
        ann.result("update", "messages", 1, {"text": "Ho"}),
        ann.result("remove", "messages", 1),
    ]

    names = [
        f"messages {name}" for name in ("created", "patched", "updated", "removed")
    ]
    expected = [[name, record] for name, record in zip(names, written, strict=True)]
    assert ann.events() == expected
    assert other.events() == expected


def test_reads_and_failed_calls_send_none(messages, ann):
    messages.after("remove")(lambda method, context: 1 / 0)
    ann.result("create", "messages", {"text": "Hi"})
    ann.events()

    ann.call("find", "messages")
    ann.call("get", "messages", 1)
    ann.call("create", "messages", {"nope": 1})
    ann.call("create", "messages", [{"text": "A"}, {"nope": 1}])
    ann.call("patch", "messages", 7, {"text": "A"})
    ann.call("remove", "messages", 1)

    assert ann.events() == []


def test_call_on_many_sends_one_for_each_in_their_order(ann, other):
    created = ann.result("create", "messages", [{"text": "A"}, {"text": "B"}])
    patched = ann.result("patch", "messages", None, {"rank": 1})
    removed = ann.result("remove", "messages", None)

    assert other.events() == [
        *(["messages created", record] for record in created),
        *(["messages patched", record] for record in patched),
        *(["messages removed", record] for record in removed),
    ]


def test_events_of_http_and_of_python_reach_connections(site, ann, messages, in_app):
    headers = bearer(site.token())
    first = site.http.post("/messages", json={"text": "Hi"}, headers=headers).json
    second = messages.create({"text": "Ho"})

    assert ann.events() == [["messages created", first], ["messages created", second]]


def test_events_of_a_command_reach_connections(site, ann, messages):
    @site.app.cli.command("write")
    def write():
        messages.create({"text": "Hi"})

    assert site.app.test_cli_runner().invoke(args=["write"]).exception is None

    assert ann.names() == ["messages created"]


def test_event_leaves_after_the_commit_of_the_outermost_call(ann, messages, in_app):
    with Transaction():
        messages.create({"text": "A"})
        before = ann.events()
        messages.patch(1, {"text": "B"})

    assert before == []
    assert ann.names() == ["messages created", "messages patched"]


def test_event_that_a_receiver_causes_comes_after_what_caused_it(messages, ann, in_app):
    @messages.events("created")
    def count(event, record, context):
        messages.patch(record["id"], {"rank": 1})

    messages.create([{"text": "A"}, {"text": "B"}])

    names = [(name, record["id"]) for name, record in ann.events()]
    assert names == [
        ("messages created", 1),
        ("messages patched", 1),
        ("messages created", 2),
        ("messages patched", 2),
    ]


def test_event_that_has_no_form_does_not_keep_the_others_back(messages, ann, caplog):
    @messages.after("create")
    def tell(method, context):
        messages.emit("typing", {"id": object()})

    ann.result("create", "messages", {"text": "A"})

    assert ann.names() == ["messages created"]


def test_what_is_rolled_back_sends_none(ann, messages, in_app):
    with Transaction():
        with pytest.raises(ZeroDivisionError), Transaction():
            messages.create({"text": "A"})
            messages.emit("typing", {"id": 1})
            raise ZeroDivisionError

        messages.create({"text": "B"})

    assert [record["text"] for name, record in ann.events()] == ["B"]


def test_last_event_of_a_record_tells_what_is_stored(site, ann, messages, in_app):
    messages.create({"text": "A", "rank": 0})

    def write(start):
        with site.app.app_context():
            for rank in range(start, start + 20):
                messages.patch(1, {"rank": rank})

    threads = [threading.Thread(target=write, args=[n * 100]) for n in (1, 2, 3)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    ranks = [record["rank"] for name, record in ann.events()]
    assert len(ranks) == 61
    assert ranks[-1] == messages.get(1)["rank"]


def test_hidden_and_protected_fields_are_in_no_event(records, site, ann, in_app):
    records["users"].after("create", "patch")(protect("age"))
    records["users"].create(BOB)
    records["users"].patch(2, {"age": 5})
    ann.result("patch", "users", 2, {"password": "another password"})
    records["users"].emit("blocked", records["users"]._get(2))

    events = ann.events()

    assert [name for name, record in events] == [
        "users created",
        "users patched",
        "users patched",
        "users blocked",
    ]
    assert [sorted(record) for name, record in events[:2]] == [["email", "id"]] * 2
    assert not any("password" in record for name, record in events)


def test_populated_record_shows_its_hidden_fields_to_nobody(ann, messages, in_app):
    query = {"$populate": ["user"]}
    messages.create({"text": "A", "user_id": 1}, Params(query=query))

    [[name, record]] = ann.events()

    assert "password" not in record.get("user", {})


def test_custom_event_is_sent_after_the_commit(ann, messages, in_app):
    with Transaction():
        messages.emit("typing", {"by": 1})
        before = ann.events()

    assert before == []
    assert ann.events() == [["messages typing", {"by": 1}]]


def test_anonymous_connections_get_none_by_default(records, tmp_path):
    records.add("news", Plain(), public=True)

    with live(records, tmp_path) as site:
        nobody, ann = site.connect(), site.connect(ANN)
        nobody.result("create", "news", {"id": 1})
        nobody_too = site.connect(**bearer("wrong"))
        nobody.result("create", "news", {"id": 2})

        assert nobody.names() == nobody_too.names() == []
        assert ann.names() == ["news created"] * 2


def test_anonymous_connections_get_what_is_published_to_them(records, tmp_path):
    records.add("news", Plain(), public=True).publish()(lambda *_: "anonymous")
    records.add("inside", Plain()).publish()(lambda *_: ["anonymous", "authenticated"])

    with live(records, tmp_path) as site:
        nobody, ann = site.connect(), site.connect(ANN)
        ann.result("create", "news", {"id": 1})
        ann.result("create", "inside", {"id": 2})

        assert nobody.events() == [["news created", {"id": 1}]]
        assert ann.events() == [["inside created", {"id": 2}]]


@pytest.mark.parametrize(
    ("options", "with_token", "with_key"),
    [
        ({}, ["it created"], []),
        ({"strategies": ["api-key"]}, [], ["it created"]),
        ({"strategies": ["api-key", "jwt"]}, ["it created"], ["it created"]),
        ({"authentication": "staff"}, [], []),
        ({"strategies": ["api-key"], "public": ["create"]}, [], ["it created"]),
        ({"strategies": [], "public": ["find"]}, ["it created"], ["it created"]),
    ],
)  # fmt: skip
def test_only_who_may_read_a_service_gets_its_events(
    records, tmp_path, options, with_token, with_key
):
    staff = AuthenticationService(settings="STAFF")
    records.add("staff", staff)
    records.add("it", Plain(), **options)
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}

    with live(records, tmp_path, STAFF=settings) as site:
        clients = site.connect(ANN), site.connect(X_Api_Key="robot's key")

        with site.app.app_context():
            records["it"].create({"id": 1})

        assert [client.names() for client in clients] == [with_token, with_key]


def test_events_of_a_service_that_nobody_can_read_reach_nobody(records, tmp_path):
    records.add("letters", WriteOnly())
    records.add("drafts", Plain(), methods=["create"])

    with live(records, tmp_path) as site:
        ann = site.connect(ANN)
        ann.result("create", "letters", {"id": 1})
        ann.result("create", "drafts", {"id": 1})

        assert ann.names() == []


def test_login_at_another_service_of_the_same_id_is_another_user(tmp_path):
    records = make_live_records()
    admins = records.add(
        "admins", SQLAlchemyService(User, hidden=["password"]), strategies=["jwt"]
    )
    admins.before("create", "update", "patch")(hash_password())
    records.add("staff", AuthenticationService(users="admins", settings="STAFF"))
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}
    realtime = Realtime(records)
    told = []
    realtime.connections("login", "logout")(
        lambda event, c: (
            told.append((event, c.login.authenticator.users_path))
            if c.is_logged_in
            else told.append((event, None))
        )
    )

    with live(records, tmp_path, realtime=realtime, STAFF=settings) as site:
        client = site.connect(ANN)
        client.result("create", "staff", {"strategy": "local", **ANN})

    assert [who for event, who in told if event == "login"] == ["users", "admins"]


def test_publisher_of_the_event_comes_before_that_of_all(records, messages, site, ann):
    asked = []
    records.publish("created", "patched")(lambda *_: asked.append("records named"))
    records.publish()(lambda *_: asked.append("records"))
    messages.publish("created")(lambda *_: asked.append("messages named"))

    ann.result("create", "messages", {"text": "A"})
    ann.result("patch", "messages", 1, {"text": "A"})
    ann.result("remove", "messages", 1)

    assert asked == ["messages named", "records named", "records"]
    assert ann.names() == []


def test_publisher_gets_the_event_the_record_and_the_context(messages, ann):
    said = []

    @messages.publish("created")
    def publish(event, record, context):
        said.append((event, record["text"], context.method, context.params.user_id))
        return "authenticated"

    ann.result("create", "messages", {"text": "A"})

    assert said == [("created", "A", "create", 1)]
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


@pytest.mark.parametrize("channels", [5, True, [None, "x"], [["x"]], [{}, 1], object()])
def test_publisher_that_names_no_channel_does_not_fail_the_call(
    messages, ann, channels, caplog
):
    messages.publish()(lambda *_: channels)

    created = ann.call("create", "messages", {"text": "A"})

    assert created[0] is None
    assert ann.names() == []
    assert ann.result("get", "messages", 1)["text"] == "A"


def test_publisher_that_raises_sends_to_nobody_and_is_logged(messages, ann, caplog):
    messages.publish("created")(lambda *_: 1 / 0)

    created = ann.call("create", "messages", {"text": "A"})
    ann.result("patch", "messages", 1, {"text": "B"})

    assert created[0] is None
    assert ann.names() == ["messages patched"]
    assert [r.exc_info[0] for r in caplog.records] == [ZeroDivisionError]


def test_event_that_has_no_form_on_the_wire_does_not_fail_the_call(
    messages, ann, caplog
):
    @messages.after("create")
    def tell(method, context):
        messages.emit("typing", {"id": object()})

    created = ann.call("create", "messages", {"text": "A"})

    assert created[0] is None
    assert ann.result("get", "messages", 1)["text"] == "A"


def test_name_of_an_event_that_there_is_not_is_refused(messages):
    with pytest.raises(ValueError, match="There is no event 'creatd'."):
        messages.publish("creatd")


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

    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        ann, bob = site.connect(ANN), site.connect(BOB)

        for channel in ("all", "lobby", "user 1", "user 2"):
            ann.result("create", "messages", {"text": channel})

        got = [[r["text"] for name, r in client.events()] for client in (ann, bob)]
        bob.result("remove", "authentication", None)
        channels = [connection.channels for connection in site.connections]

    assert got == [["all", "user 1"], ["all", "user 2"]]
    assert channels == [{"all", "authenticated", "user 1"}, {"anonymous"}]


def test_what_happens_to_a_connection_is_told_once(records, tmp_path):
    realtime = Realtime(records)
    told = []
    realtime.connections()(
        lambda event, c: told.append((event, c.user and c.user["id"]))
    )

    with live(records, tmp_path, realtime=realtime) as site:
        site.register(BOB)
        client = site.connect(**bearer(site.token()))
        client.log_in(ANN)
        client.log_in(BOB)
        client.result("remove", "authentication", None)

    assert [event for event, user in told][:5] == [
        "connect",
        "login",
        "logout",
        "login",
        "logout",
    ]
    assert [user for event, user in told if event == "login"] == [1, 2]


def test_receiver_that_raises_leaves_a_connection_without_channels(
    records, tmp_path, caplog
):
    realtime = Realtime(records)
    realtime.connections("login")(lambda event, connection: 1 / 0)

    with live(records, tmp_path, realtime=realtime) as site:
        ann = site.connect(ANN)
        ann.result("create", "messages", {"text": "A"})

        assert ann.names() == []


def test_authentication_service_sends_no_events(records, tmp_path):
    records.publish()(lambda *_: ["anonymous", "authenticated"])

    with live(records, tmp_path) as site:
        nobody, ann, other = site.connect(), site.connect(ANN), site.connect(ANN)
        other.result("remove", "authentication", None)
        site.token()

        assert [c.names() for c in (nobody, ann, other)] == [[], [], []]


def test_hook_that_refuses_a_login_leaves_the_connection_as_it_was(records, tmp_path):
    realtime = Realtime(records)

    with live(records, tmp_path, realtime=realtime) as site:

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
