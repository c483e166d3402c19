"""The page that shows the OpenAPI document, over HTTP. A browser opens it in
``tests/clients/reference.test.js``.
"""

import re

import pytest

from ...authentication import CHEAP, make_records, SECRET, serving
from .test_served import app_with, ON

ADDRESS = re.compile(r'(?:href|src|data-document|data-url)="([^"]+)"')


def addresses_of(page):
    return [each for each in ADDRESS.findall(page) if not each.startswith("data:")]


def test_all_that_a_page_loads_is_there():
    client = app_with(url_prefix="/api").test_client()

    page = client.get("/api/docs")
    answers = {url: client.get(url, buffered=True) for url in addresses_of(page.text)}

    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert [re.sub("/[0-9a-f]{16}/", "/", each) for each in answers] == [
        "/api/flask_records/openapi/swagger-ui.css",
        "/api/flask_records/openapi/reference.css",
        "/api/flask_records/openapi/swagger-ui-bundle.js",
        "/api/flask_records/openapi/reference.js",
        "/api/openapi.json",
    ]
    assert {answer.status_code for answer in answers.values()} == {200}
    assert {each.headers["X-Content-Type-Options"] for each in answers.values()} == {
        "nosniff"
    }


@pytest.mark.parametrize(
    ("strategies", "forms"),
    [
        (["jwt", "local"], ['id="log-in"', 'id="use-token"']),
        (["jwt"], ['id="use-token"']),
    ],
)
def test_page_has_the_forms_of_logins_that_there_are(strategies, forms):
    settings = {"secret": SECRET, "strategies": strategies, "passwords": CHEAP}

    with serving(make_records(), settings, RECORDS_OPENAPI=ON) as client:
        page = client.get("/docs", base_url="http://localhost/shop").text

    assert re.findall(r'<form (id="[\w-]+")', page) == forms
    has_fields = 'data-url="/shop/authentication" data-username="email"' in page
    assert has_fields is ("local" in strategies)


def test_page_of_an_application_without_logins_has_no_forms():
    assert "<form" not in app_with().test_client().get("/docs").text
