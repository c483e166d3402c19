"""The JSON Schemas of logins."""

from __future__ import annotations

import typing as t

from ..service.schemas import Schemas
from .strategies import JWT, LOCAL

if t.TYPE_CHECKING:
    from ..context import Params
    from ..service.schemas import Schema
    from .service import AuthenticationService

TEXT: t.Final[Schema] = {"type": "string"}

SUMMARIES: t.Final = {"create": "Log in", "remove": "Log out"}


def login_schemas(service: AuthenticationService, params: Params | None) -> Schemas:
    """Return the schemas of an authentication service.

    :param params: The params of the caller, or ``None`` for all clients.
    """
    record = _login(service, params)
    return Schemas(
        record=record,
        create={
            "anyOf": [_credentials(service, n) for n in service.settings.strategies]
        },
        many=record,
        multi=frozenset({"remove"}),
        summaries=SUMMARIES,
    )


def _credentials(service: AuthenticationService, name: str) -> Schema:
    """Return the schema of the credentials of a strategy."""
    names = FIELDS.get(service.strategies.get(name), lambda service: [])(service)
    return {
        "type": "object",
        "title": name,
        "properties": {"strategy": {"const": name}, **dict.fromkeys(names, TEXT)},
        "required": ["strategy", *names],
    }


FIELDS: t.Final[dict[t.Any, t.Any]] = {
    LOCAL: lambda service: [service.username, service.password],
    JWT: lambda service: ["accessToken"],
}
"""The fields of a strategy's credentials. Those of other strategies are not known."""


def _login(service: AuthenticationService, params: Params | None) -> Schema:
    user = service.users.capabilities.schemas_for(params).record
    authentication = {
        "type": "object",
        "properties": {
            "strategy": TEXT,
            "accessToken": TEXT,
            "payload": {"type": "object", "description": "The claims of the token."},
        },
        "required": ["strategy"],
    }
    return {
        "type": "object",
        "description": "A login.",
        "properties": {
            "accessToken": {**TEXT, "description": "Send it as a bearer token."},
            "authentication": authentication,
            "user": user,
        },
        "required": ["authentication"],
    }
