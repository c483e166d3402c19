"""Functions of a host that look at our responses, and its tools at our functions."""

from itertools import chain

import pytest

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


def test_tools_that_inject_find_the_types_that_functions_take(client):
    app = client.application
    Explorer(app.extensions["records"], app)
    parts = [*app.before_request_funcs.values(), *app.after_request_funcs.values()]

    for function in chain(app.view_functions.values(), *parts):
        for name, hint in function.__annotations__.items():
            assert name == "return" or eval(hint, function.__globals__)
