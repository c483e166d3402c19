"""Services of records with one value, of each type of columns."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from jsonschema import Draft202012Validator
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords, Params, SQLAlchemyService

from ...databases import serving_models
from ...models import model_of
from ...zones import go_far_east
from .column_types import TYPES
from .kinds import Kind
from .sockets import over_socket

NULLS = (None, "", "null")
"""The values that are null, but for text and documents."""


def names_its_field(answer):
    """Return whether a refusal names the field, unless the database does not."""
    is_misfit = answer.json["message"] == "A value does not fit its column."
    return is_misfit or [*answer.json["errors"]] == ["value"]


@dataclass
class Column:
    """A service on one database whose records have a value of one type."""

    name: str
    kind: Kind
    database: str
    app: Any
    client: Any
    service: Any

    def store(self, value):
        """Store a value twice, and return what is answered for it: a record for each,
        or none if the value is refused.
        """
        selected = self.post(value, "?$select=id")
        whole = self.post(value)
        assert selected.status_code == whole.status_code, (value, whole.json)

        if whole.status_code == 400:
            assert names_its_field(whole), (value, whole.json)
            return []

        assert whole.status_code == 201, (value, whole.json)
        first = self.client.get(f"/values/{selected.json['id']}")
        assert first.status_code == 200, (value, first.json)
        assert first.json["value"] == whole.json["value"], value
        return [first.json, whole.json]

    def post(self, value, path=""):
        # Python's own text of a number has all its digits.
        body = json.dumps({"value": value})
        return self.client.post(f"/values{path}", data=body, content_type=JSON)

    def ids(self, query_string):
        """Return the identifiers of the records that a query string finds."""
        response = self.client.get(f"/values?{query_string}")
        assert response.status_code == 200, (query_string, response.json)
        return [record["id"] for record in response.json]

    def query(self, operator, value):
        """Return the query string that compares the value of a record."""
        is_text = isinstance(value, str) and not self.kind.is_document
        return f"value[{operator}]={quote(value if is_text else json.dumps(value))}"

    def find(self, query):
        """Return the records that a call in Python finds."""
        with self.app.app_context():
            return self.service.find(Params(query))

    def compared(self, operator, value):
        """Return the identifiers of the records that a call over a socket finds."""
        query = {"value": {operator: value}}
        return {record["id"] for record in over_socket(self.app, "values", query)}

    def matches(self, records, query):
        """Return what the matcher tells of each record."""
        with self.app.app_context():
            test = self.service.target.matching().test(query)
            return [test(record) for record in records]

    @cached_property
    def schema(self):
        """Checks values that are answered, by the JSON Schema of the field."""
        with self.app.app_context():
            schemas = self.service.target.schemas_for(None)

        schema = dict(schemas.record["properties"]["value"])
        checker = Draft202012Validator.FORMAT_CHECKER
        return Draft202012Validator(schema, format_checker=checker)

    def clear(self):
        """Remove all records."""
        assert self.client.delete("/values").status_code == 200

    def read(self, value):
        """Return what is equal and ordered as values of the database are."""
        return self.kind.stored(self.database, self.kind.read(value))

    def may_be_null(self, value):
        """Return whether a value that was sent may be answered as null."""
        is_own = self.kind.takes_null or self.kind.is_document
        return value is None or (not is_own and value in NULLS)


JSON = "application/json"


@contextmanager
def serving(url, name):
    """Serve records with a value of a type, on an empty database."""
    kind = TYPES[name]

    model = model_of(value=mapped_column(kind.type))
    names = ["$not", "$null", "$between"]
    service = SQLAlchemyService(model, multi=True, whitelist=names)
    records = FlaskRecords(app_errors=True)

    with serving_models(url, {"values": service}, records) as client:
        app, database = client.application, sa.make_url(url).get_backend_name()

        with app.app_context():
            sa.event.listen(client.db.engine, "checkout", go_far_east)

        yield Column(name, kind, database, app, client, records["values"])
