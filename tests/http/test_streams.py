"""Bodies that methods of objects read themselves."""

from __future__ import annotations

import io

import pytest
from flask import Flask, Response
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.test import EnvironBuilder

from flask_records import BODY_PARSERS, FlaskRecords, SQLAlchemyService, StreamParser

from .test_body import CHUNKED

LIMIT = 100_000


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)


class Imports:
    def create(self, data, params):
        if isinstance(data, dict):
            return {"json": data}

        lines = sum(1 for line in data)
        return {"lines": lines, "type": params.headers["Content-Type"]}


@pytest.fixture
def records():
    records = FlaskRecords()
    parsers = {**BODY_PARSERS, "text/*": StreamParser(LIMIT)}
    records.add("imports", Imports(), public=True, body_parsers=parsers)
    records.before("create")(lambda method, context: None)
    return records


@pytest.fixture
def app(records):
    app = Flask("tests")
    records.init_app(app)
    return app


def send(client, body, environ=None):
    """The answer to a request with a table."""
    builder = EnvironBuilder(
        "/imports",
        method="POST",
        input_stream=io.BytesIO(body),
        content_type="text/csv",
    )
    length = {"CONTENT_LENGTH": str(len(body))}
    sent = {**builder.get_environ(), **(length if environ is None else environ)}
    return Response.from_app(client.application, sent)


@pytest.mark.parametrize("environ", [None, CHUNKED])
def test_body_of_a_range_is_read_by_the_method(client, environ):
    response = send(client, b"a\nb\n", environ)

    assert response.status_code == 201
    assert response.json == {"lines": 2, "type": "text/csv"}


def test_json_stays_data(client):
    assert client.post("/imports", json={"a": 1}).json == {"json": {"a": 1}}


def test_type_outside_of_the_range_is_refused(client):
    response = client.post("/imports", data=b"x", content_type="image/png")

    assert (response.status_code, response.json["message"]) == (400, "No data provided")


@pytest.mark.parametrize("environ", [None, CHUNKED])
@pytest.mark.parametrize(("size", "status"), [(LIMIT, 201), (LIMIT + 1, 413)])
def test_size_is_bounded(client, environ, size, status):
    assert send(client, b"x" * size, environ).status_code == status


@pytest.mark.parametrize("environ", [{}, {"wsgi.input_terminated": True}])
def test_body_that_is_cut_off_is_an_error_of_the_client(client, environ):
    response = send(client, b"a\n", {"CONTENT_LENGTH": "10", **environ})

    assert response.status_code == 400
    assert "Send the request again" in response.json["message"]


def test_body_that_the_server_does_not_pass_on_needs_a_length(client):
    """Some servers call applications with an empty body in place of one in chunks."""
    response = send(client, b"a\n", {"HTTP_TRANSFER_ENCODING": "chunked"})

    assert response.status_code == 411
    assert response.json["message"] == "A body of this type needs a Content-Length."


def test_model_takes_no_streams():
    records = FlaskRecords(body_parsers={"*/*": StreamParser()})

    with pytest.raises(TypeError, match="'notes' serves a model, which takes no str"):
        records.add("notes", SQLAlchemyService(Note), public=True)
