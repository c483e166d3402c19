"""Strategies: a name and a password, a token, or one of your own."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ..errors import BadRequest, NotAuthenticated
from ..problems import NO_TEXT, TOO_LONG

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from werkzeug.datastructures import Headers

    from ..context import Params
    from ..typing import Record
    from .service import AuthenticationService

SCHEME = re.compile(r"(\S+)\s+(\S+)")

MAX_USERNAME: t.Final = 1024
"""The number of characters of the longest user name."""


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


def authenticate_local(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user with a name and a password. See section 5.2 of the
    specification.

    :raises NotAuthenticated: There is no such user, or the password is wrong.
    :raises BadRequest: The name or the password is not text, or too long.
    """
    username = _text(data, service.username)
    password = _text(data, service.password)

    if len(username) > MAX_USERNAME:
        raise BadRequest(
            f"'{service.username}' has {MAX_USERNAME} characters at most.",
            errors={service.username: TOO_LONG},
        )

    return {"user": service.login(username, password)}


def authenticate_token(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user that an access token was issued for, and the token.

    :raises NotAuthenticated: The token is not valid, its user is gone, or the password
        was changed.
    """
    token = data.get("accessToken")

    if token in (None, ""):
        raise NotAuthenticated("No access token")

    payload = service.settings.tokens.verify_token(token)
    return {
        "accessToken": token,
        "authentication": {"accessToken": token, "payload": payload},
        "user": service.tokens.user_of(payload),
    }


def parse_bearer(headers: Headers) -> Record | None:
    """Return the token of an ``Authorization`` header, with its scheme or alone."""
    value = headers.get("Authorization", "")
    match = SCHEME.match(value)

    if not value or (match and match[1].lower() not in ("bearer", "jwt")):
        return None

    return {"accessToken": match[2] if match else value}


LOCAL = Strategy(authenticate_local)
"""Log in with a name and a password."""

BEARER: t.Final = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
"""The security scheme of access tokens."""

JWT = Strategy(authenticate_token, parse_bearer, BEARER)
"""Authenticate with an access token."""


def _text(data: Record, name: str) -> str:
    value = data.get(name)

    if value is None:
        return ""

    if not isinstance(value, str):
        raise BadRequest(f"'{name}' is not text.", errors={name: NO_TEXT})

    return value
