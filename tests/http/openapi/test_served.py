"""The OpenAPI document over HTTP: who gets it, and when it is made."""

from __future__ import annotations

import threading

import pytest
import requests
from flask import Flask
from openapi_spec_validator import validate
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import FlaskRecords
from flask_records.openapi import document
from flask_records.openapi import reference

from ...authentication import bearer
from ...authentication import log_in
from ...authentication import make_records
from ...authentication import serving
from ...listening import running
from ...test_routes import placed
from ...test_routes import Things

ON = {"enabled": True}


def app_with(settings=ON, place=None, **options):
    """An application with one public service."""
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = settings
    records = FlaskRecords(**options)
    records.add("things", Things(), public=True)
    place = place or (lambda records, app: records.init_app(app))
    place(records, app)
    return app


def test_document_is_that_of_the_command():
    app = app_with()

    with running(app) as url:
        answer = requests.get(f"{url}/openapi.json", timeout=10)

    with app.app_context():
        made = document()

    validate(answer.json())
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == {**made, "servers": [{"url": "/"}]}


@pytest.mark.parametrize(
    ("settings", "debug", "status"),
    [
        (None, True, 200),
        (None, False, 404),
        ({"enabled": None}, True, 200),
        ({"enabled": False}, True, 404),
        ({"enabled": True}, False, 200),
    ],
)
def test_document_is_on_in_debug_mode_or_by_its_setting(settings, debug, status):
    app = app_with(settings)
    app.debug = debug

    assert app.test_client().get("/openapi.json").status_code == status


def test_application_without_it_answers_as_for_any_url():
    app = app_with(None)
    app.register_error_handler(404, lambda error: ("own 404", 404))

    assert app.test_client().get("/openapi.json").text == "own 404"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            True,
            "^RECORDS_OPENAPI must be a mapping such as {'enabled': True}, not True",
        ),
        (False, r"must be a mapping such as {'enabled': True}, not False\."),
        ({"document": "/docs"}, r"has the same path twice: '/docs'"),
        (
            {"on": True},
            "has no key 'on'. The keys are 'enabled', 'login', 'allow', 'document',"
            " 'page'",
        ),
        ({"enabled": "yes"}, r"\['enabled'\] must be True or False, not 'yes'"),
        ({"login": None}, r"\['login'\] must be True or False, not None"),
        ({"allow": "admin"}, r"\['allow'\] must be a function of the user"),
        ({"page": "docs"}, r"\['page'\] must be a path such as '/docs', not 'docs'"),
        ({"document": "/<x>"}, r"\['document'\] must be a path"),
    ],
)
def test_wrong_setting_is_an_error_at_the_start(settings, message):
    with pytest.raises(RuntimeError, match=message):
        app_with(settings)


@pytest.mark.parametrize("query", ["for=you", "for=me&for=me", "token=abc", "for"])
def test_query_takes_one_name_and_value(query):
    answer = app_with().test_client().get(f"/openapi.json?{query}")

    assert answer.status_code == 400
    assert answer.json["message"].startswith("The query takes 'for=me', not")


@placed
def test_document_is_below_the_prefix_of_services(place):
    with running(app_with(place=place)) as url:
        answer = requests.get(f"{url}/api/openapi.json", timeout=10)

    assert [*answer.json()["paths"]] == ["/api/things", "/api/things/{id}"]


def test_server_of_the_document_is_the_root_behind_a_proxy():
    app = app_with()
    app.wsgi_app = ProxyFix(app.wsgi_app, x_prefix=1)
    headers = {"X-Forwarded-Prefix": "/shop"}

    with running(app) as url:
        answer = requests.get(f"{url}/openapi.json", headers=headers, timeout=10)

    assert answer.json()["servers"] == [{"url": "/shop"}]


def test_other_paths_are_settings():
    settings = {**ON, "document": "/v1/api.json", "page": "/reference"}
    client = app_with(settings).test_client()

    paths = ["/v1/api.json", "/reference", "/openapi.json", "/docs"]
    assert [client.get(path).status_code for path in paths] == [200, 200, 404, 404]


def test_document_is_sent_only_if_it_has_changed():
    client = app_with().test_client()
    first = client.get("/openapi.json")
    again = client.get(
        "/openapi.json", headers={"If-None-Match": first.headers["ETag"]}
    )

    assert (again.status_code, again.data) == (304, b"")
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["Vary"] == "Authorization"


def test_later_services_are_in_the_document():
    app = app_with()
    app.extensions["records"].add("later", Things(), public=True)

    assert "/later" in app.test_client().get("/openapi.json").json["paths"]


@pytest.fixture
def made(monkeypatch):
    """The documents that are made."""
    calls = []
    has_second = threading.Event()

    def count(*arguments, **options):
        calls.append(options)

        # Gives another thread the time to make one too.
        if len(calls) > 1:
            has_second.set()

        has_second.wait(0.2)
        return document(*arguments, **options)

    monkeypatch.setattr(reference, "document", count)
    return calls


def test_threads_make_a_document_once(made):
    app = app_with()
    get = app.test_client().get
    threads = [threading.Thread(target=get, args=["/openapi.json"]) for _ in range(8)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    assert len(made) == 1


def test_users_with_the_same_rights_share_a_document(made):
    with serving(make_records(), RECORDS_OPENAPI=ON) as client:
        ben = {"email": "ben@example.com", "password": "correct horse"}
        client.post("/users", json=ben)
        login = {"strategy": "local", **ben}
        token = client.post("/authentication", json=login).json["accessToken"]

        for each in (log_in(client), token):
            client.get("/openapi.json?for=me", headers=bearer(each))

    assert len(made) == 1


def test_documents_of_many_rights_are_not_all_kept(made, monkeypatch):
    monkeypatch.setattr(reference, "MAX_DOCUMENTS", 2)
    client = app_with().test_client()

    for root in ("", "/a", "/b", "/b"):
        client.get("/openapi.json", environ_overrides={"SCRIPT_NAME": root})

    assert len(made) == 3
