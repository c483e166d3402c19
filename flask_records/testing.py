"""A client of an application's services, for tests."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from urllib.parse import quote

from .errors import GeneralError
from .errors import RecordsError
from .http.formatter import dumps
from .http.routes import routes_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask
    from werkzeug.test import TestResponse

    from .extension import FlaskRecords
    from .typing import Id
    from .typing import Record

JSON: t.Final = "application/json"

CLASSES: t.Final = {
    class_().name: class_
    for class_ in RecordsError.__subclasses__()
    if class_.__init__ is RecordsError.__init__
}
"""The classes of errors by their names on the wire."""


class TestClient:
    """Calls services as a client does, over HTTP within the process: with checks of
    access, limits, hooks, and values in JSON. See sections 4.1 and 4.2 of the
    specification. :meth:`.FlaskRecords.client` makes it.

    :param app: The application.
    :param token: The access token of its calls, or ``None`` for an anonymous client.
    """

    # pytest takes a class of this name for tests.
    __test__ = False

    def __init__(self, app: Flask, token: str | None) -> None:
        # Logins are those of tokens, not of cookies.
        self._http = app.test_client(use_cookies=False)
        self._prefix = routes_of(app).mount.url_prefix
        self.token = token
        """The access token of its calls."""

    def service(self, path: str) -> ClientService:
        """Return a service.

        :param path: Its path, with the values of its placeholders.
        """
        return ClientService(self, path.strip("/"))

    def request(
        self,
        verb: str,
        path: str,
        query: Record | None = None,
        data: t.Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> t.Any:
        """Return the result of a call: JSON values, or ``None`` if it is empty.

        :param path: The path of a service, and maybe an identifier.
        :raises RecordsError: The call has failed. It is of the class that the server
            names.
        """
        text = "&".join(_pairs(query or {}))
        sent = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        response = self._http.open(
            f"{self._prefix}/{path}{'?' if text else ''}{text}",
            method=verb,
            headers={"Accept": JSON, **sent, **(headers or {})},
            data=None if data is None else dumps(data),
            content_type=None if data is None else JSON,
        )
        return _result(response)


class ClientService:
    """The methods of a service, as a client calls them.

    :param path: Its path, with the values of its placeholders.
    """

    def __init__(self, client: TestClient, path: str) -> None:
        self._client = client
        self._path = path

    def find(self, query: Record | None = None) -> t.Any:
        """Return the records that match, or a page of them."""
        return self._client.request("GET", self._path, query)

    def get(self, id: Id, query: Record | None = None) -> Record:
        """Return a record."""
        return t.cast("Record", self._client.request("GET", self._of(id), query))

    def create(self, data: t.Any, query: Record | None = None) -> t.Any:
        """Create a record, or a list of records from a list, and return it."""
        return self._client.request("POST", self._path, query, data)

    def update(self, id: Id, data: Record, query: Record | None = None) -> Record:
        """Replace a record, and return it."""
        result = self._client.request("PUT", self._of(id), query, data)
        return t.cast("Record", result)

    def patch(self, id: Id | None, data: Record, query: Record | None = None) -> t.Any:
        """Change a record, or all that match if the id is ``None``, and return it."""
        return self._client.request("PATCH", self._of(id), query, data)

    def remove(self, id: Id | None, query: Record | None = None) -> t.Any:
        """Remove a record, or all that match if the id is ``None``, and return it."""
        return self._client.request("DELETE", self._of(id), query)

    def call(self, method: str, data: t.Any, query: Record | None = None) -> t.Any:
        """Return the result of a custom method."""
        headers = {"X-Service-Method": method}
        return self._client.request("POST", self._path, query, data, headers)

    def _of(self, id: Id | None) -> str:
        return self._path if id is None else f"{self._path}/{quote(str(id), safe='')}"


def make_client(
    records: FlaskRecords, app: Flask, user: Record | Id | None
) -> TestClient:
    """Return a client of an application.

    :param records: The extension of the application.
    :param user: The record of the user who is logged in, or its identifier. ``None``
        for an anonymous client.
    :raises NotFound: There is no such user.
    """
    if user is None:
        return TestClient(app, None)

    with app.app_context():
        authentication = records.authentication()
        record = user if isinstance(user, dict) else {authentication.id: user}
        token, _ = authentication.create_token(record)

    return TestClient(app, token)


def _result(response: TestResponse) -> t.Any:
    if response.status_code == 204:
        return None

    body = response.get_json(silent=True)

    if response.status_code < 400:
        return body

    if not isinstance(body, dict) or "className" not in body:
        raise GeneralError(f"{response.status}: {response.text}")

    class_ = CLASSES.get(body["name"], GeneralError)
    error = class_(body["message"], body.get("data"), body["errors"])
    error.code = response.status_code
    raise error


def _pairs(value: t.Any, name: str = "") -> Iterator[str]:
    """Yield the parts of a query string.

    :param name: The name of the value, encoded. None for the whole query.
    :raises ValueError: A list is empty, which a query string can't say.
    """
    if isinstance(value, Mapping):
        items: t.Any = value.items()
    elif isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"'{name}' is an empty list, which no query string has.")

        items = enumerate(value)
    else:
        yield f"{name}={quote(_text(value), safe='')}"
        return

    for key, item in items:
        part = quote(str(key), safe="$")
        yield from _pairs(item, f"{name}[{part}]" if name else part)


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode().strip('"')
