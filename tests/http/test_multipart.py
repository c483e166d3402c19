"""Forms with files."""

from __future__ import annotations

import base64

import pytest
import sqlalchemy as sa
from flask import Flask, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.datastructures import FileStorage

from flask_records import (
    BODY_PARSERS,
    FlaskRecords,
    MultipartParser,
    SQLAlchemyService,
    StreamParser,
)

from .test_body import CHUNKED

# Werkzeug leaves the files of a form that is refused to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)

TYPE = "multipart/form-data; boundary=x"
MEBIBYTE = 1024 * 1024


class Base(DeclarativeBase):
    pass


class Photo(Base):
    __tablename__ = "photo"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str | None] = mapped_column(sa.String(50))
    rank: Mapped[int | None]
    image: Mapped[bytes | None] = mapped_column(sa.LargeBinary(1000))
    notes: Mapped[dict | None] = mapped_column(sa.JSON)


class Described:
    """Answers what the data is, and how large its files are."""

    def __init__(self):
        self.files = []

    def create(self, data, params):
        return self._described(data)

    def update(self, id, data, params):
        return self._described(data)

    def patch(self, id, data, params):
        return self._described(data)

    def send(self, data, params):
        return self._described(data)

    def _described(self, value):
        if isinstance(value, dict):
            return {name: self._described(item) for name, item in value.items()}

        if isinstance(value, list):
            return [self._described(item) for item in value]

        if not isinstance(value, FileStorage):
            return value

        self.files.append(value)
        size = value.stream.seek(0, 2)
        return [value.filename, value.mimetype, size]


def create_app(described=None, max_size=None, **config):
    parsers = {**BODY_PARSERS, "multipart/form-data": MultipartParser(max_size)}
    db = SQLAlchemy(model_class=Base)
    records = FlaskRecords(body_parsers=parsers)
    records.add("photos", SQLAlchemyService(Photo), public=True)
    methods = ["create", "update", "patch", "send"]
    service = described or Described()
    records.add("described", service, public=True, methods=methods)
    app = Flask("tests")
    app.config.update(SQLALCHEMY_DATABASE_URI="sqlite://", **config)
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app


def part(name, content, filename=None, content_type=None):
    disposition = f'form-data; name="{name}"'
    disposition += "" if filename is None else f'; filename="{filename}"'
    type_line = f"Content-Type: {content_type}\r\n" if content_type else ""
    return (
        f"--x\r\nContent-Disposition: {disposition}\r\n{type_line}\r\n{content}\r\n"
    ).encode()


def form_of(*parts):
    return b"".join(parts) + b"--x--\r\n"


@pytest.fixture
def described():
    return Described()


@pytest.fixture
def client(described):
    return create_app(described).test_client()


def send(client, body, path="/described", verb="POST", **options):
    return client.open(path, method=verb, data=body, content_type=TYPE, **options)


@pytest.mark.parametrize(
    ("verb", "path", "headers"),
    [
        ("POST", "/described", {}),
        ("PUT", "/described/1", {}),
        ("PATCH", "/described/1", {}),
        ("POST", "/described", {"X-Service-Method": "send"}),
    ],
)
def test_fields_and_files_are_the_data(client, verb, path, headers):
    body = form_of(
        part("title", "é & = + %20"),
        part("photo", "12345", "cat.png", "image/png"),
        part("address[city]", "Bonn"),
        part("address[map]", "1", "map.svg", "image/svg+xml"),
        part("tags[]", "a"),
        part("tags[]", "b"),
        part("same", "1"),
        part("same", "2"),
        part("files", "1", "a.txt", "text/plain"),
        part("files", "12", "b.txt", "text/plain"),
        part("places[1][a]", "y"),
        part("places[0][a]", "x"),
        part("empty", ""),
    )

    response = send(client, body, path, verb, headers=headers)

    assert response.json == {
        "title": "é & = + %20",
        "photo": ["cat.png", "image/png", 5],
        "address": {"city": "Bonn", "map": ["map.svg", "image/svg+xml", 1]},
        "tags": ["a", "b"],
        "same": ["1", "2"],
        "files": [["a.txt", "text/plain", 1], ["b.txt", "text/plain", 2]],
        "places": [{"a": "x"}, {"a": "y"}],
        "empty": "",
    }


def test_input_without_a_file_is_left_out(client):
    body = form_of(
        part("title", "a"), part("photo", "", "", "application/octet-stream")
    )

    assert send(client, body).json == {"title": "a"}


@pytest.mark.parametrize("is_large", [True, False])
def test_files_are_closed_after_the_request(client, described, is_large):
    content = "x" * (500_000 if is_large else 5)

    assert send(client, form_of(part("a", content, "a.txt"))).status_code == 201
    assert described.files[0].stream.closed


WHOLE = form_of(part("title", "a"), part("photo", "12345", "cat.png", "image/png"))


@pytest.mark.parametrize("end", [1, 30, 60, 80, 120, len(WHOLE) - 8])
@pytest.mark.parametrize("environ", [{}, CHUNKED])
def test_form_that_is_cut_off_is_refused(client, described, end, environ):
    length = {} if environ else {"CONTENT_LENGTH": str(len(WHOLE))}

    response = send(client, WHOLE[:end], environ_overrides={**environ, **length})

    assert response.status_code == 400
    assert described.files == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (WHOLE, "multipart/form-data"),
        (WHOLE, "multipart/form-data; boundary=é"),
        (WHOLE, "multipart/form-data; boundary=y"),
        (b"title=a", TYPE),
        (b"\r\n" * 1000, TYPE),
        (b"--x\r\n\r\n1\r\n--x--\r\n", TYPE),
        (b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--\r\n", TYPE),
        (b"--x\r\nContent-Disposition: \xff\r\n\r\n1\r\n--x--\r\n", TYPE),
        (form_of(part("", "1")), TYPE),
        (form_of(part("", "1", "a.txt")), TYPE),
        (form_of(part("a" + "[b]" * 30, "1")), TYPE),
        (form_of(part("a" * 2000, "1")), TYPE),
        (WHOLE, f"{TYPE}; charset=utf-16"),
    ],
)
def test_body_that_is_no_form_is_refused(client, described, body, content_type):
    response = client.post("/described", data=body, content_type=content_type)

    assert response.status_code == 400
    assert response.json["name"] == "BadRequest"
    assert described.files == []


@pytest.mark.parametrize("environ", [{}, CHUNKED])
@pytest.mark.parametrize(
    ("options", "body", "status"),
    [
        ({}, form_of(part("a", "x" * (MEBIBYTE - 500), "a")), 201),
        ({}, form_of(part("a", "x" * MEBIBYTE, "a")), 413),
        ({"max_size": len(WHOLE)}, WHOLE, 201),
        ({"max_size": len(WHOLE) - 1}, WHOLE, 413),
        ({"MAX_CONTENT_LENGTH": 100}, WHOLE, 413),
        ({"MAX_CONTENT_LENGTH": 100, "max_size": 1000}, WHOLE, 201),
        ({"MAX_FORM_PARTS": 2}, WHOLE, 201),
        ({"MAX_FORM_PARTS": 1}, WHOLE, 413),
        ({}, form_of(part("a", "x" * 500_001)), 413),
        ({"MAX_FORM_MEMORY_SIZE": 600_000}, form_of(part("a", "x" * 500_001)), 201),
    ],
)
def test_form_is_bounded(options, body, status, environ):
    client = create_app(**options).test_client()

    assert send(client, body, environ_overrides=environ).status_code == status


@pytest.mark.parametrize("parser", [MultipartParser, StreamParser])
@pytest.mark.parametrize("size", [0, -1, "9", True])
def test_size_is_checked_at_the_start(parser, size):
    with pytest.raises(ValueError, match="'max_size' must be a positive integer"):
        parser(size)


def test_other_services_take_no_files():
    records = FlaskRecords()
    records.add("described", Described(), public=True)
    app = Flask("tests")
    records.init_app(app)

    response = send(app.test_client(), WHOLE)

    assert response.status_code == 400
    assert response.json["message"] == "No data provided"


def test_form_that_middleware_has_read_is_the_data(described):
    app = create_app(described)
    app.before_request(lambda: None if request.form else None)
    client = app.test_client()

    whole = send(client, WHOLE)
    half = send(client, WHOLE[:50])

    assert whole.json == {"title": "a", "photo": ["cat.png", "image/png", 5]}
    assert half.status_code == 400


def test_binary_column_takes_a_file(client):
    body = form_of(part("title", "Cat"), part("rank", "3"), part("image", "\1\2", "a"))

    created = send(client, body, "/photos")
    changed = send(client, form_of(part("image", "new", "b")), "/photos/1", "PATCH")

    assert created.json == {
        "id": 1,
        "title": "Cat",
        "rank": 3,
        "image": base64.b64encode(b"\1\2").decode(),
        "notes": None,
    }
    assert changed.json == created.json | {"image": base64.b64encode(b"new").decode()}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        (part("title", "1", "a"), {"title": "is not text"}),
        (part("rank", "1", "a"), {"rank": "is not a whole number"}),
        (part("notes", "1", "a"), {"notes": "is a file, or has one"}),
        (part("notes[a][b][]", "1", "a"), {"notes": "is a file, or has one"}),
        (part("nope", "1", "a"), {"nope": "is not a field"}),
        (part("image", "x" * 1001, "a"), {"image": "has more than 1000 bytes"}),
        (part("image[]", "1", "a"), {"image": "is not base64"}),
    ],
)
def test_file_for_another_column_is_refused(client, body, errors):
    response = send(client, form_of(body), "/photos")

    assert response.status_code == 400
    assert response.json["errors"] == errors
