"""Applications with real time in servers that hold no connections."""

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.realtime import Realtime

from ...realtime import make_live_records, Plain, serving


@pytest.fixture
def http():
    records = make_live_records(public=True)

    with serving(records, realtime=Realtime(records)) as http:
        yield http


@pytest.mark.parametrize("path", ["/socket.io/", "/socket.io"])
def test_client_that_connects_is_told_what_serves_it(http, caplog, path):
    answers = [http.get(f"{path}?EIO=4&transport=polling") for _ in range(3)]

    assert answers[0].status_code == 400
    assert answers[0].json["className"] == "bad-request"
    assert "gunicorn -k asgi" in answers[0].json["message"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Real time needs an ASGI server" in caplog.text


@pytest.fixture
def app():
    app = Flask("tests")
    app.config["RECORDS_REALTIME"] = {"stream": "sse"}
    return app


def test_client_of_the_stream_is_told_what_serves_it(app):
    records = FlaskRecords(url_prefix="/api")
    records.init_app(app)
    Realtime(records, app)

    answer = app.test_client().get("/api/sse")

    assert answer.status_code == 400
    assert "gunicorn -k asgi" in answer.json["message"]


def test_stream_and_service_of_one_path_are_refused(app):
    records = FlaskRecords()
    records.add("sse", Plain(), public=True)
    records.init_app(app)

    with pytest.raises(RuntimeError, match="'records:sse.many' and .* the same URL"):
        Realtime(records, app)


def test_stream_behind_a_placeholder_is_refused(app):
    records = FlaskRecords(url_prefix="/<tenant>")
    records.init_app(app)

    with pytest.raises(RuntimeError, match="prefix of services without placeholders"):
        Realtime(records, app)


def test_other_requests_are_answered(http, caplog):
    created = http.post("/messages", json={"text": "Hi"})

    assert created.status_code == 201
    assert http.get("/messages").json == [created.json]
    assert http.get("/socket.iox").status_code == 404
    assert caplog.record_tuples == []


@pytest.mark.parametrize("use", [Realtime.asgi, Realtime.test_client, Realtime.metrics])
def test_application_without_real_time_is_told_to_set_it_up(app, use):
    records = FlaskRecords(app)

    with pytest.raises(RuntimeError, match=r"realtime\.init_app\(app\)"):
        use(Realtime(records), app)
