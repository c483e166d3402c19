"""Results that come piece by piece."""

from __future__ import annotations

import csv
import io
import json

import pytest
import sqlalchemy as sa
from flask import Flask, g, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    BadRequest,
    FlaskRecords,
    format_pieces,
    SQLAlchemyService,
    Transaction,
)
from flask_records.realtime import Realtime


class Base(DeclarativeBase):
    pass


class Note(Base):
    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(50))
    secret: Mapped[str | None] = mapped_column(sa.String(50))


class Words:
    """Yields words."""

    def find(self, params):
        for word in request.args.get("text", "one two").split():
            if word == "fail":
                raise BadRequest("Not this word.")

            yield {"word": word}

    async def get(self, id, params):
        async def letters():
            for letter in id:
                yield {"letter": letter}

        return letters()

    def create(self, data, params):
        return iter([data, data])


class Exports(SQLAlchemyService):
    """Yields the records of a model."""

    def find(self, params):
        for text in ("a", "b"):
            yield {"text": text, "secret": "x"}


class Copies:
    """Writes notes while it is read."""

    def find(self, params):
        notes = params.query["notes"]

        if "together" in params.query:
            with Transaction():
                yield from self.copies(notes)
        else:
            yield from self.copies(notes)

    def copies(self, notes):
        for text in notes.split(","):
            yield records_in(g.app)["notes"].create({"text": text})


def records_in(app):
    return app.extensions["records"]


@pytest.fixture
def records():
    records = FlaskRecords()
    records.add("words", Words(), public=True)
    records.add("notes", SQLAlchemyService(Note, hidden=["secret"]), public=True)
    records.add("exports", Exports(Note, hidden=["secret"]), public=True)
    records.add("copies", Copies(), public=True)
    return records


@pytest.fixture
def ends():
    """The contexts that were torn down."""
    return []


@pytest.fixture
def app(records, ends):
    app = Flask("tests")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    db = SQLAlchemy(app, model_class=Base)
    records.init_app(app)

    @app.before_request
    def note_app():
        g.app = app

    @app.teardown_appcontext
    def note_end(error):
        ends.append(g.pop("app", None))

    with app.app_context():
        db.create_all()

        for text in ("a", "b", "c"):
            db.session.add(Note(text=text, secret="x"))

        db.session.commit()

    ends.clear()
    return app


def pieces_of(response):
    return [json.loads(part[6:]) for part in response.text.split("\n\n") if part]


@pytest.mark.parametrize(
    ("verb", "url", "status", "expected"),
    [
        ("GET", "/words", 200, [{"word": "one"}, {"word": "two"}]),
        ("GET", "/words?text=+", 200, []),
        ("GET", "/words/ab", 200, [{"letter": "a"}, {"letter": "b"}]),
        ("POST", "/words", 201, [{"word": "x"}, {"word": "x"}]),
    ],
)
def test_iterator_is_sent_piece_by_piece(client, verb, url, status, expected):
    data = {"json": {"word": "x"}} if verb == "POST" else {}
    response = client.open(url, method=verb, **data)

    assert pieces_of(response) == expected
    assert response.status_code == status
    assert response.headers["Content-Type"] == "text/event-stream"
    assert "no-cache" in response.headers["Cache-Control"]
    assert "ETag" not in response.headers


@pytest.mark.parametrize("protocol", ["HTTP/1.0", "HTTP/1"])
def test_pieces_over_http_1_0_are_refused(client, protocol):
    """An answer without a length ends there as one does that breaks off."""
    environ = {"SERVER_PROTOCOL": protocol}

    response = client.get("/words", environ_overrides=environ)

    assert response.status_code == 400
    assert "Behind nginx, set 'proxy_http_version 1.1'" in response.json["message"]


def test_head_of_pieces_draws_none(client):
    response = client.head("/words?text=fail")

    assert (response.status_code, response.text) == (200, "")
    assert "Content-Length" not in response.headers


def test_error_before_the_first_piece_is_a_usual_one(client):
    response = client.get("/words?text=fail")

    assert response.status_code == 400
    assert response.json["message"] == "Not this word."


def test_context_lasts_to_the_end_and_is_torn_down_once(client, app, ends):
    response = client.get("/copies?notes=d,e", buffered=False)
    before = list(ends)
    response.close()

    assert before == []
    assert ends == [app]


def test_each_call_of_a_generator_commits_alone(client, records):
    response = client.get("/copies?notes=d,e,f", buffered=False)
    next(response.iter_encoded())
    response.close()

    assert [note["text"] for note in client.get("/notes").json] == ["a", "b", "c", "d"]


def test_transaction_around_pieces_is_undone_if_the_client_leaves(client):
    response = client.get("/copies?notes=d,e&together=1", buffered=False)
    next(response.iter_encoded())
    response.close()

    assert len(client.get("/notes").json) == 3
    assert len(pieces_of(client.get("/copies?notes=d,e&together=1"))) == 2
    assert len(client.get("/notes").json) == 5


def test_pieces_are_cut_as_records_are(client):
    assert pieces_of(client.get("/exports")) == [{"text": "a"}, {"text": "b"}]


def test_pieces_for_python_hide_their_fields_where_they_are_sent(records, app):
    class Wrapper:
        def get(self, id, params):
            return {"notes": list(records["exports"].find())}

    records = FlaskRecords()
    records.add("exports", Exports(Note, hidden=["secret"]), public=True)
    records.add("wrapper", Wrapper(), public=True)
    other = Flask("other")
    other.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    SQLAlchemy(other, model_class=Base)
    records.init_app(other)

    with other.app_context():
        own = next(records["exports"].find())

    notes = other.test_client().get("/wrapper/1").json["notes"]

    assert own["secret"] == "x"
    assert notes == [{"text": "a"}, {"text": "b"}]


def test_after_hook_may_change_each_piece(records, client):
    @records["words"].after("find")
    def shout(method, context):
        context.result = ({"word": piece["word"].upper()} for piece in context.result)

    assert pieces_of(client.get("/words")) == [{"word": "ONE"}, {"word": "TWO"}]


def test_pieces_of_a_create_send_no_event(records, client):
    told = []
    records["words"].events("created")(
        lambda event, record, context: told.append(record)
    )
    client.post("/words", json={"word": "x"}).close()

    assert told == []


def test_rule_that_asks_the_result_refuses_pieces(app):
    records = FlaskRecords()
    allow = {"create": lambda user: {"word": "x"}}
    records.add("words", Words(), public=True, allow=allow)
    app = Flask("tests")
    records.init_app(app)
    response = app.test_client().post("/words", json={"word": "x"})

    assert response.status_code in (403, 500)
    assert response.headers["Content-Type"] == "application/json"


def test_formatter_of_pieces_makes_a_file(app):
    def row(piece):
        text = io.StringIO()
        csv.writer(text).writerow(piece.values())
        return text.getvalue()

    records = FlaskRecords()
    records.add("words", Words(), public=True, formatter=format_pieces("text/csv", row))
    app = Flask("tests")
    records.init_app(app)
    client = app.test_client()

    assert client.get("/words").text == "one\r\ntwo\r\n"
    assert client.get("/words").headers["Content-Type"] == "text/csv"


def test_clients_of_tests_get_a_list_and_connections_an_error(records, app):
    realtime = Realtime(records)
    realtime.init_app(app)
    client = realtime.test_client(app)

    letters = [{"letter": "a"}, {"letter": "b"}]
    assert records.client(app).service("words").get("ab") == letters

    with pytest.raises(BadRequest, match="Call the method over HTTP"):
        client.call("get", "words", "ab")


def test_nothing_is_stored_whose_pieces_a_connection_does_not_get(records, app):
    class Keeping:
        def create(self, data, params):
            return iter([records["notes"].create(data)])

    records.add("keeping", Keeping(), public=True)
    realtime = Realtime(records)
    realtime.init_app(app)

    with pytest.raises(BadRequest, match="Call the method over HTTP"):
        realtime.test_client(app).call("create", "keeping", {"text": "d"})

    assert len(app.test_client().get("/notes").json) == 3


def test_pieces_have_no_tag_to_compare(app):
    class Endless(Words):
        def get(self, id, params):
            while True:
                yield {"id": id}

        def patch(self, id, data, params):
            return data

    records = FlaskRecords()
    records.add("endless", Endless(), public=True)
    app = Flask("tests")
    records.init_app(app)
    tag = {"If-Match": 'W/"x"'}
    response = app.test_client().patch("/endless/1", json={"a": 1}, headers=tag)

    assert response.status_code == 412
