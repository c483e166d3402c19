"""Identifiers of any characters in the address of a record."""

from __future__ import annotations

import http.client
from contextlib import closing
from urllib.parse import quote
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.http.sent_paths import sent_path
from flask_records.http.sent_paths import SLASH

from ..databases import served
from ..listening import running
from ..processes import connected
from ..processes import environment
from ..processes import started
from .sent_paths_app import create_app
from .sent_paths_app import Echo

IDS = [
    "a/b",
    "/",
    "//",
    "/a",
    "a/",
    "a//b",
    "../admin",
    "..",
    ".",
    "a b+c",
    "100%",
    "%2F",
    "a%2Fb/c",
    "a?b#c",
    "é/ü 🙂",
    "a\\b",
    "a/posts",
    ";x=1/y",
    '"/\n',
]


@pytest.fixture
def app():
    return create_app()


@pytest.mark.parametrize("id", IDS)
def test_record_of_any_identifier_is_found(database_url, id):
    class Base(DeclarativeBase):
        pass

    class Page(Base):
        __tablename__ = "page"

        id: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
        text: Mapped[str | None] = mapped_column(sa.String(50))

    records = FlaskRecords()
    records.add("pages", SQLAlchemyService(Page), public=True)
    path = f"/pages/{quote(id, safe='')}"

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        client = app.test_client()
        client.post("/pages", json={"id": id})

        assert client.get(path).json == {"id": id, "text": None}
        assert client.patch(path, json={"text": "a"}).json == {"id": id, "text": "a"}
        assert client.put(path, json={"text": "b"}).json == {"id": id, "text": "b"}
        assert client.delete(path).json == {"id": id, "text": "b"}
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path", ["/pages/%00", "/pages/a%2F%00", "/pages/%FF", "/pages/%FF%2F", "/pages/%"]
)
def test_odd_bytes_name_no_record(database_url, path):
    class Base(DeclarativeBase):
        pass

    class Page(Base):
        __tablename__ = "page"

        id: Mapped[str] = mapped_column(sa.String(50), primary_key=True)

    records = FlaskRecords()
    records.add("pages", SQLAlchemyService(Page), public=True)

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        assert app.test_client().get(path).status_code == 404


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/users/a%2fb", {"id": "a/b", "route": {}}),
        ("/users/a%252Fb", {"id": "a%2Fb", "route": {}}),
        ("/users/..%2Fadmin", {"id": "../admin", "route": {}}),
        # The view of this address is for '/users/1/avatar'.
        ("/users/1%2Favatar", {"id": "1/avatar", "route": {}}),
        ("/users/1%2Fposts", {"id": "1/posts", "route": {}}),
        ("/users/1%2Fposts/", {"id": "1/posts", "route": {}}),
        ("/users/a%2Fb/posts", [{"route": {"user_id": "a/b"}}]),
        ("/users/a%2Fb/posts/c%2Fd", {"id": "c/d", "route": {"user_id": "a/b"}}),
        ("/users/a%2Fb?name=c%2Fd", {"id": "a/b", "route": {}}),
    ],
)
def test_encoded_slash_is_a_character(app, path, answer):
    # The query of the last is of no interest.
    response = app.test_client().get(path)

    assert response.json == answer


def test_encoded_slash_does_not_lead_to_a_service(app):
    client = app.test_client()

    assert client.get("/users%2F1").status_code == 404
    assert client.get("/users/1/posts%2F2").status_code == 404
    assert client.get("/users/a/b").status_code == 404


def test_routes_of_the_application_are_as_before(app):
    client = app.test_client()

    assert client.get("/users/1/avatar").text == "avatar of 1"
    assert client.get("/files/a%2Fb").text == "file a/b"
    assert client.get("/files/users%2F1").text == "file users/1"
    assert client.get("/notes/a%2Fb").status_code == 404
    assert client.get("/..%2Fadmin").status_code == 404


def test_middleware_of_a_service_runs(app):
    records = FlaskRecords()
    seen = []
    records.add(
        "notes", Echo(), public=True, before_request=[lambda: seen.append("before")]
    )
    app = Flask("other")
    records.init_app(app)

    app.test_client().get("/notes/a%2Fb")

    assert seen == ["before"]


def test_prefix_of_the_application_is_left_out(app):
    app.wsgi_app = DispatcherMiddleware(Flask("none"), {"/api/v1": app.wsgi_app})

    answer = app.test_client().get("/api/v1/users/a%2Fb")

    assert answer.json == {"id": "a/b", "route": {}}


@pytest.mark.parametrize(
    ("uri", "prefix", "path", "sent"),
    [
        ("/a%2Fb", "", "/a/b", f"/a{SLASH}b"),
        ("/a%2Fb?c=%2F", "", "/a/b", f"/a{SLASH}b"),
        ("http://localhost/a%2Fb", "", "/a/b", f"/a{SLASH}b"),
        # The prefix is in both, or a proxy has removed it.
        ("/api/a%2Fb", "/api", "/a/b", f"/a{SLASH}b"),
        ("/a%2Fb", "/api", "/a/b", f"/a{SLASH}b"),
        ("/%E9%2Fb", "", "/\xe9/b", f"/\ufffd{SLASH}b"),
        # Middleware has changed the path, or the server does not tell.
        ("/old%2Fb", "", "/new/b", None),
        ("/a?b=%2F", "", "/a", None),
        ("/a%20b", "", "/a b", None),
        ("", "", "/a/b", None),
    ],
)
def test_path_as_it_was_sent(uri, prefix, path, sent):
    environ = {"SCRIPT_NAME": prefix, "PATH_INFO": path, "REQUEST_URI": uri}

    assert sent_path(environ) == sent


def test_development_server_tells_what_was_sent(app):
    with running(app) as url:
        with closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:
            connection.request("GET", "/users/..%2Fadmin%2f%25?a=%2F")

            assert b'"../admin/%"' in connection.getresponse().read()


def test_gunicorn_tells_what_was_sent(tmp_path):
    arguments = ["tests.servers.sent_paths_app:create_app()"]

    with started(arguments, environment("sqlite://", tmp_path)) as server:
        with closing(connected(server.host)) as connection:
            connection.request("GET", "/users/..%2Fadmin%2f%25?a=%2F")

            assert b'"../admin/%"' in connection.getresponse().read()
