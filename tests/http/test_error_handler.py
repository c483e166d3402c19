import logging
import re
from html import escape

import pymysql
import pytest
import sqlalchemy as sa
from flask import abort, Flask, got_request_exception

from flask_records import (
    BadRequest,
    FlaskRecords,
    Forbidden,
    GeneralError,
    NotAuthenticated,
    NotFound,
    Unavailable,
)

HTML = {"Accept": "text/html"}

SECRET = "password=hunter2"


@pytest.fixture
def failing():
    """Makes a client of an app whose service answers an error."""

    def make(error=None, app=None, **options):
        class Things:
            def find(self, params):
                raise error or BadRequest("Too bad.")

            def create(self, data, params):
                raise error or BadRequest("Too bad.")

        app = app or Flask("tests")
        records = FlaskRecords(app, app_errors=True, **options)
        records.add("things", Things(), public=True)
        return app.test_client()

    return make


def general_error(message="Internal server error"):
    return {
        "name": "GeneralError",
        "message": message,
        "code": 500,
        "className": "general-error",
        "errors": {},
    }


@pytest.mark.parametrize(
    ("error", "title", "hint"),
    [
        (NotAuthenticated, "Not Authorized", "Log in, and open the page again."),
        (NotFound, "Page Not Found", "It may have been moved or removed."),
        (BadRequest, "Bad Request", "Go back and try again."),
        (GeneralError, "General Error", "Go back and try again."),
    ],
)
def test_pages_have_titles_and_hints(failing, error, title, hint):
    response = failing(error("No."), logger=False).get("/things", headers=HTML)

    assert (response.status_code, response.mimetype) == (error.code, "text/html")
    assert f"<title>{title}</title>" in response.text
    assert f"<h1>{title}</h1>" in response.text
    assert hint in response.text


def link_of(response):
    found = re.search(r'<a href="([^"]*)">Go to the front page</a>', response.text)
    return found and found[1]


@pytest.mark.parametrize("prefix", ["", "/shop", "/a&b"])
def test_pages_link_to_the_front_page(failing, prefix):
    client, environ = failing(NotFound("No.")), {"SCRIPT_NAME": prefix}

    inner = client.get("/things", headers=HTML, environ_overrides=environ)
    front = client.get("/", headers=HTML, environ_overrides=environ)

    assert link_of(inner) == f"{escape(prefix)}/"
    assert link_of(front) is None


@pytest.mark.parametrize(
    ("host", "trusted"),
    [("evil.test", ["localhost"]), ("a..b", None), ("x" * 70 + ".example", None)],
)
@pytest.mark.parametrize("headers", [HTML, {"Accept": "application/json"}])
def test_host_that_is_not_valid_is_a_400_as_json(failing, host, trusted, headers):
    """A page would need addresses, which such a request does not have."""
    app = Flask("tests")
    app.config["TRUSTED_HOSTS"] = trusted

    response = failing(app=app).get("/things", headers={**headers, "Host": host})

    assert (response.status_code, response.mimetype) == (400, "application/json")


def test_page_is_made_by_a_function(failing):
    def page(error):
        return f"<p>{error.class_name}: {error.message}</p>", error.code

    client = failing(html=page)

    response = client.get("/things", headers=HTML)
    assert (response.status_code, response.text) == (
        400,
        "<p>bad-request: Too bad.</p>",
    )
    assert client.get("/things").json["message"] == "Too bad."


def test_page_is_a_file_by_status(failing, tmp_path):
    path = tmp_path / "lost.html"
    path.write_text("<p>Perdu, désolé.</p>", encoding="utf-8")
    client = failing(html={404: str(path)})

    lost = client.get("/unknown", headers=HTML)
    other = client.get("/things", headers=HTML)

    assert (lost.status_code, lost.mimetype) == (404, "text/html")
    assert lost.text == "<p>Perdu, désolé.</p>"
    assert "<title>Bad Request</title>" in other.text


def test_page_is_a_template_of_the_app(failing, tmp_path):
    folder = tmp_path / "flask_records"
    folder.mkdir()
    (folder / "404.html").write_text("<p>{{ code }}: {{ error.message }}</p>")
    app = Flask("tests", template_folder=tmp_path)

    response = failing(NotFound("No <b>."), app).get("/things", headers=HTML)

    assert (response.status_code, response.text) == (404, "<p>404: No &lt;b&gt;.</p>")


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_browsers_do_not_guess_the_type_of_an_error(failing, accept):
    response = failing().get("/unknown", headers={"Accept": accept})

    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Vary"] == "Accept"


@pytest.mark.parametrize(
    ("verbose", "url", "message"),
    [
        (False, "/unknown", "Page not found"),
        (False, "/unknown?a=1", "Page not found"),
        (True, "/unknown", "Page not found: /unknown"),
        (True, "/unknown?a=1", "Page not found: /unknown?a=1"),
    ],
)
def test_unknown_url_is_not_found(failing, verbose, url, message):
    response = failing(verbose=verbose).get(url)

    assert response.status_code == 404
    assert response.json == {
        "name": "NotFound",
        "message": message,
        "code": 404,
        "className": "not-found",
        "data": {"url": url},
        "errors": {},
    }


def test_page_is_escaped_whatever_the_host_escapes(failing, monkeypatch):
    app = Flask("tests")
    monkeypatch.setattr(app, "select_jinja_autoescape", lambda name: False)
    error = BadRequest("No <script>alert(1)</script>.")

    response = failing(error, app).get(
        "/things", headers=HTML, environ_overrides={"SCRIPT_NAME": "/a&b"}
    )

    assert "No &lt;script&gt;alert(1)&lt;/script&gt;." in response.text
    assert link_of(response) == "/a&amp;b/"


def test_errors_of_the_host_keep_their_message_and_headers(failing):
    app = Flask("tests")
    app.add_url_rule("/user", "user", lambda: abort(404, "No such user."))
    client = failing(app=app)

    missing, wrong_verb = client.get("/user"), client.post("/user")

    assert (missing.status_code, missing.json["message"]) == (404, "No such user.")
    assert wrong_verb.status_code == 405
    assert set(wrong_verb.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize("error", [ValueError(SECRET), KeyError()])
def test_error_of_the_server_tells_nothing(failing, error, accept):
    response = failing(error, logger=False).get("/things", headers={"Accept": accept})

    assert response.status_code == 500
    assert "hunter2" not in response.text
    assert "Internal server error" in response.text


def test_error_of_the_server_tells_its_message_in_debug_mode(failing):
    app = Flask("tests")
    app.debug = True

    response = failing(ValueError("No such wire."), app, logger=False).get("/things")

    assert response.json == general_error("No such wire.")


def test_error_of_a_known_class_keeps_its_message_data_and_errors(failing):
    error = GeneralError("Out of paper.", {"tray": 2}, {"paper": "is empty"})

    response = failing(error, logger=False).get("/things")

    assert response.json == {
        **general_error("Out of paper."),
        "data": {"tray": 2},
        "errors": {"paper": "is empty"},
    }


def test_error_of_the_server_is_logged_with_its_traceback(failing, caplog):
    failing(ValueError(SECRET)).get("/things?a=1")

    (entry,) = caplog.records
    assert (entry.name, entry.levelno) == ("tests", logging.ERROR)
    assert entry.message == "GET '/things' failed."
    assert (entry.exc_info[0], str(entry.exc_info[1])) == (ValueError, SECRET)
    assert "in find" in caplog.text


@pytest.mark.parametrize("is_cause", [False, True])
def test_statement_that_mariadb_repeats_is_not_logged(failing, caplog, is_cause):
    text = f"You have an error in your SQL syntax; check it near '{SECRET}' at line 1"
    error = pymysql.err.ProgrammingError(1064, text)
    failing(sa.exc.ProgrammingError("SELECT", {}, error) if is_cause else error).get(
        "/things"
    )

    assert "in your SQL syntax; check it near ..." in caplog.text
    assert SECRET not in caplog.text


def test_reason_why_the_server_is_unavailable_is_logged_once_a_second(failing, caplog):
    error = Unavailable("Busy.")
    client = failing(error)

    answers = [client.get("/things") for _ in range(5)]
    error.message = "Away."
    client.post("/things", json={})

    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["Retry-After"] for answer in answers} == {"1"}
    assert caplog.messages == [
        "GET '/things' failed. Busy.",
        "POST '/things' failed. Away.",
    ]
    assert [entry.exc_info for entry in caplog.records] == [None, None]


@pytest.mark.parametrize(
    "error", [BadRequest("No."), Forbidden("No."), NotFound("No.")]
)
def test_error_of_the_client_is_not_logged(failing, caplog, error):
    failing(error).get("/things")

    assert caplog.records == []


def test_error_of_the_server_is_told_to_the_signal_of_flask(failing):
    """Services that watch an application for errors connect to it."""
    told = []
    error = ValueError(SECRET)
    client = failing(error, logger=False)

    def remember(app, exception):
        told.append(exception)

    with got_request_exception.connected_to(remember, client.application):
        client.get("/things")
        client.get("/unknown")

    assert told == [error]


def test_errors_are_told_to_the_logger_of_the_extension(failing, caplog):
    class Logger:
        told = []

        def error(self, message, *args, **options):
            self.told.append((message % args, options["exc_info"][1]))

    error = ValueError(SECRET)

    failing(error, logger=Logger()).post("/things", json={})

    assert Logger.told == [("POST '/things' failed.", error)]
    assert caplog.records == []
