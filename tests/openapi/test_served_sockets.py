"""The AsyncAPI document over HTTP."""

from __future__ import annotations

import pytest
import requests
from flask import Flask

from flask_records import FlaskRecords
from flask_records.openapi.asyncapi import asyncapi
from flask_records.realtime import Realtime
from flask_records.service.schemas import Schemas

from ..authentication import bearer
from ..authentication import log_in
from ..authentication import make_records
from ..authentication import serving
from ..conftest import running
from ..test_routes import placed
from ..test_routes import Things
from .test_served import ON


def app_with(place, target=None, settings=ON):
    """An application with one public service, and real time."""
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = settings
    records = FlaskRecords()
    records.add("things", target or Things(), public=True)
    place(records, app)
    Realtime(records).init_app(app)
    return app


def in_place(records, app):
    records.init_app(app)


def test_document_is_that_of_the_command():
    app = app_with(in_place)

    with running(app) as url:
        answer = requests.get(f"{url}/asyncapi.json", timeout=10)
        tag = {"If-None-Match": answer.headers["ETag"]}
        again = requests.get(f"{url}/asyncapi.json", headers=tag, timeout=10)

    with app.app_context():
        assert answer.json() == asyncapi()

    assert (again.status_code, again.text) == (304, "")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_application_without_real_time_answers_as_for_any_url():
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = ON
    app.register_error_handler(404, lambda error: ("own 404", 404))
    FlaskRecords(app).add("things", Things(), public=True)

    assert app.test_client().get("/openapi.json").status_code == 200
    assert app.test_client().get("/asyncapi.json").text == "own 404"


def test_rule_of_the_application_finds_no_document_without_real_time():
    app = Flask("tests")
    app.config["RECORDS_OPENAPI"] = ON
    FlaskRecords(app).add("things", Things(), public=True)
    app.add_url_rule("/sockets.json", endpoint="records_openapi.asyncapi")

    assert app.test_client().get("/sockets.json").status_code == 404


@pytest.mark.parametrize(
    ("settings", "status"),
    [(None, 404), ({"enabled": False}, 404), ({**ON, "login": True}, 401)],
)
def test_document_is_for_those_who_get_the_other(settings, status):
    records = make_records()

    with serving(records, RECORDS_OPENAPI=settings) as client:
        Realtime(records).init_app(client.application)
        paths = ["/asyncapi.json", "/asyncapi.json?for=me"]
        answers = [client.get(path).status_code for path in paths]

        if status == 401:
            login = bearer(log_in(client))
            assert client.get("/asyncapi.json", headers=login).status_code == 200

    assert answers == [status, status]


@placed
def test_document_is_below_the_prefix_of_services(place):
    with running(app_with(place)) as url:
        answer = requests.get(f"{url}/api/asyncapi.json", timeout=10)

    assert "findThings" in answer.json()["operations"]


def test_other_path_is_a_setting():
    app = app_with(in_place, settings={**ON, "asyncapi": "/sockets.json"})

    for path, status in (("/sockets.json", 200), ("/asyncapi.json", 404)):
        assert app.test_client().get(path).status_code == status


def test_path_of_the_server_begins_with_that_of_the_application():
    root = {"SCRIPT_NAME": "/shop"}
    client = app_with(in_place).test_client()

    made = client.get("/asyncapi.json", environ_overrides=root).json

    assert made["servers"]["socketio"]["pathname"] == "/shop/socket.io/"


def test_schemas_are_those_of_calls_over_sockets():
    class Sized(Things):
        def schemas_for(self, params):
            return Schemas(record={"title": params.provider})

    client = app_with(in_place, Sized()).test_client()

    for query in ("", "?for=me"):
        made = client.get(f"/asyncapi.json{query}").json
        assert made["components"]["schemas"]["Things"] == {"title": "socketio"}
