"""Bodies that do not fit the document of an application are refused by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .malformed import malformed
from .malformed_site import codes_of
from .malformed_site import JSON
from .malformed_site import site as site

METHODS = [("POST", "Create"), ("PUT", "Update"), ("PATCH", "Patch")]


def accepted_bodies(site, verb, schema):
    """The malformed values that are not refused by the names of their fields."""
    id = site.client.post("/things", json={}).json["id"]
    path = "/things" if verb == "POST" else f"/things/{id}"
    sent = [
        (name, value, site.send(verb, path, {name: value}))
        for name, each in schema["properties"].items()
        # The checks of both verbs are those of a new record.
        for value in malformed(each)[: None if verb == "POST" else 3]
    ]
    assert sent
    return [each for each in sent if [*each[2]] != [each[0]]]


@pytest.mark.parametrize(("verb", "body"), METHODS)
def test_malformed_values_of_bodies_are_refused(site, verb, body):
    assert accepted_bodies(site, verb, site.body(f"Things{body}")) == []


RING = {
    "times": 1,
    "loud": True,
    "tone": "high",
    "at": "2026-01-02T03:04:05Z",
    "song": "a",
    "price": "1.5",
    "names": ["a"],
    "notes": [1],
    "bell": "00000000-0000-0000-0000-000000000001",
}


def ring(site, body):
    """The problems of the data of a custom method by name."""
    headers, data = {"X-Service-Method": "ring"}, json.dumps(body)
    answer = site.client.post("/bell", data=data, headers=headers, content_type=JSON)
    return codes_of(answer)


def names_of(codes):
    """The names of fields in codes, without the places of items."""
    return {str(name).partition(".")[0] for name in codes}


def is_taken_by_pydantic(value):
    """True stands for a number, and text may be no Unicode."""
    return any(each in repr(value) for each in ("True", "ud800"))


def test_malformed_values_of_custom_methods_are_refused(site):
    post = site.document["paths"]["/bell"]["post"]
    schema = post["requestBody"]["content"][JSON]["schema"]
    sent = [
        (name, value, ring(site, {**RING, name: value}))
        for name, each in schema["properties"].items()
        for value in malformed(each)
        if not is_taken_by_pydantic(value)
    ]

    assert len(sent) > 50
    assert [each for each in sent if names_of(each[2]) != {each[0]}] == []


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (RING, (200, '{"rung":true}')),
        ({}, dict.fromkeys(RING, "required")),
        ({**RING, "nope": 1}, {"nope": "unknown_field"}),
    ],
)
def test_missing_and_extra_values_of_custom_methods_are_refused(site, body, codes):
    assert ring(site, body) == codes


@pytest.mark.parametrize(("path", "body"), [("people", "People"), ("seats", "Seats")])
def test_missing_fields_are_refused(site, path, body):
    required = site.body(f"{body}Create")["required"]

    assert required
    for extra in ({}, dict.fromkeys(required)):
        codes = site.send("POST", f"/{path}", extra)
        assert codes == dict.fromkeys(required, "required")


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
@pytest.mark.parametrize("name", ["nope", "__class__", "", "a.b", "$set", "x" * 5_000])
def test_extra_fields_are_refused(site, verb, name):
    id = site.client.post("/things", json={}).json["id"]
    codes = site.send(verb, "/things" if verb == "POST" else f"/things/{id}", {name: 1})

    assert [*codes.values()] == ["unknown_field"]
    assert all(len(each) < 200 for each in codes)


@pytest.mark.parametrize(
    "body", ["", "1", '"x"', "null", "{", "NaN", "[" * 100_000, f"[{'9' * 5_000}]"]
)
@pytest.mark.parametrize(
    ("path", "headers"), [("/things", {}), ("/bell", {"X-Service-Method": "ring"})]
)
def test_malformed_bodies_are_refused(site, path, headers, body):
    answer = site.client.post(path, data=body, headers=headers, content_type=JSON)

    assert answer.status_code == 400, answer.text
    assert len(answer.text) < 1_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(st.data(), VALUES)
def test_no_value_is_an_error_of_the_server(site, data, value):
    properties = site.body("ThingsCreate")["properties"]
    name = data.draw(st.sampled_from(sorted({*properties} - {"id"})))
    answer = site.client.post(
        "/things", data=json.dumps({name: value}), content_type=JSON
    )
    codes = codes_of(answer)

    # Python writes numbers that JSON does not have.
    is_json = all(each not in json.dumps(value) for each in ("NaN", "Infinity"))
    is_refused = [*codes] == [name] or not is_json
    assert answer.status_code == 201 or (answer.status_code == 400 and is_refused)
