import io

import pytest
from flask import Flask

from flask_records import AuthenticationService, FlaskRecords, NotAuthenticated

from .test_body import CHUNKED

ALL = "GET,POST,PUT,PATCH,DELETE"


class Calls:
    """Has all methods."""

    def find(self, params):
        return []

    def get(self, id, params):
        return {"id": id}

    def create(self, data, params):
        return data

    def update(self, id, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def remove(self, id, params):
        return {"id": id}


class ReadOnly:
    def find(self, params):
        return []


class Nothing:
    """Answers what has no content, or fails."""

    def get(self, id, params):
        return {"null": None}[id]

    def create(self, data, params):
        return None


class Custom(ReadOnly):
    text = "no method"

    def shout(self, data, params):
        return {"text": data.get("text", "nothing").upper()}

    def _secret(self, data, params):
        raise AssertionError


@pytest.fixture
def client():
    records = FlaskRecords(app_errors=True, logger=False)
    records.add("calls", Calls(), public=True)
    records.add("readonly", ReadOnly(), public=True)
    records.add("nothing", Nothing(), public=True)
    records.add("authentication", AuthenticationService())
    records.add("users", ReadOnly())
    records.add("private", ReadOnly())
    records.add("partly", Calls(), public=["find"])
    records.add("custom", Custom(), public=True, methods=["find", "shout"])
    records.add("closed", Custom(), public=["find"], methods=["find", "shout"])
    app = Flask("tests")
    # Nobody gets a token here.
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32, "strategies": []}
    records.init_app(app)
    return app.test_client()


@pytest.mark.parametrize(
    ("verb", "path", "status", "allow"),
    [
        ("GET", "/calls", 200, ALL),
        ("POST", "/calls/7", 405, ALL),
        ("POST", "/calls", 400, ALL),
        ("PUT", "/calls", 400, ALL),
        ("OPTIONS", "/calls/7", 204, ALL),
        ("GET", "/readonly", 200, "GET"),
        ("HEAD", "/readonly", 200, "GET"),
        ("OPTIONS", "/readonly", 204, "GET"),
        ("DELETE", "/readonly/7", 405, "GET"),
        ("GET", "/nothing/null", 204, "GET,POST"),
        ("GET", "/nothing/unknown", 500, "GET,POST"),
        ("GET", "/private", 401, "GET"),
    ],
)
def test_every_answer_of_a_service_allows_its_verbs(client, verb, path, status, allow):
    response = client.open(path, method=verb)

    assert response.status_code == status
    assert response.headers.get("Allow") == allow


def test_options_needs_no_token_and_has_no_content(client):
    response = client.options("/private/7")

    assert (response.status_code, response.data) == (204, b"")
    assert "Content-Type" not in response.headers


def test_created_record_has_no_location(client):
    assert "Location" not in client.post("/calls", json={}).headers


@pytest.mark.parametrize("accept", ["text/html", "nonsense"])
def test_success_is_json_whatever_is_accepted(client, accept):
    response = client.post("/calls", json={"a": 1}, headers={"Accept": accept})

    assert response.status_code == 201
    assert response.mimetype == "application/json"


@pytest.fixture
def seen(client):
    """The params of the calls."""
    params = []
    records = client.application.extensions["records"]
    records.before()(lambda method, context: params.append(context.params))
    return params


def test_params_of_an_http_call(client, seen):
    client.get("/calls?a=1", headers={"X-Tenant": "Acme"})

    (params,) = seen
    assert (params.provider, params.query, params.route) == ("rest", {"a": "1"}, {})
    assert params.headers["x-tenant"] == "Acme"


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method"])
def test_method_override_is_ignored(client, header):
    response = client.post("/calls", json={"a": 1}, headers={header: "DELETE"})

    assert (response.status_code, response.json) == (201, {"a": 1})


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [
        ("GET", "/private?$foo=1", None),
        ("GET", "/private?" + "&" * 2000, None),
        ("GET", "/partly/7", None),
        ("POST", "/partly", "{malformed"),
        ("POST", "/partly", None),
        ("POST", "/partly", "x" * (1024 * 1024 + 1)),
        ("PUT", "/partly", "{}"),
        ("POST", "/partly/7", "{}"),
        ("DELETE", "/private", None),
        ("PATCH", "/private/99", "{}"),
    ],
)
def test_token_is_asked_for_before_anything_is_looked_at(client, verb, path, body):
    response = client.open(path, method=verb, data=body, content_type="a/json")

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json == NotAuthenticated("Not authenticated").to_dict()


@pytest.mark.parametrize("name", ["find", "remove", "whisper", "_secret", "__init__"])
def test_header_names_no_other_method(client, name):
    response = client.post("/custom", json={}, headers={"X-Service-Method": name})

    assert (response.status_code, response.json["message"]) == (
        405,
        f"Method `{name}` is not supported by this endpoint.",
    )


def test_custom_method_that_is_not_public_needs_a_token(client):
    for name in ("shout", "whisper"):
        response = client.post("/closed", json={}, headers={"X-Service-Method": name})

        assert response.status_code == 401


# As the official clients send it with fetch, axios and superagent.
@pytest.mark.parametrize("content_type", ["application/json", None])
def test_custom_method_without_a_body_gets_an_empty_object(client, content_type):
    header = {"X-Service-Method": "shout"}
    response = client.post("/custom", headers=header, content_type=content_type)

    assert (response.status_code, response.json) == (200, {"text": "NOTHING"})


@pytest.mark.parametrize("content_type", ["text/plain", None])
@pytest.mark.parametrize("environ", [None, CHUNKED])
def test_custom_method_ignores_no_body(client, content_type, environ):
    header = {"X-Service-Method": "shout"}
    body = {"data": b"x"} if environ is None else {"input_stream": io.BytesIO(b"x")}
    response = client.post(
        "/custom",
        headers=header,
        content_type=content_type,
        environ_overrides=environ,
        **body,
    )

    assert (response.status_code, response.json["message"]) == (400, "No data provided")


def test_hooks_run_around_a_custom_method(client):
    calls = []
    custom = client.application.extensions["records"]["custom"]
    custom.before("shout")(lambda method, context: calls.append(method))
    custom.after()(lambda method, context: calls.append(context.result["text"]))

    client.post("/custom", json={"text": "a"}, headers={"X-Service-Method": "shout"})

    assert calls == ["shout", "A"]


@pytest.mark.parametrize("name", ["whisper", "_secret", "text"])
def test_custom_method_has_to_be_there(name):
    with pytest.raises(ValueError, match=f"names '{name}', which is not a method"):
        FlaskRecords().add("custom", Custom(), methods=["find", name])
