"""Results are whole inside of a call, and cut where they leave it."""

import pytest

from flask_records import FromUser, SQLAlchemyService
from flask_records.http.formatter import dumps

from ..databases import served
from ..models import Message, User

ANN = {"email": "ann@example.com", "password": "correct horse", "age": 30}


@pytest.fixture
def site(records, db):
    """A client, and services of users, whose ages they alone see, and of messages."""
    options = {"hidden": ["password"], "visible": {"age": {"id": FromUser("id")}}}
    users = records.add("users", SQLAlchemyService(User, **options), public=True)
    messages = records.add("messages", SQLAlchemyService(Message), public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        users.create(ANN)
        yield app.test_client(), users, messages


@pytest.mark.parametrize("place", ["after", "events"])
def test_functions_of_the_application_get_what_a_client_did_not_select(site, place):
    client, _, messages = site
    seen = []

    if place == "after":
        messages.after("create")(lambda m, context: seen.append(context.result["text"]))
    else:
        messages.events("created")(lambda e, record, c: seen.append(record["text"]))

    answer = client.post("/messages?$select=rank", json={"text": "Hi", "rank": 1})

    assert answer.json == {"id": 1, "rank": 1}
    assert seen == ["Hi"]


def test_hook_sees_what_the_client_may_not_see(site):
    client, users, _ = site
    seen = []
    users.after()(lambda method, context: seen.append(context.result["age"]))
    users.events()(lambda event, record, context: seen.append(record["age"]))

    answer = client.patch("/users/1", json={"email": "a@example.com"}).json

    assert answer == {"id": 1, "email": "a@example.com"}
    assert seen == [30, 30]


@pytest.mark.parametrize("paginate", [None, {"default": 5}])
def test_after_hook_adds_fields_to_all_records(records, db, paginate):
    service = SQLAlchemyService(Message, paginate=paginate, multi=["create"])
    messages = records.add("messages", service, public=True)
    sent = []
    messages.events()(lambda event, record, context: sent.append(record["length"]))

    @messages.after()
    def measure(method, context):
        for record in context.records:
            record["length"] = len(record["text"])

    with served(db, records, "sqlite://") as app:
        client = app.test_client()
        one = client.post("/messages", json={"text": "Hi"}).json
        many = client.post("/messages?$select=id", json=[{"text": "Hello"}]).json
        found = client.get("/messages?$select=id").json

    assert one["length"] == 2
    assert many == [{"id": 2, "length": 5}]
    assert (found["data"] if paginate else found) == [{"id": 1, "length": 2}, *many]
    assert sent == [2, 5]


def test_hidden_field_is_not_read_for_a_client(site):
    client, users, messages = site
    seen = []
    users.after()(lambda method, context: seen.append(dict(context.result)))

    client.patch("/users/1", json={"password": "another horse"})

    assert "password" not in seen[0]


def test_event_with_a_record_of_another_service_has_no_hidden_field(site):
    _, users, messages = site
    events = []
    messages.events()(lambda event, record, context: events.append(dumps(record)))

    messages.emit("created", users.get(1))

    assert events == [b'{"id":1,"email":"ann@example.com"}']


def test_record_of_selected_fields_has_no_hidden_field(site):
    _, users, messages = site
    users.after()(lambda method, context: None)

    user = users.get(1, {"$select": ["email", "password"]})

    assert user["password"] == ANN["password"]
    assert dumps({"user": user}) == b'{"user":{"id":1,"email":"ann@example.com"}}'


def test_record_that_a_custom_method_returns_is_cut(records, db):
    class Users(SQLAlchemyService):
        def me(self, data, params):
            return users.get(1)

    rules = {"age": lambda user: False}
    service = Users(User, hidden=["password"], visible=rules)
    users = records.add("users", service, methods=["get", "create", "me"], public=True)

    with served(db, records, "sqlite://") as app, app.app_context():
        users._create(ANN)
        headers = {"X-Service-Method": "me"}
        answer = app.test_client().post("/users", json={}, headers=headers).json

    assert answer == {"id": 1, "email": ANN["email"]}


def test_rule_is_called_once_for_all_records_of_a_result(records, db):
    calls = []

    def is_own(user):
        calls.append(user)
        return {"email": ANN["email"]}

    service = SQLAlchemyService(User, hidden=["password"], visible={"age": is_own})
    users = records.add("users", service, public=True)

    @users.before("find")
    def replace(method, context):
        emails = [ANN["email"], "bob@example.com", "eve@example.com"]
        context.result = [{"id": 1, "email": each, "age": 3} for each in emails]

    with served(db, records, "sqlite://") as app:
        answer = app.test_client().get("/users").json

    assert [record.get("age") for record in answer] == [3, None, None]
    assert len(calls) == 1
