import pytest
from flask import Flask

from flask_records import current_call, current_records, FlaskRecords


def test_current_records_is_told_by_the_app_in_use():
    apps = {name: Flask(name) for name in ("one", "two")}
    extensions = {name: FlaskRecords(app) for name, app in apps.items()}

    for name, app in apps.items():
        with app.app_context():
            assert current_records == extensions[name]


def test_current_records_of_an_app_without_one_tells_the_cure():
    with (
        Flask("tests").app_context(),
        pytest.raises(RuntimeError, match="Did you forget to call 'init_app'"),
    ):
        current_records.services  # noqa: B018


def test_current_call_without_a_call_tells_where_to_use_it(app_context):
    with pytest.raises(RuntimeError, match="No call of a service is in progress"):
        current_call.path  # noqa: B018


def test_current_call_ends_with_the_call(app_context, messages):
    messages.find()

    with pytest.raises(RuntimeError, match="No call of a service is in progress"):
        current_call.path  # noqa: B018


def test_current_call_after_the_request_has_the_result(records):
    seen = []

    class Things:
        def get(self, id, params):
            return {"id": id}

    def remember(response):
        seen.append((current_call.path, current_call.method, current_call.result))
        return response

    things = records.add("things", Things(), public=True)
    records.blueprint(things).after_request(remember)
    app = Flask("tests")
    records.init_app(app)

    app.test_client().get("/things/7")

    assert seen == [("things", "get", {"id": "7"})]


def test_call_of_a_hook_knows_the_call_that_everything_began_with(
    client, rooms, messages, users
):
    causes = []

    @rooms.after("create")
    def greet(method, context):
        messages.create({"text": "Hi", "room_id": context.result["id"]})

    @messages.before("create")
    def look(method, context):
        users.find()

    @users.after("find")
    def note(method, context):
        outermost = current_call.outermost
        causes.append((outermost.path, outermost.params.provider))

    client.post("/rooms", json={"name": "Lobby"})
    client.get("/users")

    assert causes == [("rooms", "rest"), ("users", "rest")]
