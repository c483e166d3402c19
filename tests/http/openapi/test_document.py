"""The OpenAPI document of an application with everything, as generators read it."""

import dataclasses
import json
import re
from collections import Counter

import pytest
from openapi_spec_validator import validate

from flask_records import BadRequest
from flask_records.openapi import document
from flask_records.openapi.typescript import typescript

from ...authentication import API_KEY, CHEAP, make_records, SECRET, serving
from ...everything_app import app, records

VERBS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def made():
    with app.app_context():
        return document()


@pytest.fixture(scope="module")
def operations(made):
    return {
        operation["operationId"]: operation
        for path in made["paths"].values()
        for verb, operation in path.items()
        if verb in VERBS
    }


def parameters_of(operation):
    return {each["name"]: each for each in operation["parameters"]}


def body_of(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def nulls_in(schema):
    """The places of null in a schema, but for texts."""
    if isinstance(schema, dict):
        return [*nulls_in([*schema.values()])]

    if isinstance(schema, list):
        return [null for each in schema for null in nulls_in(each)]

    return [schema] if schema in (None, "null") else []


def test_document_is_valid_and_has_all_that_it_refers_to(made):
    validate(made)
    names = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made))

    assert {*names} <= made["components"]["schemas"].keys()


def test_operations_are_the_methods_of_the_services(made):
    assert (made["openapi"], made["info"]["title"]) == ("3.1.0", "everything")
    verbs = {
        path: [verb for verb in item if verb in VERBS]
        for path, item in made["paths"].items()
    }
    assert verbs["/users"] == ["get", "post"]
    assert verbs["/users/{id}"] == ["get", "put", "patch", "delete"]
    assert verbs["/tags"] == ["get", "post", "patch", "delete"]
    assert verbs["/rooms/{roomId}/messages"] == ["get"]
    assert verbs["/forecasts"] == ["get", "post"]


def test_parameters_are_those_of_the_fields_and_options(made, operations):
    names = parameters_of(operations["findUsers"])
    email = {"type": "string", "maxLength": 254}

    assert names["email"]["schema"] == names["email[$gt]"]["schema"] == email
    assert names["email[$in]"]["schema"] == {"type": "array", "items": email}
    direction = {"$ref": "#/components/schemas/Direction"}
    assert names["$sort[email]"]["schema"] == direction
    assert made["components"]["schemas"]["Direction"] == {
        "type": "integer",
        "enum": [1, -1],
        "x-enum-varnames": ["ascending", "descending"],
    }
    assert names["$limit"]["schema"]["default"] == 10
    # A list of queries has no place in a document.
    assert not {"email[$like]", "$or", "password"} & names.keys()
    assert "$populate" not in parameters_of(operations["findRooms"])
    populate = parameters_of(operations["getPeople"])["$populate"]["schema"]
    paths = ["messages", *[f"messages.{name}" for name in ("user", "room", "tags")]]
    assert populate["items"]["enum"] == paths


def test_bodies_have_what_a_client_sends(made, operations):
    schemas = made["components"]["schemas"]
    body, change = schemas["UsersCreate"], schemas["UsersPatch"]

    assert body["required"] == ["email", "password"]
    assert body["properties"]["password"]["writeOnly"]
    assert not {"id", "isVerified"} & body["properties"].keys()
    # Tools take a property with a default for one that is always there.
    assert "default" not in schemas["MessagesCreate"]["properties"]["points"]
    assert "required" not in change
    kinds = [f"#/components/schemas/TagsCreate{end}" for end in ("", "List")]
    assert body_of(operations["createTags"])["anyOf"] == [{"$ref": n} for n in kinds]


def test_answers_are_records_or_pages(made, operations):
    schemas = made["components"]["schemas"]
    answer = operations["findUsers"]["responses"]["200"]["content"]

    page = {"$ref": "#/components/schemas/UsersPage"}
    assert answer == {"application/json": {"schema": page}}
    record = {"$ref": "#/components/schemas/Users"}
    assert schemas["UsersPage"]["properties"]["data"]["items"] == record
    assert schemas["Users"]["description"] == "A person who writes messages."
    assert "password" not in schemas["Users"]["properties"]
    assert schemas["Seats"]["required"] == ["id"]


def test_errors_are_those_of_the_method(operations):
    assert {*operations["getUsers"]["responses"]} == {
        *("200", "400", "401", "403", "404", "500", "503", "default")
    }
    assert "409" in operations["createUsers"]["responses"]


def test_custom_methods_are_named_by_their_header(operations):
    move = operations["moveForecasts"]
    (header,) = move["parameters"]

    assert (header["schema"]["enum"], header["required"]) == (["move", "ping"], True)
    assert "content" not in move["responses"]["204"]


def test_texts_are_those_of_the_application(made, operations):
    texts = {each["name"]: each.get("description") for each in made["tags"]}

    assert texts["users"] == "A person who writes messages."
    assert texts["forecasts"] == "Forecasts, and moves of messages."
    assert operations["moveForecasts"]["description"] == "Move a message."
    assert operations["createAuthentication"]["summary"] == "Log in"
    assert operations["removeAuthenticationMany"]["summary"] == "Log out"
    text = made["components"]["schemas"]["Messages"]["properties"]["text"]
    assert text["description"] == "In a few words."


def test_strategies_are_schemes(made, operations):
    schemes = made["components"]["securitySchemes"]
    key = {"type": "apiKey", "in": "header", "name": "X-Api-Key"}

    assert operations["findMessages"]["security"] == [{"token": []}, {"api-key": []}]
    assert operations["createUsers"]["security"] == []
    assert schemes == {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The accessToken of the answer to POST /authentication.",
        },
        "api-key": {"description": "The strategy 'api-key'.", **key},
    }


def test_strategy_describes_what_it_takes():
    text = {"type": "string"}
    key = {"properties": {"key": text}, "required": ["key"]}
    strategies = {"api-key": dataclasses.replace(API_KEY, schema=key)}
    settings = {"secret": SECRET, "passwords": CHEAP}
    settings["strategies"] = ["local", "api-key"]

    with serving(make_records(strategies=strategies), settings) as client:
        with client.application.app_context():
            schemas, types = document()["components"]["schemas"], typescript()

    assert schemas["AuthenticationCreate"]["anyOf"] == [
        {"$ref": f"#/components/schemas/AuthenticationCreate{name}"}
        for name in ("Local", "ApiKey")
    ]
    assert schemas["AuthenticationCreateApiKey"] == {
        "type": "object",
        "properties": {"strategy": {**text, "const": "api-key"}, "key": text},
        "required": ["strategy", "key"],
    }
    assert (
        "export type AuthenticationData = "
        '{ strategy: "local"; email: string; password: string } | '
        '{ strategy: "api-key"; key: string }\n'
    ) in types


def test_stream_of_events_is_a_path(made, operations):
    stream = operations["streamEvents"]

    assert made["paths"]["/sse"] == {"get": stream}
    assert [*stream["responses"]["200"]["content"]] == ["text/event-stream"]
    assert stream["security"][:2] == [{}, {"token": []}]
    assert {"name": "sse"} in made["tags"]


def test_names_of_parameters_differ_in_letters(operations):
    for operation in operations.values():
        names = [each["name"] for each in operation.get("parameters", ())]
        # Generators drop what is no letter.
        counts = Counter(re.sub(r"[^a-z[\]]", "", name.lower()) for name in names)
        assert {1}.issuperset(counts.values()), names

    names = parameters_of(operations["findMessages"])
    assert {"roomId", "room.name", "user.email", "tags.id"} <= names.keys()
    assert "$sort[room.name]" in names
    assert "points[$ne]" in names
    # A method of Java can't have more parameters than 255.
    assert "points[$eq]" not in names
    assert len(names) < 255
    assert not {"room.id", "user.id", "$sort[room.id]"} & names.keys()
    names = parameters_of(operations["findRooms"])
    assert {"limit[$in]", "$limit"} <= names.keys()
    names = parameters_of(operations["patchTagsMany"])
    assert "body[$in]" in names and "body" not in names


def test_parameters_are_never_null(operations):
    for operation in operations.values():
        for each in operation.get("parameters", ()):
            assert nulls_in(each["schema"]) == [], (operation["operationId"], each)

    names = parameters_of(operations["findMessages"])
    kinds = {"type": "string", "enum": ["bug", "idea"]}
    assert names["kind"]["schema"] == kinds
    assert names["kind[$in]"]["schema"] == {"type": "array", "items": kinds}


def test_parameters_that_a_query_needs_are_required(operations):
    names = parameters_of(operations["findSummaries"])

    assert names["first"]["required"] is True
    assert "required" not in names["last"]
    assert names["last"]["schema"] == {"type": "string", "format": "date"}


@pytest.mark.parametrize("name", ["patchMessagesMany", "removeMessagesMany"])
def test_writes_of_many_have_no_parameters_of_groups(operations, name):
    names = parameters_of(operations[name])
    grouped = re.compile(r"\$(group|count|sum|avg|min|max)")

    assert "$sort[kind]" in names
    assert not [each for each in names if grouped.search(each)]
    assert "$sort[$count.kind]" in parameters_of(operations["findMessages"])


def test_records_have_the_relationships_that_a_query_can_ask_for(made):
    schemas = made["components"]["schemas"]
    record = schemas["Messages"]
    room, tag = ({"$ref": f"#/components/schemas/{name}"} for name in ("Rooms", "Tags"))

    assert record["properties"]["room"] == {"anyOf": [room, {"type": "null"}]}
    assert record["properties"]["tags"] == {"type": "array", "items": tag}
    assert record["required"] == ["id"]
    assert "room" not in schemas["MessagesUpdate"]["properties"]
    ids = {"type": "array", "items": {"description": "The identifier of a record."}}
    assert schemas["MessagesUpdate"]["properties"]["tags"] == ids
    user = schemas["Authentication"]["properties"]["user"]
    assert user == {"$ref": "#/components/schemas/Users"}


def test_values_of_expressions_and_sums_have_no_bounds(made):
    schemas = made["components"]["schemas"]
    properties = schemas["Messages"]["properties"]

    assert properties["text"]["maxLength"] == 40
    assert properties["heading"] == {"type": ["string", "null"], "readOnly": True}
    whole = {"type": ["integer", "null"], "format": "int64"}
    assert properties["double"] == {**whole, "readOnly": True}
    sums = schemas["MessagesGroups"]["properties"]["$sum"]["properties"]
    assert sums["points"] == whole


def test_periods_are_texts_without_a_format(made):
    groups = made["components"]["schemas"]["MessagesGroups"]["properties"]
    period = {"type": "string", "description": "A period, or a time."}

    assert groups["createdAt"] == period
    assert groups["due"] == {**period, "type": ["string", "null"]}
    assert groups["$max"]["properties"]["due"]["format"] == "date"


def test_integers_of_64_bits_have_a_format(made, operations):
    properties = made["components"]["schemas"]["MessagesPatch"]["properties"]
    parameters = {
        each["name"]: each["schema"]
        for each in operations["findMessages"]["parameters"]
    }

    assert properties["size"]["format"] == "int64"
    assert parameters["size[$gt]"]["format"] == "int64"
    assert "format" not in properties["points"]


def test_null_in_results_is_null(made, operations):
    groups = made["components"]["schemas"]["RoomsMessagesGroups"]["properties"]
    assert groups["kind"]["enum"] == ["bug", "idea", None]

    answer = operations["moveForecasts"]["responses"]["200"]
    moved = answer["content"]["application/json"]["schema"]["anyOf"][0]
    assert moved["properties"]["place"]["anyOf"][1] == {"type": "null"}


def test_result_of_a_class_has_all_fields_and_no_defaults(made):
    schema = made["components"]["schemas"]["Summaries"]

    assert schema["required"] == ["first", "number", "by_level", "best"]
    # Go and Java would not compile with the default of a date.
    assert "default" not in json.dumps(schema)
    # No class checks what get returns.
    assert made["components"]["schemas"]["Forecasts"]["required"] == ["city"]


def test_bodies_with_files_are_forms(made, operations):
    schemas = made["components"]["schemas"]

    for name, verb in (("createPhotos", "Create"), ("patchPhotos", "Patch")):
        schema = {"$ref": f"#/components/schemas/Photos{verb}"}
        content = operations[name]["requestBody"]["content"]
        # Generators that find JSON beside it send no file.
        assert content == {"multipart/form-data": {"schema": schema}}

    file = schemas["PhotosCreate"]["properties"]["file"]
    assert (file["type"], file["format"]) == ("string", "binary")


def test_body_has_the_identifier_that_its_class_needs(made):
    schemas = made["components"]["schemas"]
    assert schemas["PagesUpdate"]["required"] == ["slug", "text"]
    assert "slug" not in schemas["PagesPatch"]["properties"]

    with app.app_context():
        user = records["users"].create(
            {"email": "ann@example.com", "password": "x" * 9}
        )

    pages = records.client(app, user=user).service("pages")
    pages.create({"slug": "intro", "text": "Hello"})
    changed = pages.update("intro", {"slug": "intro", "text": "Hi"})
    assert (changed["slug"], changed["text"]) == ("intro", "Hi")

    with pytest.raises(BadRequest, match="'slug' is required"):
        pages.update("intro", {"text": "Hi"})


def test_data_without_a_schema_is_anything(operations):
    body = operations["createEchoes"]["requestBody"]["content"]
    custom = operations["moveForecasts"]["requestBody"]["content"]

    assert body == custom == {"application/json": {"schema": {}}}
