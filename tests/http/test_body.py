import gzip
import io

import pytest
from flask import Flask, request, Response
from werkzeug.test import EnvironBuilder

from flask_records import BadRequest, FlaskRecords
from flask_records.http.body import JSON_AS_FORM

METHODS = ["create", "update", "patch"]
MEBIBYTE = 1024 * 1024


class Echo:
    """Answers the data."""

    def create(self, data, params):
        return data

    def update(self, id, data, params):
        return data

    def patch(self, id, data, params):
        return data

    def run(self, data, params):
        return data


class Strict:
    """Refuses the data by name."""

    def create(self, data, params):
        raise BadRequest(f"{sorted(data)} are not fields.", errors=data)


@pytest.fixture
def app():
    records = FlaskRecords(app_errors=True)
    records.add("echo", Echo(), public=True, methods=[*METHODS, "run"])
    records.add("strict", Strict(), public=True)
    app = Flask("tests")
    records.init_app(app)
    return app


def post(client, body, content_type="application/json", path="/echo"):
    return client.post(path, data=body, content_type=content_type)


@pytest.mark.parametrize("charset", ["latin-1", "nonsense"])
def test_other_charsets_are_refused(client, charset):
    response = post(client, b'{"a":1}', f"application/json; charset={charset}")

    message = f"Unsupported charset '{charset}'. Send UTF-8."
    assert (response.status_code, response.json) == (400, BadRequest(message).to_dict())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"{'a': 1}", "Expecting property name"),
        (b'{"a": 1} x', "Extra data"),
        (b'{"a": 1}{"a": 2}', "Extra data"),
        (b" ", "Expecting value"),
        (b'{"a": "\xff"}', "it is compressed, not UTF-8, or"),
        (b'{"a": NaN}', "NaN is not a JSON value"),
        (b"[Infinity]", "Infinity is not a JSON value"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON value"),
        (b"[" * 100_000, "it is compressed, not UTF-8, or has"),
        (b'{"a":' * 100_000, "it is compressed, not UTF-8, or has"),
        (b"[" * 100_000 + b"]" * 100_000, "it is compressed, not UTF-8, or has"),
    ],
)
def test_malformed_json_is_refused(client, body, reason):
    response = post(client, body)

    message = response.json["message"]
    assert response.status_code == 400
    assert message.startswith(f"The body is not valid JSON: {reason}")
    assert response.json == BadRequest(message).to_dict()


@pytest.mark.parametrize("body", ["null", "5", '"text"'])
@pytest.mark.parametrize(
    ("verb", "path", "method"),
    [
        ("POST", "/echo", "create"),
        ("PUT", "/echo/1", "update"),
        ("PATCH", "/echo/1", "patch"),
    ],
)
def test_json_that_is_neither_object_nor_array_is_refused(
    client, verb, path, method, body
):
    response = client.open(
        path, method=verb, data=body, content_type="application/json"
    )

    message = f"First parameter for '{method}' must be an object"
    assert (response.status_code, response.json) == (400, BadRequest(message).to_dict())


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (None, None),
        (b"", "application/json"),
        (b"", "application/x-www-form-urlencoded"),
        (b'{"a":1}', None),
        (b'{"a":1}', "text/plain"),
        (b'{"a":1}', "application/jsonlines"),
        (b"<a/>", "application/xml"),
        (b"--x--", "multipart/form-data; boundary=x"),
        (b'{"a":1}', "nonsense"),
    ],
)
def test_no_body_of_a_known_type_is_no_data(client, body, content_type):
    response = client.post("/echo", data=body, content_type=content_type)

    assert response.status_code == 400
    assert response.json == BadRequest("No data provided").to_dict()


@pytest.mark.parametrize(
    ("levels", "status"), [(99, 201), (101, 400), (500, 400), (900, 400)]
)
def test_json_that_could_not_be_answered_is_refused(client, levels, status):
    response = post(client, b'{"a":' + b"[" * levels + b"]" * levels + b"}")

    assert response.status_code == status

    if status == 400:
        message = "The data nests deeper than 100 levels."
        assert response.json == BadRequest(message).to_dict()


def test_json_that_is_sent_as_a_form_is_refused(client):
    body = '{"text": "a=b&c"}'

    response = post(client, body, "application/x-www-form-urlencoded")

    assert response.status_code == 400
    assert response.json["message"] == JSON_AS_FORM


@pytest.mark.parametrize("is_read_before", [False, True])
@pytest.mark.parametrize("body", [b"a=\xff", gzip.compress(b"a=1", mtime=0)])
def test_form_that_is_not_utf_8_is_refused(app, body, is_read_before):
    if is_read_before:
        app.before_request(lambda: None if request.form else None)

    response = post(app.test_client(), body, "application/x-www-form-urlencoded")

    assert response.status_code == 400
    assert "not compressed, and UTF-8." in response.json["message"]


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, -(2**64), 2**70, 10**100])
def test_integers_of_any_size_are_exact(client, number):
    response = post(client, b'{"a":%d}' % number)

    assert response.data.replace(b" ", b"") == b'{"a":%d}' % number


def test_integer_that_python_refuses_is_refused(client):
    assert post(client, b"[" + b"1" * 5000 + b"]").status_code == 400


@pytest.mark.parametrize("path", ["/echo", "/strict"])
def test_half_of_a_surrogate_pair_does_no_harm(client, path):
    """JSON can escape what no encoding of Unicode can hold."""
    response = post(client, rb'{"\ud800": "\udfff"}', path=path)

    assert response.status_code < 500


CHUNKED = {
    "wsgi.input_terminated": True,
    "HTTP_TRANSFER_ENCODING": "chunked",
    "CONTENT_LENGTH": "",
}
"""The environment of a body whose length the client does not state."""

BODIES = {
    "application/json": (b'{"a":"', b'"}'),
    "application/x-www-form-urlencoded": (b"a=", b""),
}
"""The start and the end of a body by media type."""


@pytest.mark.parametrize(
    ("limit", "size", "status"),
    [
        (None, MEBIBYTE + 1, 413),
        (100, 100, 201),
        (100, 101, 413),
        (2 * MEBIBYTE, 2 * MEBIBYTE + 1, 413),
    ],
)
@pytest.mark.parametrize(
    ("content_type", "environ"),
    [
        ("application/json", {}),
        ("application/json", CHUNKED),
        ("application/x-www-form-urlencoded", {}),
    ],
)
def test_size_of_a_body_is_limited(
    app, client, limit, size, status, environ, content_type
):
    app.config["MAX_CONTENT_LENGTH"] = limit
    start, end = BODIES[content_type]
    body = start + b"x" * (size - len(start) - len(end)) + end

    response = client.post(
        "/echo", data=body, content_type=content_type, environ_overrides=environ
    )

    assert response.status_code == status


@pytest.mark.parametrize("content_type", BODIES)
@pytest.mark.parametrize("body", [b'{"a":1}', b""])
def test_body_that_is_shorter_than_announced_is_refused(client, content_type, body):
    """Servers that end the stream themselves do not tell that a client broke off."""
    environ = {"wsgi.input_terminated": True, "CONTENT_LENGTH": "20"}

    response = client.post(
        "/echo", data=body, content_type=content_type, environ_overrides=environ
    )

    assert (
        response.json
        == BadRequest("The body could not be read. Send the request again.").to_dict()
    )
    assert response.headers["Connection"] == "close"


FRAMED = {"wsgi.input_terminated": True, "SERVER_PROTOCOL": "HTTP/2"}
"""The environment of a request over HTTP/2, which may have no length."""


def send_without_length(client, body, content_type, environ):
    """The answer to a request that has no ``Content-Length``."""
    builder = EnvironBuilder(
        "/echo", method="POST", input_stream=io.BytesIO(body), content_type=content_type
    )
    sent = {**builder.get_environ(), **environ}
    del sent["CONTENT_LENGTH"]
    return Response.from_app(client.application, sent)


@pytest.mark.parametrize("environ", [CHUNKED, FRAMED])
@pytest.mark.parametrize(
    ("body", "content_type", "status", "message"),
    [
        (b'{"a":1}', "application/json", 201, None),
        (b"", "application/json", 400, "No data provided"),
        (
            b"a=1",
            "application/x-www-form-urlencoded",
            411,
            "A body of this type needs a Content-Length.",
        ),
    ],
)
def test_body_of_unknown_length_shows_its_end(
    client, environ, body, content_type, status, message
):
    """Some servers end the body where the connection breaks."""
    response = send_without_length(client, body, content_type, environ)

    assert (response.status_code, response.json.get("message")) == (status, message)


@pytest.mark.parametrize(
    ("body", "is_passed_on", "status"),
    [(b'{"a":1}', True, 200), (b"", True, 200), (b'{"a":1}', False, 411)],
)
def test_custom_method_is_not_called_without_a_body_that_a_server_drops(
    client, body, is_passed_on, status
):
    environ = {**CHUNKED, "HTTP_X_SERVICE_METHOD": "run"}

    if not is_passed_on:
        del environ["wsgi.input_terminated"]

    response = send_without_length(client, body, "application/json", environ)

    assert response.status_code == status
    assert status == 411 or response.data.strip() == (body or b"{}")
