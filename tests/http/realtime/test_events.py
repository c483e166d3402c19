"""Events of calls, and the connections that get them."""

import pytest

from flask_records import AuthenticationService, Params, Transaction

from ...authentication import ANN, bearer, CHEAP
from ...realtime import BOB, in_memory, Plain


class WriteOnly:
    def create(self, data, params):
        return data


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


def test_nothing_is_stored_whose_event_can_not_be_encoded(messages, ann):
    """The answer has other fields than the event."""

    @messages.after("create")
    def add(method, context):
        context.records[0]["rank"] = object()

    data, query = {"text": "Hi"}, {"$select": ["text"]}
    code, _ = ann.error("create", "messages", data, query)

    assert (code, ann.result("find", "messages")) == (500, [])


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
        ("messages created", 2),
        ("messages patched", 1),
        ("messages patched", 2),
    ]


def test_what_is_rolled_back_sends_none(ann, messages, in_app):
    with Transaction():
        with pytest.raises(ZeroDivisionError), Transaction():
            messages.create({"text": "A"})
            messages.emit("typing", {"id": 1})
            raise ZeroDivisionError

        messages.create({"text": "B"})

    assert [record["text"] for name, record in ann.events()] == ["B"]


def test_hidden_and_protected_fields_are_in_no_event(records, site, ann, in_app):
    @records["users"].after("create", "patch")
    def leave_out(method, context):
        context.dispatch = {**context.result}
        del context.dispatch["age"]

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
def test_only_logins_that_may_read_a_service_get_its_events(
    records, tmp_path, options, with_token, with_key
):
    staff = AuthenticationService(settings="STAFF")
    records.add("staff", staff)
    records.add("it", Plain(), **options)
    settings = {"secret": "t" * 32, "passwords": CHEAP, "audience": "staff"}

    with in_memory(records, tmp_path, STAFF=settings) as site:
        clients = site.connect(ANN), site.connect(X_Api_Key="robot's key")

        with site.app.app_context():
            records["it"].create({"id": 1})

        assert [client.names() for client in clients] == [with_token, with_key]


def test_events_of_a_service_that_nobody_can_read_reach_nobody(records, tmp_path):
    records.add("letters", WriteOnly())
    records.add("drafts", Plain(), methods=["create"])

    with in_memory(records, tmp_path) as site:
        ann = site.connect(ANN)
        ann.result("create", "letters", {"id": 1})
        ann.result("create", "drafts", {"id": 1})

        assert ann.names() == []


def test_large_record_goes_without_its_long_values_and_says_so(records, tmp_path):
    plain = records.add("plain", WriteOnly(), public=True)
    plain.publish()(lambda event, record, context: "anonymous")
    record = {"id": 1, "roomId": 2, "text": "x" * 70_000}

    with in_memory(records, tmp_path) as site:
        client = site.connect()
        written = client.result("create", "plain", record)
        events = client.events()

    assert written == record
    assert events == [["plain created", {"id": 1, "roomId": 2, "$partial": True}]]


def test_entries_of_the_log_are_small(records, tmp_path):
    plain = records.add("plain", WriteOnly(), public=True)
    plain.publish()(lambda event, record, context: "anonymous")
    bodies = [{"id": number, "text": "x" * 30_000} for number in range(10)]

    with in_memory(records, tmp_path) as site:
        client, sizes = site.connect(), []
        log = site.app.extensions["records_realtime"].log
        append = log.append
        log.append = lambda entries, **options: (
            sizes.extend(map(len, entries)) or append(entries, **options)
        )
        client.result("create", "plain", bodies)
        events = client.events()

    assert [record for _, record in events] == bodies
    assert len(sizes) == 5
    assert max(sizes) < 70_000


def test_record_of_another_service_hides_its_fields(records, ann, in_app):
    records["messages"].emit("typing", records["users"].get(1))

    [[_, record]] = ann.events()
    assert sorted(record) == ["age", "email", "id"]
