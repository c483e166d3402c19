"""Services answer errors on their URLs, and the host answers them on its own."""

import pytest
from flask import abort, Flask, request
from flask_limiter import Limiter
from flask_wtf.csrf import CSRFProtect
from werkzeug.exceptions import HTTPException

from flask_records import FlaskRecords, NotFound


class Things:
    def find(self, params):
        return abort(404, "Nothing here.") if params.query else []

    def get(self, id, params):
        raise NotFound("No record.")

    def create(self, data, params):
        return data


class Locked(HTTPException):
    """An error of the host, whose status is of another class of Werkzeug."""

    code = 423


@pytest.fixture(
    params=[400, 404, 413, 423, 429, 500, 503, HTTPException, Exception, Locked]
)
def host(request):
    """A host with a page for a status, or for many."""
    app = Flask("host")
    app.config.update(SECRET_KEY="s" * 32, WTF_CSRF_CHECK_DEFAULT=False)
    app.register_error_handler(request.param, lambda error: ("Oh no", 418))
    app.add_url_rule("/page", "page", lambda: "A page", methods=["GET", "POST"])
    app.records = FlaskRecords()
    app.records.add("things", Things(), public=True)
    app.records.init_app(app)
    return app


def check_csrf(app):
    csrf = CSRFProtect(app)
    app.before_request(lambda: csrf.protect())


def limit(app):
    options = {"default_limits": ["0/minute"], "storage_uri": "memory://"}
    Limiter(lambda: "all", **options).init_app(app)


def read_form(app):
    app.config["MAX_CONTENT_LENGTH"] = 1
    app.before_request(lambda: request.form.get("token"))


def lock(app):
    def refuse():
        raise Locked("Not now.")

    app.before_request(refuse)


def close(app):
    app.before_request(lambda: abort(503))


def spoil(app):
    app.after_request(lambda response: response.missing)


@pytest.mark.parametrize(
    ("cause", "code"),
    [
        (check_csrf, 400),
        (limit, 429),
        (read_form, 413),
        (lock, 423),
        (close, 503),
        (spoil, 500),
    ],
)
def test_errors_before_and_after_a_call_are_answers_of_its_service(host, cause, code):
    cause(host)

    answers = [host.test_client().post(f"/{n}", data="a=1") for n in ("things", "page")]

    assert answers[0].status_code == code
    assert answers[0].json.keys() >= {"name", "message", "className", "errors"}
    assert answers[0].json["code"] == code
    assert not answers[1].is_json


@pytest.mark.parametrize(
    ("path", "message"), [("/things/7", "No record."), ("/things?a=1", "Nothing here.")]
)
def test_error_of_a_call_is_an_answer_of_its_service(host, path, message):
    answer = host.test_client().get(path)

    assert (answer.status_code, answer.json["message"]) == (404, message)


def test_unknown_url_is_the_hosts(host):
    assert host.test_client().get("/unknown").status_code in (404, 418)
    assert not host.test_client().get("/unknown").is_json


def test_blueprint_of_a_service_has_the_page_of_the_host():
    app, records = Flask("host"), FlaskRecords()
    things = records.add("things", Things(), public=True)
    records.blueprint(things).register_error_handler(429, lambda error: ("Later", 429))
    records.init_app(app)
    limit(app)

    assert app.test_client().get("/things").text == "Later"
