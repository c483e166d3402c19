"""The services of an application, as the explorer gets them."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from flask_records import restrict, SQLAlchemyService
from flask_records.realtime import Realtime

from ...authentication import ANN, bearer, log_in, make_records
from ...models import Message, Room
from ...oauth_providers import make_members, serving_logins
from .sites import described, Explored, make_chat, ON, SERVICES, serving_explorer

KEYS = {
    *("name", "prefix", "realtime", "logins", "user", "userPath"),
    *("services", "hasOthers", "endsLogins"),
}

SUMMARY_KEYS = {
    *("path", "placeholders", "description", "methods", "publicMethods"),
    *("customMethods", "events", "id", "isPaged"),
}

PAGES = {"default": 10, "max": 50}


class Mood(BaseModel):
    text: str


class Bell:
    """A bell of the house."""

    events = ["rung"]

    def find(self, params):
        return ["ding"]

    def create(self, data, params):
        return data

    def ring(self, data, params):
        """Ring it once."""
        return None

    def mute(self, data, params):
        return None


def services_of(client, headers=None):
    made = client.get(SERVICES, headers=headers).json
    return {each["path"]: each["methods"] for each in made["services"]}


def test_description_has_all_that_the_page_needs():
    with serving_explorer(make_chat()) as client:
        made = client.get(SERVICES, headers=bearer(log_in(client))).json

    assert {*made} == KEYS
    # The schemas of a service are loaded when its view opens.
    assert all({*each} == SUMMARY_KEYS for each in made["services"])
    assert (made["name"], made["prefix"]) == ("tests", "")
    assert made["user"] == {"id": 1, "email": ANN["email"], "age": None}
    assert made["userPath"] == "users"


def test_service_whose_description_fails_takes_no_other_with_it(caplog):
    class Broken(Bell):
        def schemas_for(self, params):
            raise ValueError("oops")

    records = make_records()
    records.add("broken", Broken(), public=True)
    records.add("bells", Bell(), public=True)

    with serving_explorer(records, RECORDS_OPENAPI={"title": "Shop"}) as client:
        made = client.get(SERVICES, query_string={"path": "broken"}).json

    texts = {each["path"]: each["description"] for each in made["services"]}
    assert [*texts].index("bells") < [*texts].index("authentication")
    assert texts["broken"].endswith("has failed: see the log of the application.")
    assert texts["bells"] == "A bell of the house."
    assert "'broken' can't be described." in caplog.text
    assert made["name"] == "Shop"


def test_service_of_a_model_is_described():
    records = make_chat(
        paginate=PAGES,
        multi=["create", "remove"],
        whitelist=["$populate"],
        readonly=["rank"],
    )

    with serving_explorer(records) as client:
        headers = bearer(log_in(client))
        made = described(client, "messages", headers)

        with client.application.app_context():
            schemas = records["messages"].capabilities.schemas_for(None)

    assert made["methods"] == ["find", "get", "create", "update", "patch", "remove"]
    assert (made["isPaged"], made["pageSize"], made["maxPageSize"]) == (True, 10, 50)
    assert (made["id"], made["multi"]) == ("id", ["create", "remove"])
    assert made["events"] == ["created", "updated", "patched", "removed"]
    assert (made["publicMethods"], made["customMethods"], made["custom"]) == (
        [],
        [],
        {},
    )
    names = ("record", "query", "create", "update", "patch")
    assert {name: made[name] for name in names} == {
        name: json.loads(json.dumps(getattr(schemas, name))) for name in names
    }
    assert made["relations"] == {
        "room": {"path": "rooms", "isList": False, "field": "room_id"},
        "user": {"path": "users", "isList": False, "field": "user_id"},
    }


def test_relationship_to_what_a_caller_may_not_read_is_left_out():
    records = make_records()
    service = SQLAlchemyService(Message, whitelist=["$populate"])
    records.add("messages", service, public=["find"])

    with serving_explorer(records) as client:
        anonymous = described(client, "messages")
        known = described(client, "messages", bearer(log_in(client)))

    assert anonymous["relations"] == anonymous["references"] == {}
    assert known["relations"]["user"]["path"] == "users"


def test_services_whose_fields_lead_to_one_are_described():
    records = make_chat()
    records.add("copies", SQLAlchemyService(Message, hidden=["user_id"]))

    with serving_explorer(records) as client:
        headers = bearer(log_in(client))
        users = described(client, "users", headers)
        messages = described(client, "messages", headers)

    assert users["referrers"] == [{"path": "messages", "field": "user_id"}]
    assert messages["referrers"] == []


def test_fields_lead_to_the_first_service_that_the_caller_may_read():
    records = make_records()
    messages = SQLAlchemyService(Message)
    records.add("messages", messages, public=True)
    records.add("rooms", SQLAlchemyService(Room))
    records.add("open-rooms", SQLAlchemyService(Room), public=True)

    with serving_explorer(records) as client:
        anonymous = described(client, "messages")
        known = described(client, "messages", bearer(log_in(client)))

    assert anonymous["references"] == {"room_id": "open-rooms"}
    assert known["references"] == {"room_id": "rooms", "user_id": "users"}


@pytest.fixture(scope="module")
def house():
    records = make_records()
    methods = ["find", "create", "ring", "mute"]
    schemas = {"ring": Mood}
    records.add(
        "bell", Bell(), public=["find", "ring"], methods=methods, schemas=schemas
    )
    records.add("robots", Bell(), strategies=["api-key"])
    records.add("rooms/<room_id>/bell", Bell(), public=True)

    with serving_explorer(records) as client:
        yield client


def test_caller_sees_the_methods_that_need_no_login_or_accept_its_own(house):
    key = {"X-Api-Key": "robot's key"}

    assert services_of(house) == {
        "authentication": ["create"],
        "users": ["create"],
        "echo": ["find", "get", "create"],
        "bell": ["find"],
        "rooms/<room_id>/bell": ["find", "create"],
    }
    assert services_of(house, bearer(log_in(house))) == {
        "authentication": ["create", "remove"],
        "users": ["find", "get", "create", "update", "patch", "remove"],
        "secrets": ["find", "get", "create"],
        "vault": ["find", "get", "create"],
        "echo": ["find", "get", "create"],
        "bell": ["find", "create"],
        "rooms/<room_id>/bell": ["find", "create"],
    }
    assert "robots" in services_of(house, key)
    assert "secrets" not in services_of(house, key)


def test_custom_methods_and_events_are_described(house):
    anonymous = described(house, "bell")
    known = described(house, "bell", bearer(log_in(house)))

    assert anonymous["description"] == "A bell of the house."
    assert (anonymous["customMethods"], known["customMethods"]) == (
        ["ring"],
        ["ring", "mute"],
    )
    assert known["custom"]["ring"]["description"] == "Ring it once."
    assert known["custom"]["ring"]["data"]["properties"]["text"]["type"] == "string"
    assert known["custom"]["mute"] == {
        "data": None,
        "result": None,
        "description": None,
    }
    # Others create what the caller may not.
    assert anonymous["events"] == known["events"] == ["created", "rung"]


def test_caller_who_may_only_write_sees_what_to_write():
    with serving_explorer(make_chat()) as client:
        made = described(client, "users")

        closed = client.get(SERVICES).text

    assert not [name for name in ("messages", "room_id") if name in closed]
    assert made["methods"] == ["create"]
    assert {"email", "password"} < {*made["create"]["properties"]}
    assert [made[name] for name in ("record", "query", "update", "patch")] == [{}] * 4
    assert (made["relations"], made["events"]) == ({}, [])


def test_caller_who_may_not_read_its_own_record_is_an_identifier():
    records = make_chat()

    @records["users"].before("get")
    def hide(method, context):
        if context.params.provider is not None:
            restrict(context.params, {"id": 0})

    with serving_explorer(records) as client:
        made = client.get(SERVICES, headers=bearer(log_in(client))).json

    assert made["user"] == {"id": 1}


def test_paths_of_events_are_below_the_root():
    records = make_chat()
    own = {"realtime": Realtime(records), "RECORDS_REALTIME": {"stream": "sse"}}

    with serving_explorer(records, **own) as client:
        made = client.get(SERVICES, base_url="http://localhost/shop").json

    assert made["realtime"] == {"path": "/shop/socket.io", "stream": "/shop/sse"}


@pytest.mark.parametrize(
    ("oauth", "redirect"),
    [
        ({"redirect": "/"}, "/_records/"),
        ({"redirect": "/shop/"}, None),
        ({"redirect": "https://app.example/"}, None),
        (
            {"redirect": "https://app.example/", "origins": ["http://localhost"]},
            "http://localhost/_records/",
        ),
        ({}, None),
    ],
)
def test_logins_at_providers_lead_back_to_the_page(provider, oauth, redirect):
    records = Explored(make_members())
    config = {"RECORDS_EXPLORER": ON}

    with serving_logins({"fake": provider}, oauth, records=records, **config) as site:
        client = site.app.test_client()
        (login,) = client.get("/_records/logins.json").json["logins"]
        query = {} if redirect is None else {"redirect": redirect}
        start = client.get("/oauth/fake", query_string=query)

    assert login["oauth"] == [
        {"name": "fake", "title": "Fake", "url": "/oauth/fake", "redirect": redirect}
    ]
    assert start.status_code == 302
