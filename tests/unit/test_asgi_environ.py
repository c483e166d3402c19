"""Requests of ASGI servers, as WSGI has them."""

import io

import pytest

from flask_records.realtime.asgi.requests import environ_of


def environ(**scope):
    body = io.BytesIO()
    default = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "query_string": b"",
        "headers": [],
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.2", 1234),
    }
    result = environ_of({**default, **scope}, body)
    assert result.pop("wsgi.input") is body
    return result


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("", "/a/b", ("", "/a/b")),
        ("", "/ä", ("", "/\xc3\xa4")),
        ("/api", "/api/a", ("/api", "/a")),
        ("/api/", "/api", ("/api", "")),
        # Some servers leave the prefix out.
        ("/api", "/a", ("/api", "/a")),
        ("/api", "/apis", ("/api", "/apis")),
        ("/ä", "/ä/ö", ("/\xc3\xa4", "/\xc3\xb6")),
    ],
)
def test_paths(root, path, expected):
    result = environ(root_path=root, path=path)

    assert (result["SCRIPT_NAME"], result["PATH_INFO"]) == expected


def test_headers():
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", b"3"),
        (b"x-name", b"\xe4"),
        (b"accept", b"a"),
        (b"accept", b"b"),
        (b"cookie", b"c=1"),
        (b"cookie", b"d=2"),
    ]
    result = environ(headers=headers)

    assert {name: result[name] for name in result if name.startswith("HTTP_")} == {
        "HTTP_X_NAME": "\xe4",
        "HTTP_ACCEPT": "a,b",
        "HTTP_COOKIE": "c=1; d=2",
    }
    assert (result["CONTENT_TYPE"], result["CONTENT_LENGTH"]) == ("text/plain", "3")


def test_headers_with_underscores_do_not_replace_those_of_a_proxy():
    headers = [(b"x-forwarded-for", b"1.2.3.4"), (b"x_forwarded_for", b"6.6.6.6")]
    result = environ(headers=headers)

    assert result["HTTP_X_FORWARDED_FOR"] == "1.2.3.4"
