"""The ways to authenticate: a name and a password, a token, or one of your own."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..errors import BadRequest
from ..errors import NotAuthenticated

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from werkzeug.datastructures import Headers

    from ..context import Params
    from ..typing import Record
    from .service import AuthenticationService

    Authenticate: t.TypeAlias = Callable[
        [AuthenticationService, Record, Params], Record
    ]
    Parse: t.TypeAlias = Callable[[Headers], Record | None]

SCHEME = re.compile(r"(\S+)\s+(\S+)")

SCHEMES: t.Final = ("bearer", "jwt")
"""The schemes of an ``Authorization`` header with a token."""

MAX_USERNAME: t.Final = 1024
"""How many characters a user name has at most."""


@dataclass(frozen=True)
class Strategy:
    """A way to authenticate: two functions."""

    authenticate: Authenticate
    """Return the result of what a client sent: ``user``, and what else hooks get in
    ``params.extra``. A function of the authentication service, the data and the params
    of the call, which raises :class:`.NotAuthenticated` to refuse.
    """

    parse: Parse | None = None
    """Return the data that the headers of a request have for the strategy, or
    ``None``. A strategy without it is for logins only.
    """


def authenticate_local(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user with a name and a password. See section 5.2 of the
    specification.

    :param service: The service, which knows the names of the two fields.
    :param data: What the client sent.
    :param params: What accompanies the call.
    :raises NotAuthenticated: There is no such user, or it is not his password.
    :raises BadRequest: One of the two is not text, or too long.
    """
    username = _text(data, service.username)
    password = _text(data, service.password)

    if len(username) > MAX_USERNAME:
        raise BadRequest(
            f"'{service.username}' has {MAX_USERNAME} characters at most.",
            errors={service.username: "is too long"},
        )

    return {"user": service.login(username, password)}


def authenticate_token(
    service: AuthenticationService, data: Record, params: Params
) -> Record:
    """Return the user that an access token was issued for, and the token.

    :param service: The service, which verifies tokens.
    :param data: What the client sent.
    :param params: What accompanies the call.
    :raises NotAuthenticated: The token is not valid, its user is gone, or the password
        was changed.
    """
    token = data.get("accessToken")

    if token is None or token == "":
        raise NotAuthenticated("No access token")

    payload = service.settings.tokens.verify_token(token)
    return {
        "accessToken": token,
        "authentication": {"accessToken": token, "payload": payload},
        "user": service.user_of(payload),
    }


def parse_bearer(headers: Headers) -> Record | None:
    """Return the token of an ``Authorization`` header: ``Bearer`` and the token, or the
    token alone.

    :param headers: The headers of the request.
    """
    value = headers.get("Authorization")

    if not value:
        return None

    found = SCHEME.match(value)

    if found and found[1].lower() not in SCHEMES:
        return None

    return {"accessToken": found[2] if found else value}


LOCAL = Strategy(authenticate_local)
"""Log in with a name and a password."""

JWT = Strategy(authenticate_token, parse_bearer)
"""Authenticate with an access token."""


def _text(data: Record, name: str) -> str:
    value = data.get(name)

    if value is None:
        return ""

    if not isinstance(value, str):
        raise BadRequest(f"'{name}' is not text.", errors={name: "is not text"})

    return value
