"""Unknown services, and the pages of the application beside them."""

from __future__ import annotations

import pytest
from flask import abort
from flask import Blueprint
from flask import Flask
from werkzeug.exceptions import HTTPException

from flask_records import FlaskRecords

from ..apps.placed import placed
from ..apps.placed import Things
from ..listening import running

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def app_with(place=None, **options):
    """An application with services, pages and an error page of its own."""
    app = Flask("tests")
    records = FlaskRecords(**options)
    records.add("books", Things(), public=True)
    records.add("shelves/:shelf/books", Things(), public=True, methods=["find"])
    place = place or (lambda records, app: records.init_app(app))
    own = Blueprint("own", __name__, url_prefix="/api/own")
    own.add_url_rule("/page", view_func=lambda: "a page")
    own.add_url_rule("/missing", "missing", lambda: abort(404))
    app.register_blueprint(own)
    place(records, app)
    app.register_error_handler(404, lambda error: ("own 404", 404))
    return app


def error_at(url):
    return {
        "name": "NotFound",
        "message": "Page not found",
        "code": 404,
        "className": "not-found",
        "data": {"url": url},
        "errors": {},
    }


UNKNOWN = [
    "/api",
    "/api/",
    "/api/nothing",
    "/api/nothing/1",
    "/api/Books",
    "/api/books/1/2",
    "/api/books/1/2/3/",
    "/api/shelves",
    "/api/shelves/1/nothing",
    "/api/nothing?a=1",
]


@placed
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_unknown_service_is_an_error_of_services(place, verb):
    client = app_with(place).test_client()

    for url in UNKNOWN:
        for accept in ("application/json", "*/*", None):
            headers = {"Accept": accept} if accept else {}
            response = client.open(url, method=verb, headers=headers)

            assert response.status_code == 404
            assert response.json == error_at(url)
            assert response.headers["X-Content-Type-Options"] == "nosniff"


@placed
def test_page_for_people_is_that_of_the_application(place):
    client = app_with(place).test_client()

    for url in UNKNOWN:
        response = client.get(url, headers=BROWSER)

        assert (response.status_code, response.text) == (404, "own 404")


def test_application_without_pages_of_its_own_shows_json_to_all():
    client = app_with(url_prefix="/api", html=False).test_client()

    assert client.get("/api/nothing", headers=BROWSER).json == error_at("/api/nothing")


@placed
@pytest.mark.parametrize(
    "url",
    ["/", "/nothing", "/books", "/apis", "/apis/books", "/api/own", "/api/own/nothing"]
    + ["/api/own/page/1", "/api/own/missing", "/static/nothing.js"],
)
def test_other_urls_are_those_of_the_application(place, url):
    client = app_with(place).test_client()

    for headers in ({}, BROWSER, {"Accept": "application/json"}):
        response = client.get(url, headers=headers)

        assert (response.status_code, response.text) == (404, "own 404")


def test_pages_below_the_prefix_are_reached():
    client = app_with(url_prefix="/api").test_client()

    assert client.get("/api/own/page").text == "a page"
    assert client.post("/api/own/page").status_code == 405
    assert not client.post("/api/own/page").is_json


def test_view_for_all_paths_answers_its_verbs():
    app = app_with(url_prefix="/api")
    app.add_url_rule("/<path:page>", view_func=lambda page: f"page {page}")
    client = app.test_client()

    assert client.get("/api/nothing").text == "page api/nothing"
    assert client.post("/api/nothing", json={}).json == error_at("/api/nothing")
    assert client.post("/nothing", json={}).status_code == 405
    assert client.get("/api/books").json == {}


def test_verb_that_a_service_does_not_have_is_a_405():
    client = app_with(url_prefix="/api").test_client()

    response = client.post("/api/shelves/1/books", json={})

    assert response.status_code == 405
    assert response.json["name"] == "MethodNotAllowed"


def test_without_a_prefix_only_urls_below_services_are_theirs():
    client = app_with().test_client()

    below, other = client.get("/books/1/2"), client.get("/nothing")

    assert below.json == error_at("/books/1/2")
    assert client.get("/shelves/1/books/2/3").json["code"] == 404
    assert client.get("/shelves/1").text == other.text == "own 404"
    assert client.get("/books/1/2", headers=BROWSER).text == "own 404"


def test_placeholders_of_the_prefix():
    client = app_with(url_prefix="/<int:tenant>/api").test_client()

    assert client.get("/1/api/nothing").json == error_at("/1/api/nothing")
    assert client.get("/x/api/nothing").text == "own 404"


def test_subdomain_of_the_services():
    app = Flask("tests", subdomain_matching=True)
    app.config["SERVER_NAME"] = "example.com"
    records = FlaskRecords(url_prefix="/api")
    records.add("books", Things(), public=True)
    api = Blueprint("api", __name__, subdomain="data")
    records.init_app(api)
    app.register_blueprint(api)
    client = app.test_client()

    theirs = client.get("/api/nothing", base_url="http://data.example.com")
    own = client.get("/api/nothing", base_url="http://example.com")

    assert theirs.json == error_at("/api/nothing")
    assert not own.is_json


def test_subdomain_without_services_is_that_of_the_application():
    app = Flask("tests", subdomain_matching=True)
    app.config["SERVER_NAME"] = "example.com"
    app.register_error_handler(404, lambda error: ("own 404", 404))
    records = FlaskRecords(app)
    records.add("books", Things(), public=True)
    client = app.test_client()

    theirs = client.get("/books/1/2", base_url="http://example.com")
    own = client.get("/books/1/2", base_url="http://blog.example.com")

    assert theirs.json == error_at("/books/1/2")
    assert own.text == "own 404"


def test_handler_of_all_errors_of_the_application_is_not_asked():
    app = app_with(url_prefix="/api")
    app.register_error_handler(HTTPException, lambda error: ("own", error.code))
    client = app.test_client()

    assert client.get("/api/nothing").json == error_at("/api/nothing")
    assert client.get("/nothing").text == "own 404"


def test_functions_before_requests_of_the_application_come_first():
    app = app_with(url_prefix="/api")
    app.before_request(lambda: ("closed", 503))

    assert app.test_client().get("/api/nothing").text == "closed"


def test_unknown_url_over_http():
    import requests

    with running(app_with(url_prefix="/api")) as url:
        response = requests.get(f"{url}/api/no%2Fthing", timeout=30)

    assert response.status_code == 404
    assert response.json() == error_at("/api/no/thing")
