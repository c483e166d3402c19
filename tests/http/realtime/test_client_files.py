"""The scripts of the Socket.IO client, as pages load them."""

import pytest

from ...realtime import in_memory, make_live_records


@pytest.fixture
def records():
    return make_live_records(public=True)


def version_in(response):
    """The version of the client that a script tells."""
    assert response.status_code == 200, response.text
    assert response.content_type == "text/javascript; charset=utf-8"
    return response.text.partition("Socket.IO v")[2][:2]


@pytest.mark.parametrize(
    ("settings", "name", "version"),
    [
        ({}, "socket.io.js", "4."),
        ({}, "socket.io.min.js", "4."),
        ({"legacy_clients": True}, "socket.io.js", "2."),
        ({"legacy_clients": True}, "socket.io.min.js", "4."),
    ],
)
def test_script_is_the_client_of_the_version_that_pages_expect(
    records, tmp_path, settings, name, version
):
    with in_memory(records, tmp_path, settings) as site:
        response = site.http.get(f"/socket.io/{name}", buffered=True)

    assert version_in(response) == version
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    # A browser would report that it is missing.
    assert "sourceMappingURL" not in response.text


@pytest.mark.parametrize(
    ("verb", "name", "status"),
    [
        ("HEAD", "socket.io.js", 200),
        ("POST", "socket.io.js", 405),
        ("GET", "..%2f..%2ferror.css", 404),
        ("GET", "x", 404),
    ],
)
def test_nothing_else_is_sent(records, tmp_path, verb, name, status):
    with in_memory(records, tmp_path) as site:
        response = site.http.open(f"/socket.io/{name}", method=verb, buffered=True)

    assert response.status_code == status
    assert response.text == "" or status >= 400
