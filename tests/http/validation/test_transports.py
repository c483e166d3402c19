"""Schemas in calls over Socket.IO and in forms."""

from __future__ import annotations

import io

import pytest
from flask import Flask
from pydantic import BaseModel
from pydantic import Field

from flask_records import FlaskRecords
from flask_records import MultipartParser

from ...realtime import make_live_records


class Photo(BaseModel):
    rank: int = Field(le=5)
    image: bytes | None = None


class Photos:
    def create(self, data, params):
        image = data.get("image")
        return {**data, "image": image and image.decode()}


PROBLEMS = {"rank": "should be less than or equal to 5", "x": "is not a field"}


class TestSockets:
    @pytest.fixture
    def records(self):
        records = make_live_records()
        schemas = {"create": Photo}
        records.add("photos", Photos(), schemas=schemas, public=True)
        return records

    def test_calls_over_sockets_are_checked(self, site):
        client = site.connect()

        error, *_ = client.call("create", "photos", {"rank": 9, "x": 1})

        assert (error["code"], error["errors"]) == (400, PROBLEMS)
        assert client.result("create", "photos", {"rank": "3"}) == {
            "rank": 3,
            "image": None,
        }


@pytest.fixture
def client():
    records = FlaskRecords()
    records.add(
        "photos",
        Photos(),
        schemas={"create": Photo},
        body_parsers={"multipart/form-data": MultipartParser()},
        public=True,
    )
    app = Flask("tests")
    records.init_app(app)
    return app.test_client()


def test_forms_with_files_are_checked(client):
    def send(**fields):
        image = (io.BytesIO(b"png"), "a.png")
        return client.post("/photos", data={**fields, "image": image}).json

    assert send(rank="2") == {"rank": 2, "image": "png"}
    assert send(rank="9", x="1")["errors"] == PROBLEMS
