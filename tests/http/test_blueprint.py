from __future__ import annotations

import pytest
from flask import Flask

from flask_records import AuthenticationService, FlaskRecords

ALL = "GET,POST,PUT,PATCH,DELETE"


class Calls:
    """Answers how it was called."""

    def find(self, params):
        return answer("find", params)

    def get(self, id, params):
        return answer("get", params, id)

    def create(self, data, params):
        return answer("create", params, None, data)

    def update(self, id, data, params):
        return answer("update", params, id, data)

    def patch(self, id, data, params):
        return answer("patch", params, id, data)

    def remove(self, id, params):
        return answer("remove", params, id)


def answer(method, params, id=None, data=None):
    return {"method": method, "id": id, "data": data, "query": params.query}


class ReadOnly:
    def find(self, params):
        return []


class Nothing:
    """Answers what has no content."""

    def get(self, id, params):
        return {"null": None, "false": False, "zero": 0, "empty": ""}[id]

    def create(self, data, params):
        return None


class Custom(ReadOnly):
    text = "no method"

    def shout(self, data, params):
        return {"text": data["text"].upper(), "query": params.query}

    def _secret(self, data, params):
        raise AssertionError


@pytest.fixture
def client():
    records = FlaskRecords(app_errors=True, logger=False)
    records.add("calls", Calls(), public=True)
    records.add("readonly", ReadOnly(), public=True)
    records.add("nothing", Nothing(), public=True)
    records.add("authentication", AuthenticationService())
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
    ("verb", "path", "method", "id", "status"),
    [
        ("GET", "/calls", "find", None, 200),
        ("GET", "/calls/7", "get", "7", 200),
        ("POST", "/calls", "create", None, 201),
        ("PUT", "/calls/7", "update", "7", 200),
        ("PATCH", "/calls", "patch", None, 200),
        ("PATCH", "/calls/7", "patch", "7", 200),
        ("DELETE", "/calls", "remove", None, 200),
        ("DELETE", "/calls/7", "remove", "7", 200),
    ],
)
def test_method_of_each_verb(client, verb, path, method, id, status):
    has_data = method in ("create", "update", "patch")
    data = {"text": "hi"} if has_data else None

    response = client.open(f"{path}?a[b]=1", method=verb, json=data)

    assert response.status_code == status
    assert response.json == {
        "method": method,
        "id": id,
        "data": data,
        "query": {"a": {"b": "1"}},
    }


def test_put_without_an_id_is_refused(client):
    response = client.put("/calls", json={"text": "hi"})

    assert response.status_code == 400
    assert response.json == {
        "name": "BadRequest",
        "message": "You can not replace multiple instances. Did you mean 'patch'?",
        "code": 400,
        "className": "bad-request",
        "errors": {},
    }


def test_post_on_a_record_is_not_allowed(client):
    response = client.post("/calls/7", json={"text": "hi"})

    assert response.status_code == 405
    assert response.json == {
        "name": "MethodNotAllowed",
        "message": "POST is not allowed on a record. Use /calls.",
        "code": 405,
        "className": "method-not-allowed",
        "errors": {},
    }


@pytest.mark.parametrize(
    ("verb", "path", "method"),
    [
        ("GET", "/readonly/7", "get"),
        ("POST", "/readonly", "create"),
        ("PUT", "/readonly/7", "update"),
        ("PATCH", "/readonly/7", "patch"),
        ("DELETE", "/readonly", "remove"),
    ],
)
def test_method_that_is_missing_is_not_allowed(client, verb, path, method):
    response = client.open(path, method=verb)

    assert response.status_code == 405
    message = f"Method `{method}` is not supported by this endpoint."
    assert response.json["message"] == message


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


@pytest.mark.parametrize("path", ["/calls", "/calls/7", "/private"])
def test_head_is_get_without_a_body(client, path):
    get, head = client.get(path), client.head(path)

    assert head.data == b""
    assert (head.status_code, head.headers) == (get.status_code, get.headers)


def test_etag_is_weak_and_tells_that_nothing_has_changed(client):
    first = client.get("/calls?a=1")
    etag = first.headers["ETag"]

    same = client.get("/calls?a=1", headers={"If-None-Match": etag})
    other = client.get("/calls?a=2", headers={"If-None-Match": etag})

    assert etag.startswith('W/"')
    assert (same.status_code, same.data) == (304, b"")
    assert other.status_code == 200
    assert other.headers["ETag"] != etag


def test_created_record_has_no_location(client):
    assert "Location" not in client.post("/calls", json={}).headers


@pytest.mark.parametrize("id", ["null", "false", "zero", "empty"])
def test_nothing_has_no_content(client, id):
    response = client.get(f"/nothing/{id}")

    assert (response.status_code, response.data) == (204, b"")
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/calls", "/calls/7"])
def test_trailing_slash_is_accepted(client, path, verb):
    without = client.open(path, method=verb, json={"a": 1})
    slash = client.open(f"{path}/", method=verb, json={"a": 1})

    assert (slash.status_code, slash.json) == (without.status_code, without.json)


@pytest.mark.parametrize(
    "path", ["/calls//", "/calls//7", "/calls/7//", "/Calls", "/CALLS/7", "/calls/7/8"]
)
def test_other_paths_are_not_found(client, path):
    response = client.get(path)

    assert response.status_code == 404
    assert response.json["data"] == {"url": path}


def test_id_is_decoded(client):
    assert client.get("/calls/a%20b%C3%A9?x").json["id"] == "a bé"


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

    assert response.json["method"] == "create"


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
@pytest.mark.parametrize("body", ['{"a": 1}', "{malformed"])
def test_body_of_a_call_that_takes_none_is_ignored(client, verb, body):
    response = client.open(
        "/calls", method=verb, data=body, content_type="application/json"
    )

    assert (response.status_code, response.json["data"]) == (200, None)


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
    assert response.json == {
        "name": "NotAuthenticated",
        "message": "Not authenticated",
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


def test_header_names_a_custom_method(client):
    headers = {"X-Service-Method": "shout"}

    response = client.post("/custom?x=1", json={"text": "hey"}, headers=headers)

    assert (response.status_code, response.json) == (
        200,
        {"text": "HEY", "query": {"x": "1"}},
    )


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
