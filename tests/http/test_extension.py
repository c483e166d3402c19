import pytest
from flask import Blueprint, Flask

from flask_records import FlaskRecords


class Things:
    """Answers the params of the call."""

    def find(self, params):
        return {"query": params.query, "route": params.route}

    def get(self, id, params):
        return {"id": id, "route": params.route}

    def create(self, data, params):
        return data


@pytest.fixture
def app():
    return Flask("tests")


@pytest.fixture
def records():
    return FlaskRecords()


def test_service_is_found_by_its_path(records):
    things = records.add("/things/", Things(), public=True)

    assert records["things"] is things
    assert records["/things"] is things
    assert records.services == {"things": things}

    with pytest.raises(KeyError, match="No service at 'thing'. There are: things."):
        records["thing"]


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ("RECORDS_AUTENTICATION", True),
        ("RECORDS_LIMIT", True),
        ("RECORDS_REALTIME_message_queue", True),
        ("RECORDS_REALTIME", False),
        ("RECORDS_AUTHENTICATION_2", False),
        ("RECORDS_PER_PAGE", False),
        ("LIMITS", False),
    ],
)
def test_misspelled_setting_is_a_warning(app, records, caplog, name, is_told):
    app.config[name] = {}

    records.init_app(app)

    assert (f"'{name}'" in caplog.text) == is_told


def test_one_extension_serves_services_before_and_after_several_apps(records):
    records.add("things", Things(), public=True)
    apps = [Flask(name) for name in ("one", "two")]

    for app in apps:
        records.init_app(app)

    records.add("more", Things(), public=True)

    for app in apps:
        assert app.test_client().get("/things").status_code == 200
        assert app.test_client().get("/more").status_code == 200


def test_path_is_taken_once(records):
    records.add("things", Things())

    with pytest.raises(ValueError, match="There is a service at 'things' already"):
        records.add("/things", Things())


@pytest.mark.parametrize(
    "paths", [("api.v1", "apiv1"), ("rooms/<archive>", "rooms/archive")]
)
def test_paths_that_look_alike_are_two_services(app, records, paths):
    for path in paths:
        records.add(path, Things(), public=True)

    records.init_app(app)

    for path in paths:
        assert app.test_client().get(f"/{path}").status_code == 200


def test_app_has_one_extension(app):
    FlaskRecords(app)

    with pytest.raises(RuntimeError, match="has a FlaskRecords already. Import and"):
        FlaskRecords(app)


def test_blueprint_is_refused_with_the_line_to_write():
    blueprint, records = Blueprint("plugin", __name__), FlaskRecords()

    with pytest.raises(TypeError, match=r"blueprint.record\(lambda state: records"):
        records.init_app(blueprint)


NOT_PUBLIC = (
    "The service 'things' needs a token for its calls, and nothing issues tokens. Add"
    ' an authentication service, records.add("authentication",'
    " AuthenticationService()), or add this one with public=True to let everybody in."
)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("public", [False, ["find"], ["find", "get", "remove"]])
def test_service_with_tokens_needs_authentication(app, records, public, is_late):
    steps = [
        lambda: records.add("things", Things(), public=public),
        lambda: records.init_app(app),
    ]

    with pytest.raises(RuntimeError) as error:
        for step in reversed(steps) if is_late else steps:
            step()

    assert str(error.value) == NOT_PUBLIC


@pytest.mark.parametrize(
    ("path", "url", "route"),
    [
        ("users/<user_id>/posts", "/users/7/posts", {"user_id": "7"}),
        ("users/:user_id/posts", "/users/7/posts", {"user_id": "7"}),
        ("users/:userId/posts", "/users/a%20b/posts", {"userId": "a b"}),
        (":a/x/<b>", "/1/x/2", {"a": "1", "b": "2"}),
        ("users/<int:user_id>/posts", "/users/7/posts", {"user_id": 7}),
    ],
)
def test_placeholders_become_the_route(app, records, path, url, route):
    records.add(path, Things(), public=True)
    records.init_app(app)
    client = app.test_client()

    assert client.get(url).json == {"query": {}, "route": route}
    assert client.get(f"{url}/9").json == {"id": "9", "route": route}


def test_order_of_middleware_around_a_call(app):
    calls = []

    def note(name):
        return lambda *arguments: calls.append(name)

    def note_response(name):
        return lambda response: calls.append(name) or response

    records = FlaskRecords()
    things = records.add("things", Things(), public=True)
    blueprint = records.blueprint(things)
    blueprint.before_request(note("first before"))
    blueprint.before_request(note("second before"))
    blueprint.after_request(note_response("last after"))
    blueprint.after_request(note_response("first after"))
    things.before()(note("hook"))
    app.before_request(note("before of the app"))
    app.after_request(note_response("after of the app"))
    records.init_app(app)

    app.test_client().get("/things")

    assert calls == [
        "before of the app",
        "first before",
        "second before",
        "hook",
        "first after",
        "last after",
        "after of the app",
    ]


def test_service_has_its_own_formatter_and_parsers():
    records = FlaskRecords(
        formatter=lambda context: f"all {context.path}",
        query_parser=lambda text: {"all": text},
        body_parsers={"text/plain": lambda request: {"all": request.get_data(True)}},
    )
    records.add("common", Things(), public=True)
    records.add(
        "own",
        Things(),
        public=True,
        formatter=lambda context: context.result,
        body_parsers={"text/csv": lambda request: {"own": request.get_data(as_text=1)}},
    )
    app = Flask("tests")
    records.init_app(app)
    client = app.test_client()

    assert client.get("/common").text == "all common"
    assert client.get("/own?a").json["query"] == {"all": "a"}
    assert client.post("/own", data="x", content_type="text/csv").json == {"own": "x"}
    assert client.post("/own", data="x", content_type="text/plain").status_code == 400
