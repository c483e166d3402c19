import logging


def test_event_has_what_the_client_is_sent(client, messages):
    events = []
    messages.events()(lambda event, record, context: events.append(record))

    @messages.after("create")
    def shorten(method, context):
        context.dispatch = {"id": context.result["id"]}

    client.post("/messages", json={"text": "a"})

    assert events == [{"id": 1}]


def test_event_has_no_records_that_the_client_has_asked_for_beside(client, messages):
    events = []
    messages.events()(lambda event, record, context: events.append(record))
    client.post("/messages", json={"text": "a"})

    answer = client.patch("/messages/1?$populate=room", json={"text": "b"}).json

    assert "room" in answer
    assert "room" not in events[-1]


def test_receiver_that_changes_the_record_changes_no_answer(client, messages):
    @messages.events("created")
    def shorten(event, record, context):
        record.clear()

    assert client.post("/messages", json={"text": "a"}).json["text"] == "a"


def test_receiver_that_raises_is_logged_and_undoes_nothing(client, messages, caplog):
    seen = []

    @messages.events()
    def fail(event, record, context):
        raise LookupError("The mail server is down.")

    messages.events()(lambda event, record, context: seen.append(event))

    with caplog.at_level(logging.ERROR):
        response = client.post("/messages", json={"text": "a"})

    assert response.status_code == 201
    assert client.get("/messages").json["total"] == 1
    assert seen == ["created"]
    assert caplog.messages == ["A receiver of 'messages created' failed."]
    assert caplog.records[0].exc_info[0] is LookupError


def test_each_receiver_has_a_transaction_of_its_own(client, messages, rooms, caplog):
    messages.events()(lambda event, record, context: None)

    @messages.events("created")
    def write(event, record, context):
        rooms.create({"name": record["text"]})

        if record["text"] == "b":
            raise LookupError("Nobody likes this room.")

    messages.events()(lambda event, record, context: None)
    client.post("/messages", json=[{"text": text} for text in "abc"])

    assert [room["name"] for room in client.get("/rooms").json] == ["a", "c"]
    assert caplog.messages == ["A receiver of 'messages created' failed."]


def test_receiver_waits_for_what_the_one_before_writes(client, messages, rooms):
    seen = []

    @messages.events("created")
    def write(event, record, context):
        rooms.create({"name": record["text"]})

    rooms.events()(lambda event, record, context: seen.append(record["name"]))
    messages.events("created")(lambda event, *args: seen.append(event))
    client.post("/messages", json=[{"text": "a"}, {"text": "b"}])

    assert seen == ["a", "created", "b", "created"]
