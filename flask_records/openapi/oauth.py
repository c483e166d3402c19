"""The views of logins at OAuth providers, as OpenAPI describes them."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..authentication.limits import limits_of
from .answers import (
    answer,
    BAD_REQUEST,
    BODY_ERRORS,
    FAILURE,
    NOT_AUTHENTICATED,
    NOT_FOUND,
    references_to,
    UNAVAILABLE,
)
from .operations import FORMS

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..extension import FlaskRecords
    from ..service.schemas import Schema

    Path: t.TypeAlias = tuple[str, dict[str, t.Any]]

TAG: t.Final = {"name": "oauth", "description": "Logins at OAuth providers."}
"""The group of the views."""

TEXT: t.Final[Schema] = {"type": "string"}

ERRORS: t.Final = (BAD_REQUEST, NOT_AUTHENTICATED, NOT_FOUND, FAILURE, UNAVAILABLE)
"""The errors of each view."""

FORM: t.Final = FORMS[0]

NO_QUERY: t.Final[Mapping[str, str]] = {}

REDIRECT: t.Final = {
    "description": "The browser goes on there.",
    "headers": {"Location": {"schema": {"type": "string", "format": "uri-reference"}}},
}

REDIRECTED: t.Final = {"302": REDIRECT}

SEEN: t.Final = {"303": REDIRECT}

START: t.Final = {
    "redirect": "The address that the user returns to.",
    "feathers_token": "The access token of the user who connects the login.",
}

ANSWER: t.Final = {
    "code": "The code of the provider.",
    "state": "The state of the login.",
    "error": "The error of the provider.",
    "error_description": "A text about it.",
}

FORM_SCHEMA: t.Final[Schema] = {
    "type": "object",
    "properties": dict.fromkeys(ANSWER, TEXT),
    "required": [],
    "additionalProperties": False,
}


class OAuthViews:
    """Describes the views of one authentication service.

    :param records: The extension with the service.
    :param path: The path of the authentication service.
    :param login: The schema of a login there.
    """

    def __init__(self, records: FlaskRecords, path: str, login: Schema) -> None:
        self._oauth = records.authentications[path].settings.oauth
        self._login = login
        self._is_limited = records.limits is not None

    def paths(self) -> Iterator[Path]:
        """Yield the paths, each with its operations by verb."""
        providers = self._oauth.providers

        if not providers:
            return

        login = answer(self._login, "The login, if no page is configured.")
        ended = {"200": login, "302": REDIRECT}
        start = self._view("start", "Log in at a provider", REDIRECTED, START)
        callback = self._view("callback", "Return from a provider", ended, ANSWER)
        returns = {"get": callback}

        if any(each.posts_back for each in providers.values()):
            content = {FORM: {"schema": FORM_SCHEMA}}
            body = {"required": True, "content": content}
            returns["post"] = self._view("answer", "Return by a form", SEEN, body=body)

        provider = {
            "name": "provider",
            "in": "path",
            "required": True,
            "schema": {"enum": list(providers)},
        }

        for end, operations in {"": {"get": start}, "/callback": returns}.items():
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
        limits = limits_of(current_app, "oauth", name)
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
