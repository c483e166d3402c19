"""A client of an application's services, for tests."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from urllib.parse import quote

from ..errors import CLASS_NAME, ERRORS, GeneralError, RecordsError
from ..names import method_named
from ..service.context import Params
from ..service.service import Methods
from .formatter import dumps, EVENT_STREAM
from .routes import routes_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from ..service.context import AnyParams
    from ..typing import Id, Record


class TestClient:
    """Calls services as a client does, over HTTP within the process.
    :meth:`.FlaskRecords.client` makes it.
    """

    # pytest takes a class of this name for tests.
    __test__ = False

    def __init__(self, app: Flask, token: str | None) -> None:
        # Logins are made by tokens, not by cookies.
        self.http = app.test_client(use_cookies=False)
        """Flask's test client, which sends the token."""
        self.http.environ_base["HTTP_ACCEPT"] = "application/json"
        self._prefix = routes_of(app).url_prefix

        if token is not None:
            self.http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"

    def service(self, path: str) -> ClientService:
        """Return a service.

        :param path: Its path, with the values of its placeholders.
        """
        return ClientService(self, f"{self._prefix}/{path.strip('/')}")


class ClientService(Methods):
    """The methods of a service, as a client calls them: with a query in place of
    params, JSON values, and errors in the class of their status.
    """

    def __init__(self, client: TestClient, url: str) -> None:
        self._http = client.http
        self._url = url

    def _call(
        self, method: str, params: AnyParams, id: Id = None, data: t.Any = None
    ) -> t.Any:
        traits = method_named(method)
        body = dumps(data) if traits.has_data else None
        response = self._http.open(
            self._url if id is None else f"{self._url}/{quote(str(id), safe='')}",
            method=traits.verb,
            query_string=dict(_pairs(Params.of(params).query)),
            content_type=None if body is None else "application/json",
            data=body,
            headers={} if traits.name else {"X-Service-Method": method},
        )
        answer = response.get_json(silent=True)

        if response.mimetype == EVENT_STREAM:
            parts = filter(None, response.text.split("\n\n"))
            return [json.loads(part.removeprefix("data: ")) for part in parts]

        if response.status_code < 400:
            return answer

        if not isinstance(answer, dict) or CLASS_NAME not in answer:
            raise GeneralError(f"{response.status}: {response.text}")

        raise error_of(answer)


def error_of(body: Record) -> RecordsError:
    """Return the error of a body, in the class of its status."""
    error_class = ERRORS.get(body["code"], GeneralError)
    error = error_class(body["message"], body.get("data"), body["errors"])
    error.code = body["code"]
    return error


def _pairs(value: t.Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names and values of a query string."""
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
