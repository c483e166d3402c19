"""Strategies: a name and a password, a token, or one of your own."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ..errors import NotAuthenticated
from ..service.schemas import OBJECT, object_of
from .passwords import text_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from werkzeug.datastructures import Headers

    from ..service.context import Params
    from ..service.schemas import Schema
    from ..typing import Record
    from .service import AuthenticationService

ACCESS_TOKEN: t.Final = "accessToken"
"""The field of a login with the access token."""

TEXT: t.Final[Schema] = {"type": "string"}

SCHEME = re.compile(r"(\S+)\s+(\S+)")


@dataclass(frozen=True)
class Strategy:
    """A way to authenticate: two functions."""

    authenticate: Callable[[AuthenticationService, Record, Params], Record]
    """Returns the result for the credentials of a client: ``user``, and what else hooks
    get in ``params.extra``. A function of the authentication service, the data and the
    params of the call, which raises :class:`.NotAuthenticated` to refuse.
    """

    parse: Callable[[Headers], Record | None] | None = None
    """Returns the credentials in the headers of a request, or ``None``. A strategy
    without it is for logins only.
    """

    scheme: Mapping[str, t.Any] | None = field(default=None, hash=False)
    """The security scheme in OpenAPI's words, for documents: for example ``{"type":
    "apiKey", "in": "header", "name": "X-Api-Key"}``, or ``"in": "cookie"``.
    """

    schema: Schema | None = field(default=None, hash=False)
    """The JSON Schema of the data of a login besides ``strategy``, for documents and
    types: its ``properties``, and the ``required`` ones.
    """


def authenticate_local(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user with a name and a password. See section 5.2 of the
    specification.
    """
    username = _text(data, service.username)
    password = _text(data, service.password)
    return {"user": service.login(username, password)}


def authenticate_token(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user that an access token was issued for, and the token."""
    token = data.get(ACCESS_TOKEN)

    if token in (None, ""):
        raise NotAuthenticated("No access token")

    payload = service.settings.tokens.verify_token(token)

    if not service.lookup.is_there:
        raise NotAuthenticated("There are no users with tokens.")

    return {
        ACCESS_TOKEN: token,
        "authentication": {"payload": payload},
        "user": service.tokens.user_of(payload),
    }


def parse_bearer(headers: Headers) -> Record | None:
    """Return the token of an ``Authorization`` header, with its scheme or alone."""
    value = headers.get("Authorization", "")
    match = SCHEME.match(value)

    if not value or (match and match[1].lower() not in ("bearer", "jwt")):
        return None

    return {ACCESS_TOKEN: match[2] if match else value}


LOCAL = Strategy(authenticate_local)
"""Log in with a name and a password."""

BEARER: t.Final = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
"""The security scheme of access tokens."""

JWT = Strategy(authenticate_token, parse_bearer, BEARER)
"""Authenticate with an access token."""


def schema_of_credentials(service: AuthenticationService, name: str) -> Schema:
    """Return the JSON Schema of what a client sends for a strategy."""
    strategy = t.cast("Strategy", service.strategies.get(name))
    fields = {LOCAL: [service.username, service.password], JWT: [ACCESS_TOKEN]}
    names = fields.get(strategy, [])
    own = object_of(dict.fromkeys(names, TEXT), required=names)
    schema: Schema = getattr(strategy, "schema", None) or own
    properties = {"strategy": {**TEXT, "const": name}, **schema.get("properties", {})}
    required = ["strategy", *schema.get("required", [])]
    return {"title": name, **schema, **object_of(properties, required=required)}


def schema_of_login(user: Schema, properties: Mapping[str, Schema]) -> Schema:
    """Return the JSON Schema of a login."""
    payload = {**OBJECT, "description": "The claims of the token."}
    authentication = {"strategy": TEXT, ACCESS_TOKEN: TEXT, "payload": payload}
    login = {
        ACCESS_TOKEN: {**TEXT, "description": "Send it as a bearer token."},
        **properties,
        "authentication": object_of(authentication, required=["strategy"]),
        "user": user,
    }
    return object_of(login, required=["authentication"], description="A login.")


def _text(data: Record, name: str) -> str:
    value = data.get(name)
    return "" if value is None or value == "" else text_of(value, name)
