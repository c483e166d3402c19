"""Pages that are in nobody's way."""

from __future__ import annotations

import pytest
from flask import Blueprint
from flask import Flask

from flask_records import FlaskRecords

from ..apps.placed import placed
from ..apps.placed import Things

PATHS = ["/openapi.json", "/docs"]


def app_with(before=(), after=(), service="things"):
    """An application with views before and after its services."""
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = {"enabled": True}
    records = FlaskRecords()
    records.add(service, Things(), public=True)

    for number, rule in enumerate(before):
        app.add_url_rule(rule, f"before{number}", own_page)

    records.init_app(app)

    for number, rule in enumerate(after):
        app.add_url_rule(rule, f"after{number}", own_page)

    return app


def own_page(**route):
    return "own page"


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize(
    "rules", [PATHS, ["/<page>"], ["/<path:page>"], ["/docs/", "/openapi.json"]]
)
def test_view_of_the_application_comes_first(rules, order):
    client = app_with(**{order: rules}).test_client()

    for path in PATHS:
        assert client.get(path, follow_redirects=True).text == "own page"


@pytest.mark.parametrize("service", ["docs", "openapi.json"])
def test_service_comes_first(service):
    client = app_with(service=service).test_client()

    assert client.get(f"/{service}").json == {}
    assert client.get(f"/{service}/1").json == {"id": "1"}


def test_later_service_comes_first():
    app = app_with()
    app.extensions["records"].add("docs", Things(), public=True)

    assert app.test_client().get("/docs").json == {}


@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE"])
def test_other_verbs_are_those_of_the_application(verb):
    app = app_with()
    app.register_error_handler(404, lambda error: ("own 404", 404))

    assert app.test_client().open("/docs", method=verb).text == "own 404"


def test_application_has_its_own_answer_to_a_verb_that_its_view_lacks():
    app = app_with()
    app.add_url_rule("/docs", "post", own_page, methods=["POST"])

    assert app.test_client().get("/docs").status_code == 405


def test_pages_are_on_the_subdomain_of_services():
    app = Flask("tests", subdomain_matching=True)
    app.config.update(RECORDS_OPENAPI={"enabled": True}, SERVER_NAME="a.example")
    records = FlaskRecords()
    records.add("things", Things(), public=True)
    api = Blueprint("api", __name__, subdomain="api")
    records.init_app(api)
    app.register_blueprint(api)
    client = app.test_client()

    for host, status in (("api.a.example", 200), ("a.example", 404)):
        answer = client.get("/openapi.json", base_url=f"http://{host}")
        assert answer.status_code == status


@placed
def test_middleware_of_the_blueprint_runs_first(place):
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = {"enabled": True}
    records = FlaskRecords()
    records.add("things", Things(), public=True)
    seen = []
    app.before_request(lambda: seen.append("app"))
    place(records, app)

    assert app.test_client().get("/api/openapi.json").status_code == 200
    assert seen == ["app"]


def test_blueprint_may_refuse_them():
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = {"enabled": True}
    records = FlaskRecords()
    records.add("things", Things(), public=True)
    api = Blueprint("api", __name__, url_prefix="/api")
    api.before_request(lambda: ("members only", 403))
    records.init_app(api)
    app.register_blueprint(api)
    client = app.test_client()

    for path in PATHS:
        assert client.get(f"/api{path}").text == "members only"


def test_addresses_are_made_as_those_of_views():
    app = app_with()

    with app.test_request_context(base_url="http://a.example/shop"):
        assert app.url_for("records_openapi.page") == "/shop/docs"
