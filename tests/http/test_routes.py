"""The URLs of services beside those of the application."""

from __future__ import annotations

import pytest
from flask import abort
from flask import Blueprint
from flask import Flask
from flask.cli import FlaskGroup
from werkzeug.routing import BaseConverter

from flask_records import FlaskRecords
from flask_records import OAuthStrategy
from flask_records.realtime import Realtime

from ..apps.placed import below_prefix
from ..apps.placed import in_blueprint
from ..apps.placed import Placed
from ..apps.placed import placed
from ..apps.placed import Things
from ..authentication import API_KEY
from ..authentication import bearer
from ..authentication import LOGIN
from ..authentication import make_records
from ..authentication import serving
from ..oauth_providers import make_members
from ..oauth_providers import serving_logins
from ..oauth_providers import token_of
from ..realtime import live
from ..realtime import make_live_records


def view(**route):
    return "a page"


def app_with(path="messages", service=None, *, before=(), after=(), **options):
    """An application with a service, and with views before and after it."""
    app = Flask("tests")
    records = FlaskRecords()
    records.add(path, service or Things(), public=True, **options)

    for number, (rule, *methods) in enumerate(before):
        app.add_url_rule(rule, f"before{number}", view, methods=methods or None)

    records.init_app(app)

    for number, (rule, *methods) in enumerate(after):
        app.add_url_rule(rule, f"after{number}", view, methods=methods or None)

    return app


def routes_of(app, path):
    """The verbs of each route of a service, as `flask routes` lists them."""
    return {
        rule.rule: rule.methods - {"HEAD", "OPTIONS"}
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith(f"records:{path}.")
    }


@pytest.mark.parametrize("prefix", ["/api", "api", "/api/"])
def test_prefix_of_the_extension_begins_all_urls(prefix):
    records = FlaskRecords(url_prefix=prefix)
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)
    records.add("later", Things(), public=True)
    client = app.test_client()

    paths = ["/api/messages", "/api/messages/5", "/api/later", "/messages"]
    statuses = [client.get(path).status_code for path in paths]
    assert statuses == [200, 200, 200, 404]


@pytest.mark.parametrize("prefix", [None, "", "/"])
def test_extension_without_a_prefix(prefix):
    records = FlaskRecords(url_prefix=prefix)
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)

    assert app.test_client().get("/messages").status_code == 200


def test_prefix_of_an_application_replaces_that_of_the_extension():
    records = FlaskRecords(url_prefix="/api")
    records.add("messages", Things(), public=True)
    first, second = Flask("first"), Flask("second")
    records.init_app(first)
    records.init_app(second, url_prefix="")

    assert first.test_client().get("/api/messages").status_code == 200
    assert second.test_client().get("/messages").status_code == 200


def test_prefix_of_the_extension_follows_that_of_the_blueprint():
    records = FlaskRecords(url_prefix="/v1")
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    in_blueprint(records, app)

    assert app.test_client().get("/api/v1/messages").status_code == 200


def test_placeholders_of_the_prefix_are_in_the_route():
    records = FlaskRecords(url_prefix="/<tenant>")
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)

    assert app.test_client().get("/acme/messages/5").json == {
        "id": "5",
        "tenant": "acme",
    }


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("rooms/main", ("rooms/main", {})),
        ("/rooms/main/", ("rooms/main", {})),
        ("rooms/other", ("rooms/<name>", {"name": "other"})),
        ("rooms/<name>", ("rooms/<name>", {"name": "<name>"})),
        ("rooms", (None, {})),
        ("rooms//main", (None, {})),
    ],
)
def test_path_without_placeholders_comes_before_others(path, found):
    records = FlaskRecords()
    records.add("rooms/<name>", Things(), public=True)
    records.add("rooms/main", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)

    assert app.extensions["records_routes"].service_at(path) == found


@placed
def test_logins_and_files_are_below_the_prefix(place):
    records = make_records()
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32}
    Placed(records, place).init_app(app)
    client = app.test_client()

    assert client.post("/api/authentication", json={}).status_code == 401
    assert client.get("/api/secrets").json["message"] == "Not authenticated"

    with client.get("/api/flask_records/feathers.min.js") as response:
        assert response.status_code == 200

    assert client.get("/authentication").status_code == 404


@placed
def test_login_at_a_provider_is_below_the_prefix(place, provider):
    records = Placed(make_members(), place)

    with serving_logins({"fake": provider}, records=records) as site:
        site.prefix = "/api"
        started = site.start()
        token = token_of(site.finish(started))
        caller = site.caller(token)
        linked = site.connect(token)

    assert caller["email"] == "ada@example.com"
    assert linked.headers["Location"].startswith(provider.url)


def test_login_that_needs_a_provider_names_its_url(provider):
    strategies = {"fake": OAuthStrategy(), "api-key": API_KEY}
    records = Placed(make_members(strategies=strategies), below_prefix)
    settings = {"strategies": ["jwt", "local", "fake"]}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        login = {"strategy": "fake"}
        answer = site.client.post("/api/authentication", json=login)

    assert answer.json["message"] == "Log in at /api/oauth/fake."


@placed
def test_sockets_name_services_without_the_prefix(place, tmp_path):
    records = make_live_records(public=True)

    with live(Placed(records, place), tmp_path, realtime=Realtime(records)) as site:
        client = site.connect()
        assert client.result("create", "messages", {"text": "Hi"})["text"] == "Hi"
        assert client.error("find", "api/messages")[0] == 404


def test_middleware_of_the_blueprint_runs_for_its_services():
    records = FlaskRecords()
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    blueprint = Blueprint("api", __name__, url_prefix="/api")
    records.init_app(blueprint)

    @blueprint.before_request
    def refuse():
        abort(418)

    app.register_blueprint(blueprint)

    assert app.test_client().get("/api/messages").status_code == 418


def test_services_added_after_init_app_of_a_blueprint_are_registered_with_it():
    records = FlaskRecords()
    blueprint = Blueprint("api", __name__, url_prefix="/api")
    records.init_app(blueprint)
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    app.register_blueprint(blueprint)
    records.add("later", Things(), public=True)
    client = app.test_client()

    assert client.get("/api/messages").status_code == 200
    assert client.get("/api/later").status_code == 200


def test_blueprint_can_be_registered_once_on_each_application():
    records = FlaskRecords()
    records.add("messages", Things(), public=True)
    blueprint = Blueprint("api", __name__, url_prefix="/api")
    records.init_app(blueprint)
    first, second = Flask("first"), Flask("second")
    first.register_blueprint(blueprint)
    second.register_blueprint(blueprint)

    assert second.test_client().get("/api/messages").status_code == 200

    with pytest.raises(RuntimeError, match="register a blueprint that has it once"):
        first.register_blueprint(blueprint, name="other", url_prefix="/other")


def test_subdomain_of_the_blueprint_is_that_of_its_services():
    records = FlaskRecords()
    records.add("messages", Things(), public=True)
    app = Flask("tests", subdomain_matching=True)
    app.config["SERVER_NAME"] = "a.test"
    app.add_url_rule("/messages", "page", view)
    blueprint = Blueprint("api", __name__, subdomain="api")
    records.init_app(blueprint)
    app.register_blueprint(blueprint)
    client = app.test_client()

    assert client.get("/messages", base_url="http://a.test").text == "a page"
    assert client.get("/messages", base_url="http://api.a.test").json == {}
    assert client.post("/messages", base_url="http://a.test").status_code == 405


def test_service_without_a_host_is_refused_by_an_app_that_matches_hosts():
    records = FlaskRecords()
    records.add("messages", Things(), public=True)
    app = Flask("tests", host_matching=True, static_host="a.test")

    with pytest.raises(RuntimeError, match="'messages' has no host.*of its own"):
        records.init_app(app)


class HostedFlask(Flask):
    """An application that gives a host to each rule."""

    def add_url_rule(self, rule, *args, **options):
        super().add_url_rule(rule, *args, **{"host": "a.test"} | options)


def test_service_with_a_host_answers_there():
    records = FlaskRecords()
    records.add("messages", Things(), public=True)
    app = HostedFlask("tests", host_matching=True, static_host="a.test")
    records.init_app(app)
    client = app.test_client()

    assert client.get("/messages", base_url="http://a.test").json == {}
    assert client.get("/messages", base_url="http://b.test").status_code == 404


class Digits(BaseConverter):
    regex = "[0-9]+"


@pytest.mark.parametrize(
    "rule",
    [
        "/messages",
        "/messages/",
        "/messages/<id>",
        "/messages/<int:id>",
        "/messages/<uuid:id>/",
        "/messages/<string(length=2):id>",
        "/messages/<any(old, new):kind>",
        "/messages/<path:rest>",
    ],
)
@pytest.mark.parametrize("time", ["before", "after"])
def test_view_with_a_url_of_a_service_is_refused(rule, time):
    with pytest.raises(RuntimeError) as caught:
        app = app_with(**{time: [(rule,)]})
        app.testing = True
        app.test_client().get("/elsewhere")

    assert str(caught.value) == (
        f"The service 'messages' and the view '{time}0' have the same URL: GET {rule}."
        " Give the service another path, or all services a prefix:"
        ' FlaskRecords(url_prefix="/api").'
    )


def test_view_with_a_url_of_a_nested_service_is_refused():
    with pytest.raises(RuntimeError, match="GET /rooms/<int:id>/messages"):
        app_with("rooms/:room/messages", before=[("/rooms/<int:id>/messages",)])


def test_view_with_a_url_of_a_service_that_is_added_late_is_refused():
    app = Flask("tests")
    records = FlaskRecords(app)
    app.add_url_rule("/messages", "page", view)

    with pytest.raises(RuntimeError, match="'messages' and the view 'page'"):
        records.add("messages", Things(), public=True)


def test_view_that_takes_a_verb_of_a_service_is_refused():
    verbs = "DELETE, PATCH /messages/<id>"

    with pytest.raises(RuntimeError, match=verbs):
        app_with(before=[("/messages/<id>", "PATCH", "DELETE")])


def test_view_of_the_oauth_logins_is_a_view(provider):
    records = make_members()
    records.add("oauth", Things())

    with pytest.raises(RuntimeError, match="'oauth' and the view 'records_oauth"):
        with serving_logins({"fake": provider}, records=records):
            pass


@pytest.mark.parametrize("time", ["before", "after"])
@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        ("/<path:rest>", "/elsewhere/5", "a page"),
        ("/<path:rest>", "/messages/5/more", "a page"),
        ("/<name>", "/ann", "a page"),
        ("/<name>/<id>", "/ann/5", "a page"),
        ("/messages/new", "/messages/new", "a page"),
        ("/messages/<int:id>/edit", "/messages/5/edit", "a page"),
        ("/messages/<id>.txt", "/messages/5.txt", "a page"),
        ("/messages.txt", "/messages.txt", "a page"),
    ],
)
def test_view_with_other_urls_is_reached_and_so_is_the_service(time, rule, path, text):
    client = app_with(**{time: [(rule,)]}).test_client()

    assert client.get(path).text == text
    assert client.get("/messages").json == {}
    assert client.get("/messages/5").json == {"id": "5"}
    assert client.patch("/messages/5", json={"a": 1}).json == {"a": 1}


@pytest.mark.parametrize("time", ["before", "after"])
def test_view_and_service_share_a_url_with_different_verbs(time):
    app = app_with(methods=["find", "get"], **{time: [("/messages", "POST")]})
    client = app.test_client()

    assert client.post("/messages").text == "a page"
    assert client.get("/messages").json == {}
    refused = client.delete("/messages")
    assert (refused.status_code, refused.is_json) == (405, True)


def test_converters_of_the_application_work_in_paths():
    app = Flask("tests")
    app.url_map.converters["digits"] = Digits
    app.add_url_rule("/pages/<digits:number>", "page", view)
    records = FlaskRecords()
    records.add("rooms/<digits:room>/messages", Things(), public=True)
    records.init_app(app)
    client = app.test_client()

    assert client.get("/rooms/7/messages").json == {"room": "7"}
    assert client.get("/rooms/x/messages").status_code == 404


@pytest.mark.parametrize(
    ("methods", "many", "one"),
    [
        (["find"], {"GET"}, set()),
        (["get", "remove"], {"DELETE"}, {"GET", "DELETE"}),
        (["create"], {"POST"}, set()),
        (
            ["find", "get", "create", "update", "patch", "remove"],
            {"GET", "POST", "PUT", "PATCH", "DELETE"},
            {"GET", "PUT", "PATCH", "DELETE"},
        ),
    ],
)
def test_routes_have_the_verbs_of_the_service(methods, many, one):
    app = app_with(methods=methods)

    assert routes_of(app, "messages") == {
        "/messages": many,
        "/messages/<record_id_>": one,
    }


def test_listed_routes_have_no_other_verbs():
    app = app_with(methods=["find"])
    group = FlaskGroup(create_app=lambda: app)
    result = app.test_cli_runner().invoke(group, args=["routes"])

    lines = [line.split() for line in result.output.splitlines()]
    assert ["records:messages.many", "GET", "/messages"] in lines


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("POST", "/messages"),
        ("PUT", "/messages"),
        ("DELETE", "/messages/"),
        ("POST", "/messages/5"),
        ("PATCH", "/messages/5"),
        ("PATCH", "/messages/a%2Fb"),
        ("PATCH", "/messages/messages%2Fb"),
    ],
)
def test_other_verbs_are_answered_by_the_service(verb, path):
    client = app_with(methods=["find", "get"]).test_client()

    response = client.open(path, method=verb, json={})

    assert response.status_code == 405
    assert response.json["name"] == "MethodNotAllowed"
    assert response.headers["Allow"] == "GET"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_other_verbs_pass_the_middleware_of_the_service():
    calls = []
    middleware = [lambda: calls.append("before")]
    app = app_with(methods=["find"], before_request=middleware)

    app.test_client().delete("/messages")

    assert calls == ["before"]


def test_other_verbs_do_not_reveal_the_methods_of_a_service():
    records = make_records()
    records.add("closed", Things(), methods=["find"])

    with serving(records) as client:
        statuses = [
            client.open("/closed", method=verb, json={}).status_code
            for verb in ("GET", "POST", "PUT", "PATCH", "DELETE")
        ]
        token = client.post("/authentication", json=LOGIN).json["accessToken"]
        refused = client.delete("/closed", headers=bearer(token))

    assert statuses == [401] * 5
    assert refused.status_code == 405


def test_other_verbs_of_views_are_answered_by_the_application():
    app = app_with(before=[("/pages", "POST"), ("/messages/new", "GET")])
    app.register_error_handler(405, lambda error: ("a page of errors", 405))
    client = app.test_client()

    assert client.delete("/pages").text == "a page of errors"
    assert client.open("/messages", method="TRACE").text == "a page of errors"


@pytest.mark.parametrize("first", ["messages", "messages/archive"])
def test_verbs_of_a_service_do_not_reach_a_less_specific_one(first):
    records = FlaskRecords()
    other = {"messages", "messages/archive"} - {first}

    for path in (first, *other):
        methods = ["find"] if path == "messages/archive" else ["find", "get", "remove"]
        records.add(path, Things(), public=True, methods=methods)

    app = Flask("tests")
    records.init_app(app)
    client = app.test_client()

    assert client.delete("/messages/archive").status_code == 405
    assert client.get("/messages/messages").json == {"id": "messages"}
    assert client.delete("/messages/messages").json == {"id": "messages"}
