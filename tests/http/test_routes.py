"""The URLs of services beside those of the application."""

import pytest
from flask import Flask

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.realtime import Realtime

from ..authentication import bearer, LOGIN, make_records, serving
from ..models import Message
from ..oauth_providers import make_members, serving_logins, token_of
from ..realtime import live
from .test_blueprint import Calls


class Things(Calls):
    def find(self, params):
        return params.route

    def get(self, id, params):
        return {"id": id, **params.route}


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


@pytest.mark.parametrize("prefix", ["/api", "api/"])
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


def test_placeholders_of_the_prefix_are_in_the_route():
    records = FlaskRecords(url_prefix="/<tenant>")
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)

    assert app.test_client().get("/acme/messages/5").json == {
        "id": "5",
        "tenant": "acme",
    }


def test_pages_of_errors_are_there_whatever_the_prefix():
    records = FlaskRecords(url_prefix="/<tenant>")
    records.add("messages", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)
    client = app.test_client()

    page = client.put("/acme/messages", headers={"Accept": "text/html"})

    assert page.status_code == 400
    assert 'href="/flask_records/error.css"' in page.text
    assert client.get("/flask_records/error.css", buffered=True).status_code == 200


def test_logins_and_files_are_below_the_prefix():
    records = make_records(url_prefix="/api")
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32}
    records.init_app(app)
    client = app.test_client()

    assert client.post("/api/authentication", json={}).status_code == 401
    assert client.get("/api/secrets").json["message"] == "Not authenticated"

    with client.get("/api/flask_records/feathers.min.js") as response:
        assert response.status_code == 200

    assert client.get("/authentication").status_code == 404


def test_login_at_a_provider_is_below_the_prefix(provider):
    records = make_members(url_prefix="/api")

    with serving_logins({"fake": provider}, records=records) as site:
        site.prefix = "/api"
        started = site.start()
        token = token_of(site.finish(started))
        caller = site.caller(token)
        linked = site.connect(token)

    assert caller["email"] == "ada@example.com"
    assert linked.headers["Location"].startswith(provider.url)


def test_sockets_name_services_without_the_prefix(tmp_path):
    records = FlaskRecords(url_prefix="/api")
    records.add("messages", SQLAlchemyService(Message), public=True)

    with live(records, tmp_path, realtime=Realtime(records)) as site:
        client = site.connect()
        assert client.result("create", "messages", {"text": "Hi"})["text"] == "Hi"
        assert client.error("find", "api/messages")[0] == 404


@pytest.mark.parametrize(
    "rule",
    [
        "/messages",
        "/messages/",
        "/messages/<id>",
        "/messages/<int:id>",
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

    message = str(caught.value)
    assert f"'{time}0'" in message
    assert "'records:messages." in message
    assert message.endswith(
        " Give one of them another path, or all services a prefix:"
        ' FlaskRecords(url_prefix="/api"). RECORDS_OPENAPI has the paths of the OpenAPI'
        " document and its page."
    )


def test_view_with_a_url_of_a_service_that_is_added_late_is_refused():
    app = Flask("tests")
    records = FlaskRecords(app)
    app.add_url_rule("/messages", "page", view)

    with pytest.raises(RuntimeError, match="'page' and 'records:messages.many'"):
        records.add("messages", Things(), public=True)


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


def test_identifier_with_an_encoded_slash_is_an_unknown_url():
    client = app_with().test_client()

    assert client.get("/messages/a%2Fb").status_code == 404
    assert client.get("/messages/a%20b").json == {"id": "a b"}


# The OpenAPI document and its page.


def app_with_pages(path="things", view_path=None, *, is_first=False, **settings):
    """An application with the pages, and perhaps with a view."""
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = {"enabled": True, **settings}
    records = FlaskRecords()
    records.add(path, Things(), public=True)

    if view_path and is_first:
        app.add_url_rule(view_path, "view", view)

    records.init_app(app)

    if view_path and not is_first:
        app.add_url_rule(view_path, "view", view)

    return app


@pytest.mark.parametrize("is_first", [True, False])
def test_view_with_the_url_of_a_page_is_refused(is_first):
    with pytest.raises(RuntimeError, match="URL: /docs.* RECORDS_OPENAPI has"):
        app = app_with_pages(view_path="/docs", is_first=is_first)
        app.testing = True
        app.test_client().get("/elsewhere")


def test_page_with_another_path_is_in_nobodys_way():
    client = app_with_pages(view_path="/docs", page="/api-docs").test_client()

    assert client.get("/docs").text == "a page"
    assert client.get("/api-docs").status_code == 200
