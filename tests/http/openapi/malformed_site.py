"""An application with a column of each type, and a client that reads its document."""

from __future__ import annotations

import datetime as dt
import json
import typing as t
import uuid
from dataclasses import dataclass
from decimal import Decimal

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records.openapi import document

from ...databases import served
from ...models import Base
from ...models import Everything
from ...models import User

JSON = "application/json"


class Seat(Base):
    """A model with several columns in its primary key."""

    __tablename__ = "malformed_seat"

    row = mapped_column(sa.Integer, primary_key=True, autoincrement=False)
    place = mapped_column(sa.String(5), primary_key=True)


@dataclass
class Ring:
    """The data of a custom method."""

    times: int
    loud: bool
    tone: t.Literal["high", "low"]
    at: dt.datetime
    song: str
    price: Decimal
    names: list[str]
    notes: list[int]
    bell: uuid.UUID


class Bell:
    def ring(self, data, params):
        return {"rung": True}


class Site:
    """An application, its document, and a client of it."""

    def __init__(self, app):
        self.app = app
        self.client = app.test_client()

        with app.app_context():
            self.document = document()

    def body(self, name):
        return self.document["components"]["schemas"][name]

    def parameters(self, path):
        find = self.document["paths"][path]["get"]
        queried = [each for each in find["parameters"] if each["in"] == "query"]
        return {each["name"]: each["schema"] for each in queried}

    def send(self, verb, path, body):
        """The problems of a body by name, with their codes."""
        # Flask's client does not write halves of surrogate pairs.
        data = json.dumps(body)
        answer = self.client.open(path, method=verb, data=data, content_type=JSON)
        return codes_of(answer)

    def ask(self, query, path="/things"):
        """The same for a query."""
        return codes_of(self.client.get(f"{path}?{query}"))


def codes_of(answer):
    """The codes of a 400 by name, or else the answer."""
    if answer.status_code != 400:
        return answer.status_code, answer.text

    return {name: each["code"] for name, each in answer.json["errors"].items()}


def services(records, model, path):
    service = SQLAlchemyService(model, multi=True, whitelist=["$and", "$not", "$like"])
    records.add(path, service, public=True)


@pytest.fixture(scope="module")
def site(module_url):
    db, records = SQLAlchemy(model_class=Base), FlaskRecords()
    services(records, Everything, "things")
    services(records, User, "people")
    services(records, Seat, "seats")
    schemas = {"ring": Ring}
    records.add("bell", Bell(), methods=["ring"], schemas=schemas, public=True)

    with served(db, records, module_url, RECORDS_ERRORS={"codes": True}) as app:
        yield Site(app)
