"""Flask-Talisman's policy, which allows no inline styles and scripts."""

from html.parser import HTMLParser

import pytest
from flask_talisman import Talisman

HTML = {"Accept": "text/html"}
SITE = "https://example.com"


class Page(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))


@pytest.fixture
def client(app):
    Talisman(app)
    return app.test_client()


@pytest.fixture(params=["/messages/7", "/messages?$nope=1", "/unknown"])
def page(request, client):
    """Pages of errors of services, and of an application with ``app_errors``."""
    response = client.get(request.param, base_url=SITE, headers=HTML)

    assert response.mimetype == "text/html"
    return response


def test_error_page_has_a_policy_and_nothing_inline(page):
    policy = page.headers["Content-Security-Policy"]
    elements = Page(page.text).elements
    names = [name for tag, attributes in elements for name in (tag, *attributes)]

    assert "default-src 'self'" in policy
    assert not {"style", "script"}.intersection(names)


def test_stylesheet_of_an_error_page_is_served(client, page):
    elements = Page(page.text).elements
    links = [attributes for tag, attributes in elements if tag == "link"]

    assert [link["rel"] for link in links] == ["stylesheet"]

    with client.get(links[0]["href"], base_url=SITE) as response:
        assert (response.status_code, response.mimetype) == (200, "text/css")
        assert b".code" in response.data
