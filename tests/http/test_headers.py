import pytest
from flask import Flask

from flask_records import FlaskRecords, format_json, NotFound

from ..authentication import make_records, SECRET

KEY = {"X-Api-Key": "robot's key"}


class Things:
    def find(self, params):
        return [params.user]

    def get(self, id, params):
        raise NotFound(f"No {id}.") if id == "9" else ZeroDivisionError

    def create(self, data, params):
        return data


def make_app(**options):
    """An application with a service for all, and one for those who have a key."""
    records = make_records()
    options = {"strategies": ["api-key"], **options}
    records.add("open", Things(), public=True, **options)
    records.add("closed", Things(), **options)
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": SECRET}
    records.init_app(app)
    return app


@pytest.fixture
def client():
    return make_app().test_client()


@pytest.fixture
def public_client():
    """A client of an application that knows no users."""
    records = FlaskRecords(logger=False)
    records.add("open", Things(), public=True)
    app = Flask("tests")
    records.init_app(app)
    return app.test_client()


def said(response):
    names = "X-Content-Type-Options", "Cache-Control", "Vary"
    return tuple(response.headers.get(name) for name in names)


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/open", 200),
        ("HEAD", "/open", 200),
        ("OPTIONS", "/closed", 204),
        ("POST", "/open", 201),
    ],
)
def test_answer_to_an_unknown_caller_is_private(client, verb, path, status):
    response = client.open(path, method=verb, json={"a": 1})

    assert response.status_code == status
    assert said(response) == ("nosniff", "private", "Authorization")


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [("GET", "/open", 200), ("GET", "/closed", 200), ("POST", "/closed", 201)],
)
def test_answer_to_a_known_caller_is_not_stored(client, verb, path, status):
    response = client.open(path, method=verb, json={"a": 1}, headers=KEY)

    assert response.status_code == status
    assert said(response) == ("nosniff", "no-store", "Authorization")


@pytest.mark.parametrize(
    ("path", "headers", "status", "cache"),
    [
        ("/closed", {}, 401, "private"),
        ("/open/9", {}, 404, "private"),
        ("/open/9", KEY, 404, "no-store"),
        ("/open/1", KEY, 500, "no-store"),
        ("/open?a[b=1&a=2&$limit=x", {}, 200, "private"),
    ],
)
def test_errors_are_kept_from_caches_too(client, path, headers, status, cache):
    response = client.get(path, headers=headers)

    vary = "Authorization" if status == 200 else "Accept, Authorization"
    assert response.status_code == status
    assert said(response) == ("nosniff", cache, vary)


@pytest.mark.parametrize(("path", "status"), [("/open", 200), ("/open/9", 404)])
def test_answers_that_depend_on_nobody_can_be_cached(public_client, path, status):
    response = public_client.get(path, headers=KEY)

    assert response.status_code == status
    assert said(response)[:2] == ("nosniff", None)
    assert "Authorization" not in response.headers.get("Vary", "")


def test_refused_login_is_not_stored(client):
    response = client.post("/authentication", json={"strategy": "local"})

    assert response.status_code == 401
    assert said(response) == ("nosniff", "no-store", "Accept, Authorization")


def test_unchanged_answer_has_the_same_rules_for_caches(client):
    first = client.get("/closed", headers=KEY)
    again = {**KEY, "If-None-Match": first.headers["ETag"]}

    second = client.get("/closed", headers=again)

    assert (second.status_code, second.data) == (304, b"")
    assert said(second) == said(first)


OWN = {"X-Content-Type-Options": "other", "Cache-Control": "public, max-age=60"}


def format_with_own(context):
    response = format_json(context)
    response.headers.update(OWN)
    return response


def test_headers_of_a_formatter_win():
    app = make_app(formatter=format_with_own)

    response = app.test_client().get("/closed", headers=KEY)

    assert said(response) == (*OWN.values(), "Authorization")
