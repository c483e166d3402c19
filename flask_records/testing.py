"""A client of an application's services, for tests."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from urllib.parse import quote

from .errors import ERRORS, GeneralError, RecordsError
from .http.formatter import dumps
from .http.routes import routes_of
from .names import method_named

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from .typing import Id, Record


class TestClient:
    """Calls services as a client does, over HTTP within the process.
    :meth:`.FlaskRecords.client` makes it.

    :param app: The application.
    :param token: The access token of its calls, or ``None`` for an anonymous client.
    """

    # pytest takes a class of this name for tests.
    __test__ = False

    def __init__(self, app: Flask, token: str | None) -> None:
        # Logins are those of tokens, not of cookies.
        self.http = app.test_client(use_cookies=False)
        """Flask's test client, which sends the token."""
        self.http.environ_base["HTTP_ACCEPT"] = "application/json"
        self._prefix = routes_of(app).mount.url_prefix

        if token is not None:
            self.http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"

    def service(self, path: str) -> ClientService:
        """Return a service.

        :param path: Its path, with the values of its placeholders.
        """
        return ClientService(self, f"{self._prefix}/{path.strip('/')}")


class ClientService:
    """The methods of a service, as a client calls them: with JSON values, and errors in
    the class of their status. An id of ``None`` stands for all records that match.
    """

    def __init__(self, client: TestClient, url: str) -> None:
        self._http = client.http
        self._url = url

    def find(self, query: Record | None = None) -> t.Any:
        """Return the records that match, or a page of them."""
        return self._call("find", query)

    def get(self, id: Id, query: Record | None = None) -> t.Any:
        """Return a record."""
        return self._call("get", query, id)

    def create(self, data: t.Any, query: Record | None = None) -> t.Any:
        """Create a record, or a list of records, and return it."""
        return self._call("create", query, data=dumps(data))

    def update(self, id: Id, data: Record, query: Record | None = None) -> t.Any:
        """Replace a record, and return it."""
        return self._call("update", query, id, data=dumps(data))

    def patch(self, id: Id | None, data: Record, query: Record | None = None) -> t.Any:
        """Change a record, or all that match, and return it."""
        return self._call("patch", query, id, data=dumps(data))

    def remove(self, id: Id | None, query: Record | None = None) -> t.Any:
        """Remove a record, or all that match, and return it."""
        return self._call("remove", query, id)

    def call(self, method: str, data: t.Any, query: Record | None = None) -> t.Any:
        """Return the result of a custom method."""
        headers = {"X-Service-Method": method}
        return self._call(method, query, data=dumps(data), headers=headers)

    def _call(
        self, method: str, query: Record | None, id: Id | None = None, **options: t.Any
    ) -> t.Any:
        response = self._http.open(
            self._url if id is None else f"{self._url}/{quote(str(id), safe='')}",
            method=method_named(method).verb,
            query_string=dict(_pairs(query or {})),
            content_type="application/json" if "data" in options else None,
            **options,
        )
        body = response.get_json(silent=True)

        if response.status_code < 400:
            return body

        if not isinstance(body, dict) or "className" not in body:
            raise GeneralError(f"{response.status}: {response.text}")

        raise error_of(body)


def error_of(body: Record) -> RecordsError:
    """Return the error of a body, in the class of its status."""
    error_class = ERRORS.get(body["code"], GeneralError)
    error = error_class(body["message"], body.get("data"), body["errors"])
    error.code = body["code"]
    return error


def _pairs(value: t.Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names and values of a query string.

    :raises ValueError: A list is empty, which a query string can't say.
    """
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"'{name}' is an empty list, which no query string has.")

        value = dict(enumerate(value))

    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pairs(item, f"{name}[{key}]" if name else str(key))
    else:
        text = value if isinstance(value, str) else dumps(value).decode().strip('"')
        yield name, text
