"""Values of all types make the round trip, and others are refused."""

import json
import time
from urllib.parse import quote

import pytest

from ...databases import serving_models
from ...models import Everything

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
FIELDS = [name for name in Everything.__mapper__.columns.keys() if name != "id"]
NULLS = dict.fromkeys(FIELDS)

VALUES = [
    ("big", 2**63 - 1, 2**63 - 1),
    ("text", 'Zoë\'s "50%_" \\ 🎉\n\t', 'Zoë\'s "50%_" \\ 🎉\n\t'),
    ("text", 5, "5"),
    ("short", "ÄÖÜäöüß€🎉é", "ÄÖÜäöüß€🎉é"),
    ("boolean", "false", False),
    ("real", "-.5E-1", -0.05),
    ("price", "1e3", "1000.00"),
    ("naive", "2024-03-01T01:30:15+13:00", "2024-02-29T12:30:15.000Z"),
    ("naive", "2024-02-29", "2024-02-29T00:00:00.000Z"),
    ("naive", "1709209815000", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-29T12:30:15Z", "2024-02-29T12:30:15.000Z"),
    ("aware", "2024-02-28T23:30:15-13:00", "2024-02-29T12:30:15.000Z"),
    ("span", 90061, 90061.0),
    ("unique_id", UUID.upper().replace("-", ""), UUID),
    ("color", "red", "red"),
    ("blob", "AP8Qgw==", "AP8Qgw=="),
    ("document", {"b": [1, {"c": None}], "a": "ë"}, {"b": [1, {"c": None}], "a": "ë"}),
    ("document", [2**63, 2**64 + 1], [2**63, 2**64 + 1]),
]
"""Fields, what is sent for them, and what is read: what is not among the values of
tests/http/differential.
"""

WRONG = [
    (
        "integer",
        "is not a whole number",
        ["x", "1.5", "1e3", "0x1", "true", " 5", "+5"],
    ),
    ("integer", "is out of range", ["2147483648", "-2147483649"]),
    ("small", "is out of range", ["32768", "-32769"]),
    ("big", "is out of range", ["9223372036854775808"]),
    ("boolean", "is neither true nor false", ["maybe", "2", " true"]),
    ("real", "is not a number", ["x", "nan", "inf", " 1.5", ".", "1_000"]),
    ("real", "is not a finite number", ["1e999"]),
    ("price", "is not a number", ["x", "NaN", "1,5", "1.5\n", "."]),
    ("price", "is out of range", ["1e999999"]),
    (
        "naive",
        "is not an ISO 8601 time",
        ["soon", "2024-13-01", "2024-02-30T00:00:00Z"],
    ),
    ("naive", "is out of range", ["0001-01-01T00:00:00+01:00"]),
    ("day", "is not an ISO 8601 date", ["2024-02-30", "soon"]),
    ("clock", "is not an ISO 8601 time of day without a zone", ["25:00", "noon"]),
    ("span", "is not a number of seconds", ["long", " 1", "1e300"]),
    ("unique_id", "is not a UUID", ["1234", f"{UUID}0"]),
    ("color", "is not one of red, green", ["blue", "RED", "1"]),
    ("word", "is not one of yes, no", ["maybe", "YES"]),
    ("blob", "is not base64", ["!", "abc", "A P8="]),
]
"""Fields, a problem of each, and texts in a query and in a body that have it."""

DEEP = json.loads("[" * 101 + "]" * 101)

WRONG_BODIES = [
    ("integer", "is not a whole number", [1.5, True, [1]]),
    ("text", "is not text", [{}, ["a"]]),
    ("text", "is not valid Unicode text", ["\ud800"]),
    ("short", "has more than 10 characters", ["0123456789x"]),
    ("boolean", "is neither true nor false", [[], 2]),
    ("real", "is not a number", [True, [1]]),
    ("price", "has more than 2 decimal places", ["1.234"]),
    ("price", "is out of range", ["100000000", "-1e8"]),
    ("naive", "is not an ISO 8601 time", [True, 1e300]),
    ("color", "is not one of red, green", [1, ["red"]]),
    ("document", "has a NUL character", ["\0", {"a": ["\0"]}]),
    ("document", "is not valid Unicode text", [["\ud800"]]),
    ("document", "nests deeper than 100 levels", [DEEP]),
]
"""Fields, a problem of each, and values in a body that have it."""


@pytest.fixture(scope="module")
def client():
    """A client of SQLite. tests/http/differential stores values on each database."""
    with serving_models("sqlite://", {"all": Everything}) as client:
        yield client


@pytest.fixture
def in_tokyo():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield

    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(("field", "sent", "read"), VALUES)
def test_a_value_makes_the_round_trip(client, field, sent, read):
    created = client.post("/all", json={field: sent})
    record = {"id": created.json["id"]} | NULLS | {field: read}

    assert (created.status_code, created.json) == (201, record)
    assert client.get(f"/all/{record['id']}").json == record
    assert client.patch(f"/all/{record['id']}", json={field: read}).json == record

    if field != "document":
        query = f"{equals(field, read)}&id={record['id']}"
        assert client.get(f"/all?{query}").json == [record]


def equals(field, value):
    return f"{field}={quote(value if isinstance(value, str) else json.dumps(value))}"


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_number_that_is_too_large_is_refused_by_its_field(client, number):
    body = "{" + ", ".join(f'"{field}": {number}' for field in FIELDS) + "}"

    response = client.post("/all", data=body, content_type="application/json")

    assert (response.status_code, sorted(response.json["errors"])) == (
        400,
        sorted(FIELDS),
    )


@pytest.mark.parametrize(("field", "problem", "values"), WRONG)
def test_a_wrong_text_is_refused_with_the_name_of_its_field(
    client, field, problem, values
):
    for value in values:
        queried = client.get(f"/all?{field}[$ne]={quote(value)}")
        written = client.post("/all", json={field: value})

        for answer in (queried, written):
            assert (answer.status_code, answer.json["errors"]) == (
                400,
                {field: problem},
            )
            assert f"'{field}'" in answer.json["message"]


@pytest.mark.parametrize(("field", "problem", "values"), WRONG_BODIES)
def test_a_wrong_value_is_refused_with_the_name_of_its_field(
    client, field, problem, values
):
    for value in values:
        answer = client.post("/all", json={field: value})

        assert (answer.status_code, answer.json["errors"]) == (400, {field: problem})


@pytest.mark.parametrize("field", sorted({*FIELDS} - {"text", "short", "blob"}))
@pytest.mark.parametrize("value", ["", "null"])
def test_texts_are_null_where_there_is_no_text(client, field, value):
    # A document may be any text.
    body = {field: value} if field != "document" else {field: None}
    created = client.post("/all", json=body).json

    assert created[field] is None
    assert client.get(f"/all?{field}={value}&id={created['id']}").json == [created]


@pytest.mark.parametrize(
    "query", ["$sort[document]=1", "document[$gt]=1", "document=1", "document[]=1"]
)
def test_documents_are_neither_sorted_nor_compared(client, query):
    response = client.get(f"/all?{query}")

    assert (response.status_code, [*response.json["errors"]]) == (400, ["document"])


def test_a_uuid_names_a_record(client):
    created = client.post("/all", json={"id": UUID, "integer": 1})

    assert created.json["id"] == UUID
    assert client.get(f"/all/{UUID.upper()}").json == created.json
    assert client.get(f"/all/{UUID.replace('-', '')}").json == created.json
    assert client.get("/all/1").json["message"] == "No record found for id '1'"


def test_records_with_equal_values_are_in_the_order_of_their_ids(client):
    ids = [f"{digit}{UUID[1:]}" for digit in "312"]

    for id in ids:
        client.post("/all", json={"id": id, "text": "tie"})

    up, down = (client.get(f"/all?text=tie&$sort[text]={way}").json for way in (1, -1))

    assert [each["id"] for each in up] == sorted(ids)
    assert [each["id"] for each in down] == sorted(ids, reverse=True)
