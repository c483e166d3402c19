import pytest
from flask import abort, Flask, redirect
from werkzeug.exceptions import HTTPException

import flask_records
from flask_records import FlaskRecords, NotFound, RecordsError


@pytest.mark.parametrize(
    ("class_", "name", "code", "class_name"),
    [
        ("BadRequest", "BadRequest", 400, "bad-request"),
        ("NotAuthenticated", "NotAuthenticated", 401, "not-authenticated"),
        ("PaymentError", "PaymentError", 402, "payment-error"),
        ("Forbidden", "Forbidden", 403, "forbidden"),
        ("NotFound", "NotFound", 404, "not-found"),
        ("MethodNotAllowed", "MethodNotAllowed", 405, "method-not-allowed"),
        ("NotAcceptable", "NotAcceptable", 406, "not-acceptable"),
        ("Timeout", "Timeout", 408, "timeout"),
        ("Conflict", "Conflict", 409, "conflict"),
        ("Gone", "Gone", 410, "gone"),
        ("LengthRequired", "LengthRequired", 411, "length-required"),
        ("Unprocessable", "Unprocessable", 422, "unprocessable"),
        ("TooManyRequests", "TooManyRequests", 429, "too-many-requests"),
        ("GeneralError", "GeneralError", 500, "general-error"),
        ("NotImplementedError_", "NotImplemented", 501, "not-implemented"),
        ("BadGateway", "BadGateway", 502, "bad-gateway"),
        ("Unavailable", "Unavailable", 503, "unavailable"),
    ],
)
def test_body_of_each_class(class_, name, code, class_name):
    error = getattr(flask_records, class_)("Too bad.")

    body = error.to_dict()

    assert body == {
        "name": name,
        "message": "Too bad.",
        "code": code,
        "className": class_name,
        "errors": {},
    }


def test_message_is_error_unless_given():
    assert NotFound().to_dict()["message"] == "Error"


@pytest.mark.parametrize("error", RecordsError.__subclasses__())
def test_no_class_derives_from_werkzeugs_class_of_a_status(error):
    """The error pages of the host application stay its own."""
    foreign = [base for base in error.__mro__ if "werkzeug" in base.__module__]

    assert foreign == [HTTPException]


@pytest.mark.parametrize(
    ("status", "name", "class_name"),
    [
        (404, "NotFound", "not-found"),
        (413, "RequestEntityTooLarge", "request-entity-too-large"),
        (415, "UnsupportedMediaType", "unsupported-media-type"),
        (418, "ImATeapot", "im-a-teapot"),
        (422, "Unprocessable", "unprocessable"),
        (503, "Unavailable", "unavailable"),
    ],
)
def test_abort_in_a_hook_keeps_its_code(client, messages, status, name, class_name):
    @messages.before("find")
    def refuse(method, context):
        abort(status, "Not like this.")

    response = client.get("/messages")

    assert response.status_code == status
    assert response.json == {
        "name": name,
        "message": "Not like this.",
        "code": status,
        "className": class_name,
        "errors": {},
    }


def test_headers_of_an_error_are_sent(client, messages):
    @messages.before("find")
    def refuse(method, context):
        error = flask_records.TooManyRequests("Slow down.")
        error.headers["Retry-After"] = "7"
        raise error

    response = client.get("/messages")

    assert response.status_code == 429
    assert response.headers["Retry-After"] == "7"


def test_redirect_in_a_hook_passes_through(client, messages):
    @messages.before("find")
    def move(method, context):
        abort(redirect("/rooms"))

    response = client.get("/messages")

    assert (response.status_code, response.location) == (302, "/rooms")


def test_response_in_a_hook_undoes_what_was_written(client, messages):
    @messages.after("create")
    def move(method, context):
        abort(redirect("/rooms"))

    client.post("/messages", json={"text": "hi"})

    assert client.get("/messages").json["total"] == 0


def test_record_not_found_in_a_view_of_the_host_is_answered_in_ours(app, messages):
    @app.route("/latest")
    def latest():
        return messages.get(7)["text"]

    response = app.test_client().get("/latest")

    assert response.status_code == 404
    assert response.json["message"] == "No record found for id '7'"


@pytest.mark.parametrize("first", ["host", "extension"])
def test_error_handler_of_the_host_comes_before_that_of_app_errors(first):
    app = Flask("tests")

    def register():
        app.register_error_handler(HTTPException, lambda error: ("Our page", 404))

    if first == "host":
        register()

    FlaskRecords(app, app_errors=True)

    if first == "extension":
        register()

    assert app.test_client().get("/unknown").text == "Our page"
