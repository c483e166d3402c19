"""URLs of services are looked up in a table, and by Werkzeug where it could differ."""

import os

import pytest
from flask import after_this_request, Flask, g, request, session, signals, url_for
from werkzeug.routing import MapAdapter, Rule

from flask_records import FlaskRecords
from flask_records.http import lane

ROOMS = [{"id": 1, "name": "Lobby"}]

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("TEST_WITHOUT_LANE")), reason="Werkzeug matches all URLs"
)


class Rooms:
    """A service without a database."""

    def find(self, params):
        return ROOMS

    def get(self, id, params):
        return {"id": id, "url": url_for("records:rooms.one", record_id_=id)}


@pytest.fixture
def matched(monkeypatch):
    """The paths that Werkzeug matches."""
    matched = []
    match = MapAdapter.match

    def spy(adapter, *args, **options):
        matched.append(adapter.path_info)
        return match(adapter, *args, **options)

    monkeypatch.setattr(MapAdapter, "match", spy)
    return matched


def make(app=None, prefix="", **settings):
    """Return an application with the service, and its client."""
    app = app or Flask(__name__)
    app.config.update(SECRET_KEY="a secret of the tests", **settings)
    records = FlaskRecords(url_prefix=prefix)
    records.add("rooms", Rooms(), public=True)
    records.init_app(app)
    return app, app.test_client()


def test_urls_of_services_are_not_matched_again(matched):
    app, client = make(prefix="/api")
    client.get("/api/rooms")
    matched.clear()

    answers = [client.get("/api/rooms"), client.get("/api/rooms/7")]

    assert answers[0].json == ROOMS
    assert answers[1].json == {"id": "7", "url": "/api/rooms/7"}
    assert matched == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/rooms/", 200),
        ("//rooms", 404),
        ("/rooms//7", 404),
        ("/rooms/7/8", 404),
        ("/rooms/%C3%A9", 200),
        ("/rooms/a%2Fb", 404),
        ("/other", 404),
    ],
)
def test_other_urls_are_matched_by_werkzeug(matched, path, status):
    client = make()[1]
    client.get("/rooms")
    matched.clear()

    assert client.get(path).status_code == status
    assert len(matched) == 1


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"TRUSTED_HOSTS": ["localhost"]}, {}),
        ({"DEBUG": True}, {}),
        ({"SERVER_NAME": "localhost"}, {"subdomain_matching": True}),
    ],
)
def test_settings_that_leave_all_to_werkzeug(matched, settings, options):
    client = make(Flask(__name__, **options), **settings)[1]
    client.get("/rooms")
    matched.clear()

    assert client.get("/rooms").json == ROOMS
    assert matched == ["/rooms"]


def test_malformed_host_is_refused_each_time():
    client = make()[1]
    client.get("/rooms")
    hosts = ["a..b", "localhost", "a..b", "x" * 70 + ".example"]
    statuses = [
        client.get("/rooms", headers={"Host": host}).status_code for host in hosts
    ]

    assert statuses == [400, 200, 400, 400]


class OfHosts(Flask):
    """An application that has its services at one host."""

    class url_rule_class(Rule):  # noqa: N801
        def __init__(self, *args, host=None, **options):
            super().__init__(*args, host=host or "api.example", **options)


def test_application_that_matches_hosts(matched):
    client = make(OfHosts(__name__, host_matching=True, static_host="www.example"))[1]
    hosts = ["www.example", "api.example", "api.example"]
    answers = [client.get("/rooms", base_url=f"http://{host}") for host in hosts]

    assert [each.status_code for each in answers] == [404, 200, 200]
    assert matched == ["/rooms"] * 3


def test_services_without_a_host_are_refused():
    app = Flask(__name__, host_matching=True, static_host="www.example")

    with pytest.raises(RuntimeError, match="'records:rooms.many' has no host"):
        make(app)


@pytest.mark.parametrize("path", ["rooms/<int:room>/notes", "rooms/:room/notes"])
def test_service_below_records_does_not_take_their_urls(path):
    class Notes:
        def find(self, params):
            return params.route

        def get(self, id, params):
            return {"id": id}

    records = FlaskRecords()
    records.add("rooms", Rooms(), public=True)
    records.add(path, Notes(), public=True)
    app = Flask(__name__)
    records.init_app(app)
    client = app.test_client()
    client.get("/rooms")

    assert client.get("/rooms/7").json == {"id": "7", "url": "/rooms/7"}
    assert [*client.get("/rooms/7/notes").json] == ["room"]
    assert client.get("/rooms/7/notes/1").json == {"id": "1"}


def test_view_below_a_service_is_found_first():
    app, client = make()
    app.add_url_rule("/rooms/export", view_func=lambda: "all", endpoint="export")

    assert [client.get("/rooms/export").text for _ in range(2)] == ["all", "all"]
    assert client.get("/rooms/7").json["id"] == "7"


def test_adapter_of_the_application_is_used(matched):
    class Host(Flask):
        def create_url_adapter(self, request):
            adapted.append(request)
            return super().create_url_adapter(request)

    adapted = []
    client = make(Host(__name__))[1]
    client.get("/rooms")
    client.get("/rooms")

    assert len([each for each in adapted if each]) == len(matched) == 2


def test_websocket_is_not_a_call():
    client = make()[1]
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    statuses = [client.get("/rooms", headers=upgrade).status_code for _ in range(2)]

    assert statuses == [400, 400]


def test_service_that_is_added_later_is_found(matched):
    app = Flask(__name__)
    records = FlaskRecords(app)
    records.add("rooms", Rooms(), public=True)
    client = app.test_client()

    assert client.get("/rooms").json == client.get("/rooms").json == ROOMS
    assert matched == ["/rooms"]


def test_host_sees_each_request_as_always():
    """So do functions of requests, URL processors, signals, sessions and teardown."""
    app, client = make()
    seen = []

    @app.url_value_preprocessor
    def process_url(endpoint, values):
        seen.append((endpoint, dict(values)))

    @app.before_request
    def begin():
        session["visits"] = session.get("visits", 0) + 1
        g.rule = request.url_rule.rule
        after_this_request(lambda answer: seen.append("this") or answer)

    @app.after_request
    def end(answer):
        seen.append(g.rule)
        return answer

    @app.teardown_request
    def tear_down(error):
        seen.append("teardown")

    def hear(sender, **options):
        seen.append("finished")

    with signals.request_finished.connected_to(hear, app):
        client.get("/rooms/1")
        seen.clear()
        answer = client.get("/rooms/7")

    assert answer.json == {"id": "7", "url": "/rooms/7"}
    assert seen == [
        ("records:rooms.one", {"record_id_": "7"}),
        "this",
        "/rooms/<record_id_>",
        "finished",
        "teardown",
    ]

    with client.session_transaction() as saved:
        assert saved["visits"] == 2


def test_hosts_that_are_remembered_are_bounded(matched, monkeypatch):
    monkeypatch.setattr(lane, "MAX_HOSTS", 2)
    app, client = make()

    for host in ("a", "b", "c") * 2:
        client.get("/rooms", headers={"Host": host})

    assert len(matched) == 4
