"""``$contains`` and ``$overlap``: arrays of PostgreSQL, and operators for JSON."""

import enum
import json
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import mapped_column

from flask_records import BadRequest, Operator, Params, SQLAlchemyService
from flask_records.openapi import document

from ...databases import serving_models
from ...models import model_of


class Color(enum.Enum):
    red = 1
    green = 2


def client_for(column_type, url, rows, **options):
    columns = {"tags": column_type, "text": sa.String(20)}
    model = model_of(**{name: mapped_column(columns[name]) for name in columns})
    operators = ["$contains", "$overlap", "$not"]
    service = SQLAlchemyService(model, multi=True, whitelist=operators, **options)

    with serving_models(url, {"things": service}) as client:
        body = [{"tags": row} for row in rows]
        assert client.post("/things", json=body).status_code == 201
        yield client


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


def test_arrays(arrays):
    assert ids(arrays, query_of("$contains", "red")) == [1, 2]
    assert ids(arrays, query_of("$contains", "red", "green")) == [2]
    assert ids(arrays, query_of("$overlap", "red", "green")) == [1, 2, 5]
    assert ids(arrays, query_of("$contains", "red", before="[$not]")) == [3, 4, 5]


def test_one_item_needs_no_list(arrays):
    assert ids(arrays, "tags[$contains]=green") == [2, 5]
    assert ids(arrays, "$or[0][tags][$contains]=green&$or[1][id]=3") == [2, 3, 5]


@pytest.mark.parametrize("text", ["blue", "null"])
def test_items_of_arrays_have_their_type(arrays, text):
    refused = arrays.get(f"/things?tags[$overlap][]={text}")

    assert (refused.status_code, [*refused.json["errors"]]) == (400, ["tags"])


def test_a_list_without_items_is_refused(arrays):
    with arrays.application.app_context():
        tags = {"tags": {"$contains": []}}
        service = arrays.records["things"]

        with pytest.raises(BadRequest, match="has no items, or null"):
            service.find(Params(tags))


def test_documents_tell_the_items_of_arrays(arrays):
    with arrays.application.app_context():
        operation = document()["paths"]["/things"]["get"]

    schemas = {each.get("name"): each.get("schema") for each in operation["parameters"]}
    assert schemas["tags[$overlap]"]["items"]["enum"] == ["red", "green"]
    assert "text[$contains]" not in schemas


ARRAY_OR_JSON = sa.ARRAY(sa.String(20)).with_variant(sa.JSON(), "sqlite", "mariadb")


@pytest.mark.parametrize("name", ["id", "text", "tags"])
@pytest.mark.parametrize("operator", ["$contains", "$overlap"])
def test_fields_without_arrays_are_refused(database_url, name, operator):
    for client in client_for(sa.JSON(), database_url, [["red"]]):
        refused = client.get(f"/things?{name}[{operator}]=1")

        assert refused.status_code == 400
        assert refused.json["errors"] == {name: "has no arrays of PostgreSQL"}


def test_an_array_that_is_json_on_other_databases_is_one_on_postgresql(database_url):
    is_array = database_url.startswith("postgresql")

    for client in client_for(ARRAY_OR_JSON, database_url, [["red"], ["green"]]):
        found = client.get("/things?tags[$contains]=red")
        assert found.status_code == (200 if is_array else 400)


CONTAINS = {
    "postgresql": lambda c, item: sa.cast(c, postgresql.JSONB).contains([item]),
    "mariadb": lambda c, item: sa.func.json_contains(c, json.dumps(item)) == 1,
}


def contains_on_sqlite(column, item):
    each = sa.func.json_each(column).table_valued("value")
    return sa.select(each.c.value).where(each.c.value == item).exists()


def test_an_operator_of_the_application_looks_into_json(database_url):
    """These are the operators of the documentation."""
    database = sa.make_url(database_url).get_backend_name()
    contains = CONTAINS.get(database, contains_on_sqlite)
    own = {"$hasTag": Operator(contains, lambda field, value: str(value))}
    rows = [["red", "green"], ["green"], [], None, ["Red"], [1]]

    for client in client_for(sa.JSON(), database_url, rows, operators=own):
        assert ids(client, "tags[$hasTag]=green") == [1, 2]
        assert ids(client, "tags[$hasTag]=red") == [1]
        assert ids(client, "tags[$not][$hasTag]=green") == [3, 4, 5, 6]
