from __future__ import annotations

import pytest
from flask import Flask

from flask_records import FlaskRecords


class Notes:
    def find(self, params):
        return [{"id": 1}]

    def get(self, id, params):
        return {"id": 1} if id == "1" else None

    def create(self, data, params):
        return data


@pytest.fixture
def client():
    app, records = Flask("tests"), FlaskRecords(logger=False)
    records.add("notes", Notes(), public=True)
    records.init_app(app)
    return app.test_client()


LATER = "Thu, 01 Jan 2099 00:00:00 GMT"
CONDITIONS = [
    ({}, 200),
    ({"If-None-Match": "same"}, 304),
    ({"If-None-Match": '"other", same'}, 304),
    ({"If-None-Match": "strong"}, 304),
    ({"If-None-Match": "*"}, 304),
    ({"If-None-Match": '"other"'}, 200),
    ({"If-None-Match": ""}, 200),
    ({"If-Match": "same"}, 412),
    ({"If-Match": '"other"'}, 412),
    ({"If-Modified-Since": LATER}, 200),
    ({"If-Unmodified-Since": LATER}, 200),
    ({"If-None-Match": "same", "If-Modified-Since": LATER}, 304),
    ({"Range": "bytes=0-1"}, 200),
    ({"Range": "bytes=0-1", "If-Range": "same"}, 200),
    ({"X-If-None-Match": "same"}, 200),
]
"""Headers, where "same" stands for the ETag, and the status."""


@pytest.mark.parametrize("verb", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/notes", "/notes/1"])
@pytest.mark.parametrize(("headers", "status"), CONDITIONS)
def test_an_answer_depends_on_what_the_client_knows(
    client, verb, path, headers, status
):
    plain = client.open(path, method=verb)
    etag = plain.headers["ETag"]
    values = {
        name: value.replace("same", etag).replace("strong", etag.removeprefix("W/"))
        for name, value in headers.items()
    }

    response = client.open(path, method=verb, headers=values)

    assert response.status_code == status
    assert response.headers["ETag"] == etag
    assert response.data == (b"" if status == 304 else plain.data)


def test_an_answer_without_a_condition_is_whole(client):
    response = client.get("/notes")

    assert response.data == b'[{"id":1}]'
    assert response.headers["Content-Length"] == "10"
    assert response.headers["ETag"].startswith('W/"')


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [("POST", "/notes", 201), ("GET", "/notes/2", 204), ("GET", "/notes?", 200)],
)
def test_what_has_no_etag_has_no_condition(client, verb, path, status, header):
    response = client.open(path, method=verb, json={}, headers={header: '"other"'})

    is_refused = header == "If-Match" and status == 200
    assert response.status_code == (412 if is_refused else status)
    assert ("ETag" in response.headers) == (status == 200)
