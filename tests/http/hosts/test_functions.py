"""Functions of a host that look at our responses, and its tools at our functions."""

from itertools import chain

import pytest
from flask import Flask, Response

from flask_records import FlaskRecords
from flask_records.explorer import Explorer

from ...authentication import make_records, serving


class Nothing:
    def find(self, params):
        return None


def mark_page(response):
    response.headers["Is-Page"] = response.content_type.startswith("text/html")
    return response


@pytest.fixture
def client():
    records = make_records()
    nothing = records.add("nothing", Nothing(), public=True)
    records.blueprint(nothing).after_app_request(mark_page)

    with serving(records, RECORDS_CORS={"origins": "*"}) as client:
        yield client


@pytest.mark.parametrize("verb", ["GET", "OPTIONS"])
def test_functions_of_a_host_find_a_type_of_an_empty_response(client, verb):
    answer = client.open("/nothing", method=verb)

    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Is-Page"] == "True"
    assert "Content-Type" not in answer.headers


class JSONByDefault(Response):
    default_mimetype = "application/json"


@pytest.mark.parametrize(
    ("url", "status"), [("/_records/", 200), ("/docs", 200), ("/nothing/1", 405)]
)
def test_pages_are_html_whatever_the_host_sends_by_default(url, status):
    app = Flask("tests")
    app.debug, app.response_class = True, JSONByDefault
    records = FlaskRecords(html=lambda error: f"<p>{error.message}</p>")
    records.add("nothing", Nothing(), public=True)
    records.init_app(app)
    Explorer(records, app)

    response = app.test_client().get(url, headers={"Accept": "text/html"})

    assert (response.status_code, response.mimetype) == (status, "text/html")


def test_tools_that_inject_find_the_types_that_functions_take(client):
    app = client.application
    Explorer(app.extensions["records"], app)
    parts = [*app.before_request_funcs.values(), *app.after_request_funcs.values()]

    for function in chain(app.view_functions.values(), *parts):
        for name, hint in function.__annotations__.items():
            assert name == "return" or eval(hint, function.__globals__)
