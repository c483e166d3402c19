"""The views of logins at OAuth providers, as OpenAPI describes them."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..authentication.limits import limits_of
from .answers import answer
from .answers import BAD_REQUEST
from .answers import BODY_ERRORS
from .answers import FAILURE
from .answers import JSON
from .answers import NOT_AUTHENTICATED
from .answers import NOT_FOUND
from .answers import reference
from .answers import references_to
from .answers import UNAVAILABLE
from .calls import name_of
from .operations import FORMS
from .security import security_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping
    from collections.abc import Sequence

    from ..extension import FlaskRecords
    from ..service import Service
    from ..service.schemas import Schema

    Path: t.TypeAlias = tuple[str, dict[str, t.Any]]

TAG: t.Final = {"name": "oauth", "description": "Logins at OAuth providers."}
"""The group of the views."""

TEXT: t.Final[Schema] = {"type": "string"}

ERRORS: t.Final = (BAD_REQUEST, NOT_AUTHENTICATED, NOT_FOUND, FAILURE, UNAVAILABLE)
"""The errors of each view."""

FORM: t.Final = FORMS[0]

LIMITS: t.Final = {"connect": "start", "logout": "start", "answer": "callback"}
"""The views whose limits others share."""

ADDRESS: t.Final[Schema] = {
    "type": "object",
    "properties": {"url": {"type": "string", "format": "uri"}},
    "required": ["url"],
}

NO_QUERY: t.Final[Mapping[str, str]] = {}

REDIRECT: t.Final = {
    "description": "The browser goes on there.",
    "headers": {"Location": {"schema": {"type": "string", "format": "uri-reference"}}},
}

REDIRECTED: t.Final = {"302": REDIRECT}

RETURN: t.Final = {"redirect": "The address that the user returns to."}

START: t.Final = RETURN | {
    "challenge": "The SHA-256 of a verifier that the page keeps, in Base64 for URLs.",
    "connect_code": "The code of a one-time address, which connects a login.",
}

ANSWER: t.Final = {
    "code": "The code of the provider.",
    "state": "The state of the login.",
    "error": "The error of the provider.",
    "error_description": "A text about it.",
}


class OAuthViews:
    """Describes the views of one authentication service.

    :param records: The extension with the service.
    :param service: The authentication service.
    """

    def __init__(self, records: FlaskRecords, service: Service) -> None:
        self._oauth = service.target.settings.oauth
        self._login = reference("schemas", name_of(service))
        self._security = security_of(records, service)
        self._is_limited = records.limits is not None

    def paths(self) -> Iterator[Path]:
        """Yield the paths, each with its operations by verb."""
        providers = self._oauth.providers

        if not providers:
            return

        login = answer(self._login, "The login, if no page is configured.")
        ended = {"200": login, "302": REDIRECT}
        code = {"code": TEXT, "verifier": TEXT}
        start = self._view("start", "Log in at a provider", REDIRECTED, START)
        connect = self._view(
            "connect",
            "Get an address to connect a login",
            {"201": answer(ADDRESS, "The address, which works once.")},
            body={"required": False, "content": _json({"redirect": TEXT}, ())},
        )
        callback = self._view("callback", "Return from a provider", ended, ANSWER)
        log_out = self._view("logout", "Log out at a provider", REDIRECTED, RETURN)
        exchange = self._view(
            "token",
            "Exchange the code of a login",
            {"201": answer(self._login, "The login.")},
            body={"required": True, "content": _json(code, ["code"])},
        )
        returns = {"get": callback}

        if any(each.posts_back for each in providers.values()):
            content = {FORM: {"schema": _object(dict.fromkeys(ANSWER, TEXT), ())}}
            body = {"required": True, "content": content}
            returns["post"] = self._view("answer", "Return by a form", ended, body=body)

        provider = {
            "name": "provider",
            "in": "path",
            "required": True,
            "schema": {"enum": list(providers)},
        }

        for end, operations in {
            "": {"get": start, "post": {**connect, "security": self._security}},
            "/callback": returns,
            "/logout": {"get": log_out},
            "/token": {"post": exchange},
        }.items():
            path = f"/oauth/{{{provider['name']}}}{end}"
            yield path, {"parameters": [provider], **operations}

    def _view(
        self,
        name: str,
        summary: str,
        answers: Mapping[str, t.Any],
        query: Mapping[str, str] = NO_QUERY,
        body: Mapping[str, t.Any] | None = None,
    ) -> dict[str, t.Any]:
        """Return the operation of a view.

        :param query: The texts about its parameters, by name.
        """
        errors = [*ERRORS, *(BODY_ERRORS if body else ())]
        limits = limits_of(current_app, "oauth", LIMITS.get(name, name))
        return {
            "operationId": f"{name}OAuth",
            "tags": [TAG["name"]],
            "summary": summary,
            "parameters": [
                {"name": each, "in": "query", "description": text, "schema": TEXT}
                for each, text in query.items()
            ],
            **({"requestBody": body} if body else {}),
            "responses": {
                **answers,
                **references_to(errors, limits if self._is_limited else None),
            },
            "security": [],
        }


def _json(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {JSON: {"schema": _object(properties, required)}}


def _object(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    """Return the schema of an object without other properties."""
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False}
