"""The OpenAPI document over HTTP: where it is, and who gets it."""

import gzip

import pytest
from flask import Flask
from openapi_spec_validator import validate
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import FlaskRecords
from flask_records.openapi import document, Schemas

from ...authentication import bearer, log_in, make_records, serving

ON = {"enabled": True}


class Things:
    def find(self, params):
        return []

    def get(self, id, params):
        return {"id": id}


def app_with(settings=ON, debug=False, config=(), **options):
    """An application with one public service."""
    app = Flask("tests")
    app.debug = debug
    app.config.update(config, RECORDS_OPENAPI=settings)
    records = FlaskRecords(**options)
    records.add("things", Things(), public=True)
    records.init_app(app)
    return app


def test_document_is_that_of_the_command():
    app = app_with()
    answer = app.test_client().get("/openapi.json")

    with app.app_context():
        made = document()

    validate(answer.json)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json == {**made, "servers": [{"url": "/"}]}


@pytest.mark.parametrize(
    ("settings", "debug", "status"),
    [
        (None, True, 200),
        (None, False, 404),
        ({"allow": lambda user: True, "enabled": False}, False, 404),
    ],
)
def test_document_is_on_in_debug_mode_or_by_its_setting(settings, debug, status):
    client = app_with(settings, debug).test_client()

    assert client.get("/openapi.json").status_code == status
    assert client.get("/docs").status_code == status


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (True, "^RECORDS_OPENAPI must be a mapping such as {'enabled': True}"),
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


def test_document_is_below_the_prefix_of_services_and_of_a_proxy():
    app = app_with(url_prefix="/api")
    app.wsgi_app = ProxyFix(app.wsgi_app, x_prefix=1)
    headers = {"X-Forwarded-Prefix": "/shop"}

    made = app.test_client().get("/api/openapi.json", headers=headers).json

    assert [*made["paths"]] == ["/api/things", "/api/things/{id}"]
    assert made["servers"] == [{"url": "/shop"}]


def test_other_paths_are_settings():
    settings = {**ON, "document": "/v1/api.json", "page": "/reference"}
    client = app_with(settings).test_client()

    paths = ["/v1/api.json", "/reference", "/openapi.json", "/docs"]
    assert [client.get(path).status_code for path in paths] == [200, 200, 404, 404]


def test_login_is_needed_if_it_is_asked():
    with serving(make_records(), RECORDS_OPENAPI={**ON, "login": True}) as client:
        refused = [client.get(f"/openapi.json{each}") for each in ("", "?for=me")]
        page = client.get("/docs")
        answer = client.get("/openapi.json", headers=bearer(log_in(client)))

    assert {each.json["name"] for each in refused} == {"NotAuthenticated"}
    # The page has nothing of the services.
    assert page.status_code == 200
    assert "secrets" not in page.text
    # The document is the same for all who may see it.
    assert "/secrets" in answer.json["paths"]


def test_files_are_compressed_for_clients_that_take_it():
    client, path = app_with().test_client(), "/flask_records/openapi/1/reference.js"
    small = client.get(path, headers={"Accept-Encoding": "gzip"}, buffered=True)

    assert gzip.decompress(small.data) == client.get(path, buffered=True).data
    assert small.headers["Content-Encoding"] == "gzip"
    assert small.headers["ETag"].startswith("W/")


def test_service_whose_description_fails_is_left_out(caplog):
    class Broken(Things):
        fails = True

        def schemas_for(self, params):
            if self.fails:
                raise ValueError("oops")

            return Schemas()

    app, records, broken = Flask("tests"), FlaskRecords(), Broken()
    app.config["RECORDS_OPENAPI"] = ON
    records.add("broken", broken, public=True)
    records.add("things", Things(), public=True)
    records.init_app(app)
    client = app.test_client()

    made = client.get("/openapi.json").json
    validate(made)
    own = client.get("/openapi.json?for=me").json
    broken.fails = False
    whole = client.get("/openapi.json").json

    assert [*made["paths"]] == ["/things", "/things/{id}"]
    assert made["info"]["description"].endswith(
        "(see the log of the application): broken."
    )
    assert own["info"] == made["info"]
    assert "'broken' can't be described." in caplog.text
    assert "oops" not in str(made)
    assert "/broken" in whole["paths"]
    assert "description" not in whole["info"]
