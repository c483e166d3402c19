"""The OpenAPI document over HTTP, and those who get it."""

from __future__ import annotations

from flask import Flask

from flask_records import FlaskRecords

from ...authentication import bearer
from ...authentication import log_in
from ...authentication import make_records
from ...authentication import serving
from ...test_routes import Things
from .test_served import ON


def test_login_is_needed_if_it_is_asked():
    with serving(make_records(), RECORDS_OPENAPI={**ON, "login": True}) as client:
        for query in ("", "?for=me"):
            answer = client.get(f"/openapi.json{query}")

            assert (answer.status_code, answer.json["name"]) == (
                401,
                "NotAuthenticated",
            )

        answer = client.get("/openapi.json", headers=bearer(log_in(client)))

    # It is the same for all who may see it.
    assert "/secrets" in answer.json["paths"]


def test_application_decides_who_sees_it():
    settings = {**ON, "allow": lambda user: user["email"].startswith("ann")}

    with serving(make_records(), RECORDS_OPENAPI=settings) as client:
        headers = bearer(log_in(client))
        assert client.get("/openapi.json").status_code == 401
        assert client.get("/openapi.json", headers=headers).status_code == 200

        # A strategy without users has nobody to ask about.
        headers = {"X-Api-Key": "robot's key"}
        assert client.get("/openapi.json", headers=headers).status_code == 403

    settings = {**ON, "allow": lambda user: False}

    with serving(make_records(), RECORDS_OPENAPI=settings) as client:
        answer = client.get("/openapi.json", headers=bearer(log_in(client)))

    assert (answer.status_code, answer.json["message"]) == (
        403,
        "You may not see this.",
    )


def test_bad_token_is_in_nobodys_way_where_none_is_needed():
    with serving(make_records(), RECORDS_OPENAPI=ON) as client:
        assert client.get("/openapi.json", headers=bearer("no")).status_code == 200


def test_other_pages_read_it_if_they_may_use_services():
    app = Flask("tests")
    app.config.update(
        RECORDS_OPENAPI=ON, RECORDS_CORS={"origins": ["https://a.example"]}
    )
    records = FlaskRecords(app)
    records.add("things", Things(), public=True)
    headers = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    client = app.test_client()

    for method in ("GET", "OPTIONS"):
        answer = client.open("/openapi.json", method=method, headers=headers)
        assert answer.headers["Access-Control-Allow-Origin"] == "https://a.example"
