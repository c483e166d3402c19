"""``$contains`` and ``$overlap``: lists of JSON on all databases, and arrays."""

import enum
import json
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import mapped_column

from flask_records import SQLAlchemyService
from flask_records.openapi import document

from ...databases import serving_models
from ...models import model_of

LISTS = [
    ["red", "green"],
    ["red", 5, True],
    [5.0, "5", "true", "Gr\u00fcn", 'a"b', "100%"],
    [["red"], {"red": 1}],
    [1, None, False, 1.5],
    [],
    "red",
    {"red": "red"},
    5,
    None,
]
"""The documents of the records 1 to 10."""


class Color(enum.Enum):
    red = 1
    green = 2


def client_for(column_type, url, rows):
    columns = {"tags": column_type, "text": sa.String(20)}
    model = model_of(**{name: mapped_column(columns[name]) for name in columns})
    operators = ["$contains", "$overlap", "$not"]
    service = SQLAlchemyService(model, multi=True, whitelist=operators)

    with serving_models(url, {"things": service}) as client:
        body = [{"tags": row} for row in rows]
        assert client.post("/things", json=body).status_code == 201
        yield client


@pytest.fixture
def client(database_url):
    yield from client_for(sa.JSON(), database_url, LISTS)


@pytest.fixture
def arrays(server_urls):
    if "postgresql" not in server_urls:
        pytest.skip("Only PostgreSQL has arrays.")

    type_ = postgresql.ARRAY(sa.Enum(Color, name="list_color"))
    rows = [["red"], ["green", "red"], [], None, [None, "green"]]
    yield from client_for(type_, server_urls["postgresql"], rows)


def ids(client, query):
    found = client.get(f"/things?{query}&$sort[id]=1")
    assert found.status_code == 200, found.text
    return [each["id"] for each in found.json]


def query_of(operator, *items, before=""):
    return "&".join(
        f"tags{before}[{operator}][]={quote(each, safe='')}" for each in items
    )


@pytest.mark.parametrize(
    ("items", "containing", "overlapping"),
    [
        (["red"], [1, 2], [1, 2]),
        (["red", "green"], [1], [1, 2]),
        (["5"], [2, 3], [2, 3]),
        (['"5"'], [3], [3]),
        (["5.0", "red"], [2], [1, 2, 3]),
        (["true"], [2], [2]),
        (['"true"'], [3], [3]),
        (["false"], [5], [5]),
        (["1"], [5], [5]),
        (["1.5"], [5], [5]),
        (["0"], [], []),
        (["Gr\u00fcn"], [3], [3]),
        (["gr\u00fcn"], [], []),
        (['a"b', "100%"], [3], [3]),
        (["Red"], [], []),
    ],
)
def test_lists_of_json(client, items, containing, overlapping):
    assert ids(client, query_of("$contains", *items)) == containing
    assert ids(client, query_of("$overlap", *items)) == overlapping
    negated = query_of("$contains", *items, before="[$not]")
    assert ids(client, negated) == [n for n in range(1, 11) if n not in containing]


def test_one_item_needs_no_list(client):
    assert ids(client, "tags[$contains]=green") == [1]
    assert ids(client, "$or[0][tags][$contains]=green&$or[1][id]=3") == [1, 3]


def test_lists_of_other_programs_may_have_no_escapes(client):
    text = json.dumps(["Gr\u00fcn"], ensure_ascii=False)
    app = client.application

    with app.app_context():
        db = app.extensions["sqlalchemy"]
        statement = sa.text("UPDATE thing SET tags = :text WHERE id = 6")
        db.session.execute(statement, {"text": text})
        db.session.commit()

    assert ids(client, query_of("$contains", "Gr\u00fcn")) == [3, 6]


@pytest.mark.parametrize("text", ["null", "[1]", '{"a": 1}', "NaN", "1e999"])
def test_items_are_texts_numbers_or_booleans(client, text):
    refused = client.get(f"/things?tags[$contains]={quote(text)}")

    assert refused.status_code == 400
    assert refused.json["errors"] == {"tags": "is not text, a number, true or false"}


@pytest.mark.parametrize("name", ["id", "text"])
def test_fields_without_lists_are_refused(client, name):
    refused = client.get(f"/things?{name}[$contains]=1")

    assert refused.status_code == 400
    assert refused.json["errors"] == {name: "has no lists that are compared"}


def test_arrays(arrays):
    assert ids(arrays, query_of("$contains", "red")) == [1, 2]
    assert ids(arrays, query_of("$contains", "red", "green")) == [2]
    assert ids(arrays, query_of("$overlap", "red", "green")) == [1, 2, 5]
    assert ids(arrays, query_of("$contains", "red", before="[$not]")) == [3, 4, 5]


@pytest.mark.parametrize("text", ["blue", "null"])
def test_items_of_arrays_have_their_type(arrays, text):
    refused = arrays.get(f"/things?tags[$overlap][]={text}")

    assert (refused.status_code, [*refused.json["errors"]]) == (400, ["tags"])


def test_documents_tell_the_items(client):
    with client.application.app_context():
        operation = document()["paths"]["/things"]["get"]

    schemas = {each.get("name"): each.get("schema") for each in operation["parameters"]}
    item = {"type": ["string", "number", "boolean"]}
    assert schemas["tags[$contains]"] == {"type": "array", "items": item}
    assert "text[$contains]" not in schemas
    # They are compared in no other way.
    assert "tags" not in schemas and "tags[$ne]" not in schemas


@pytest.mark.parametrize(
    "text",
    ["9" * 30, '"\\u0000"', '"\\ud800"', "1e300", "-0.0", '"' + "x" * 5000 + '"'],
)
def test_odd_items_are_in_no_list(client, text):
    found = client.get(f"/things?tags[$overlap]={quote(text)}")

    assert found.status_code in (200, 400), found.text
    assert found.status_code == 400 or found.json == []


def test_an_array_may_be_json_on_other_databases(database_url):
    type_ = sa.ARRAY(sa.String(20)).with_variant(sa.JSON(), "sqlite", "mariadb")

    for client in client_for(type_, database_url, [["red"], ["green", "red"], []]):
        assert ids(client, query_of("$contains", "red", "green")) == [2]
        assert ids(client, query_of("$overlap", "red", "blue")) == [1, 2]


def test_lists_of_types_of_the_application_are_refused(database_url):
    class Texts(sa.TypeDecorator):
        impl = sa.JSON
        cache_ok = True

        def process_bind_param(self, value, dialect):
            return value and [each[::-1] for each in value]

        def process_result_value(self, value, dialect):
            return value and [each[::-1] for each in value]

        def load_dialect_impl(self, dialect):
            is_array = dialect.name == "postgresql"
            return sa.ARRAY(sa.Text()) if is_array else sa.JSON()

    for client in client_for(Texts(), database_url, [["red"]]):
        assert client.get("/things").json[0]["tags"] == ["red"]
        assert client.get("/things?tags[$contains]=red").status_code == 400
