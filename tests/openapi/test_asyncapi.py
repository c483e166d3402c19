"""The AsyncAPI document, compared with what a connection sends and gets. The clients'
tests validate it by the schema of AsyncAPI.
"""

from __future__ import annotations

import json

import pytest
from flask import Flask
from jsonschema import Draft7Validator
from openapi_spec_validator import validate

from flask_records import FlaskRecords
from flask_records.openapi import document
from flask_records.openapi.asyncapi import asyncapi
from flask_records.realtime import Realtime

from ..authentication import ANN
from ..authentication import LOGIN
from ..realtime import BOB
from ..realtime import live
from ..realtime import make_live_records


class Bell:
    """A bell at the door."""

    def ring(self, data, params):
        """Ring it."""
        return {"rung": data["times"]}


class Parts:
    def find(self, params):
        return [params.route]


@pytest.fixture
def site(tmp_path):
    records = make_live_records()
    records.add("bell", Bell(), methods=["ring"], public=True)
    records.add("cars/<car>/parts", Parts(), public=True)
    records.add("cars/:car/doors", Parts(), public=True)
    realtime = Realtime(records)
    realtime.presence(channels=["authenticated"], grace=0)

    with live(records, tmp_path, {"event_log": {}}, realtime=realtime) as site:
        with site.app.app_context():
            yield site


@pytest.fixture
def made(site):
    return asyncapi()


def problems(made, message, payload):
    """The mistakes in payloads of messages."""
    path = f"#/components/messages/{message}/payload"
    validator = Draft7Validator({"$ref": path, "components": made["components"]})
    return [error.message for error in validator.iter_errors(payload)]


def references(part):
    if isinstance(part, list):
        return [each for item in part for each in references(item)]

    if not isinstance(part, dict):
        return []

    own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
    return own + references(list(part.values()))


def test_all_references_lead_somewhere(made):
    for reference in references(made):
        part = made

        for name in reference.removeprefix("#/").split("/"):
            part = part[name]


def test_document_names_the_server(made):
    assert made["asyncapi"] == "3.0.0"
    assert made["info"]["title"] == "tests"
    assert made["servers"]["socketio"]["pathname"] == "/socket.io/"
    assert made["servers"]["socketio"]["protocol"] == "ws"


def test_a_channel_stands_for_each_service(site, made):
    assert [each.get("title") for each in made["channels"].values()] == [
        "The connection itself",
        *site.records.services,
    ]
    assert made["channels"]["Bell"]["description"] == "A bell at the door."

    for name, address in (
        ("CarsParts", "cars/{car}/parts"),
        ("CarsDoors", "cars/{car}/doors"),
    ):
        assert made["channels"][name]["address"] == address
        assert made["channels"][name]["parameters"] == {"car": {}}


def test_operations_are_calls_and_events(made):
    names = [name for name in made["operations"] if name.endswith("Messages")]

    assert names == [
        f"{method}Messages"
        for method in ("find", "create", "get", "update", "patch", "remove")
    ]
    assert {
        name: each["action"]
        for name, each in made["operations"].items()
        if "Bell" in name or "Presence" in name or "Typing" in name
    } == {
        "ringBell": "receive",
        "findPresence": "receive",
        "getPresence": "receive",
        "PresenceCreated": "send",
        "PresenceRemoved": "send",
        "MessagesTyping": "send",
    }
    assert made["operations"]["ringBell"]["description"] == "Ring it."


def test_operations_that_need_a_login_say_so(made):
    operations = made["operations"]
    scheme = {"$ref": "#/components/securitySchemes/token"}

    assert operations["findMessages"]["security"] == [scheme]
    key = {"$ref": "#/components/securitySchemes/api-key"}
    assert operations["findVault"]["security"] == [scheme, key]
    assert "security" not in operations["ringBell"]
    assert "security" not in operations["createAuthentication"]


def test_a_key_of_the_first_request_is_a_login(site, made):
    scheme = made["components"]["securitySchemes"]["api-key"]
    client = site.connect(**{"X-Api-Key": "robot's key"})

    assert scheme["type"] == "httpApiKey"
    assert client.result("find", "vault", {})["authenticated"]


CALLS = [
    ("createAuthentication", ["create", "authentication", LOGIN]),
    ("createMessages", ["create", "messages", {"text": "Hi"}]),
    ("createMessages", ["create", "messages", [{"text": "a"}, {"text": "b"}]]),
    ("findMessages", ["find", "messages"]),
    ("findMessages", ["find", "messages", None]),
    ("findMessages", ["find", "messages", {"text": {"$ne": "Hi"}, "$limit": 2}]),
    ("getMessages", ["get", "messages", 1, {"$select": ["text"]}]),
    ("updateMessages", ["update", "messages", 1, {"text": "Ho"}, {}]),
    ("patchMessages", ["patch", "messages", 1, {"text": "He"}]),
    ("patchMessagesMany", ["patch", "messages", None, {"text": "x"}, {"id": 1}]),
    ("removeMessages", ["remove", "messages", 1]),
    ("removeMessagesMany", ["remove", "messages", None, {"id": {"$gt": 1}}]),
    ("findPresence", ["find", "presence", {"channel": "authenticated"}]),
    ("ringBell", ["ring", "bell", {"times": 3}]),
    ("findCarsParts", ["find", "cars/7/parts"]),
    ("findCarsDoors", ["find", "cars/7/doors"]),
    ("removeAuthenticationMany", ["remove", "authentication", None]),
]


def test_calls_and_answers_are_as_described(site, made):
    client = site.connect()

    for name, call in CALLS:
        answer = client.call(*call)

        assert len(answer) == 2, answer
        assert problems(made, name, call) == []
        assert problems(made, f"{name}Answer", answer) == [], name
        assert problems(made, "error", answer) != []


def test_webhooks_of_openapi_are_the_same_events(made):
    webhooks = document()["webhooks"]
    sent = [name for name, each in made["operations"].items() if is_event(each)]

    assert [each["post"]["operationId"] for each in webhooks.values()] == sent
    content = webhooks["messages created"]["post"]["requestBody"]["content"]
    record = {"$ref": "#/components/schemas/Messages"}
    assert content == {"application/json": {"schema": record}}
    assert webhooks["messages typing"]["post"]["requestBody"]["content"] == {
        "application/json": {"schema": {}}
    }
    validate(document())


def is_event(operation):
    is_own = operation["channel"]["$ref"] != "#/channels/connection"
    return is_own and operation["action"] == "send"


def test_errors_are_as_described(site, made):
    client = site.connect()

    for call in (["find", "messages"], ["create", "authentication", {}]):
        assert problems(made, "error", client.call(*call)) == []


def test_other_calls_are_not_as_described(made):
    for name, call in [
        ("findMessages", ["find", "rooms"]),
        ("findMessages", ["find", "messages", {"text": {"$gt": 3}}]),
        ("getMessages", ["get", "messages"]),
        ("patchMessages", ["patch", "messages", None, {"text": "x"}]),
        ("createMessages", ["create", "messages", {"text": 3}]),
        ("ringBell", ["ring", "bell"]),
    ]:
        assert problems(made, name, call) != [], call


def test_events_are_as_described(site, made):
    site.register(BOB)
    ann, bob = site.connect(ANN), site.connect(BOB)
    ann.result("create", "messages", {"text": "Hi"})
    ann.result("update", "messages", 1, {"text": "Ho"})
    ann.result("patch", "messages", 1, {"text": "He"})
    ann.result("remove", "messages", 1)
    site.records["messages"].emit("typing", {"id": 1})
    events = [each for each in bob.events() if each[0].startswith("messages ")]
    names = ["Created", "Updated", "Patched", "Removed", "Typing"]

    assert len(events) == len(names)

    for name, event in zip(names, events, strict=True):
        assert problems(made, f"Messages{name}", event) == []
        assert problems(made, "PresenceCreated", event) != []


def test_events_of_the_connection_are_as_described(site, made):
    client = site.connect(ANN)
    site.realtime.disconnect(1, reason="Closed for the night.")

    events = []

    while not events or events[-1][0] != "disconnected":
        text = client.socket.recv()
        events += [json.loads(text[2:])] if text.startswith("42[") else []

    assert problems(made, "disconnected", events[-1]) == []
    other, token = site.connect(), site.token()
    sent = {"strategy": "jwt", "accessToken": token}
    other.result("create", "authentication", sent)
    site.http.delete("/authentication", headers={"Authorization": f"Bearer {token}"})
    assert problems(made, "loggedOut", other.events()[-1]) == []
    refused = site.connect(Authorization="Bearer nonsense").welcome
    assert problems(made, "refused", json.loads(refused.removeprefix("44"))) == []


def test_command_prints_the_document(site):
    result = site.app.test_cli_runner().invoke(args=["records", "asyncapi"])

    assert result.exit_code == 0
    assert json.loads(result.output) == asyncapi()


def test_an_application_without_real_time_has_no_document():
    app, records = Flask("tests"), FlaskRecords()
    records.init_app(app)

    result = app.test_cli_runner().invoke(args=["records", "asyncapi"])

    assert result.exit_code == 1
    assert "The application has no real time" in result.output

    with app.app_context():
        assert "webhooks" not in document()
