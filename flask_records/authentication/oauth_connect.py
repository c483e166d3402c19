"""Requests of users to connect a login at a provider."""

from __future__ import annotations

import hmac
import secrets
import typing as t
from contextlib import contextmanager
from urllib.parse import urlencode
from urllib.parse import urlsplit

from flask import request
from itsdangerous import BadData

from ..context import Params
from ..errors import BadRequest
from ..errors import NotAuthenticated
from .oauth_cookies import load_recent
from .oauth_cookies import serializer_of

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping

    from flask import Flask
    from flask import Response

    from ..typing import Record
    from .service import AuthenticationService

LIFETIME: t.Final = 60
"""The number of seconds that a one-time address works."""

CODE: t.Final = "connect_code"
"""The parameter of a one-time address."""

TOKEN: t.Final = "feathers_token"
"""The parameter that the official client sends its access token in."""

COOKIE: t.Final = "records_connect"

LOGGED_OUT: t.Final = (
    "Your login is not valid ({}). Log in again, then connect the other one."
)

USED_UP: t.Final = """\
This address to connect a login was used, is too old, or is for another browser. Try \
again.\
"""


class Connections:
    """Finds the user who connects a login. The claims of the access token are kept
    until the login ends, not the token.

    A one-time address works only in the browser that asked for it, which has a cookie
    for it: nobody else can use it, or make a visitor use an address of their own.

    :raises RuntimeError: There is no secret to sign with.
    """

    def __init__(self, app: Flask, service: AuthenticationService) -> None:
        self._service = service
        self._serializer = serializer_of(app, service, "flask-records oauth connect")

    def caller(self) -> Record:
        """Return the claims of the caller, by the headers of the request.

        :raises NotAuthenticated: The headers have no valid credentials.
        """
        service = self._service
        credentials = service.parse(request.headers)

        if credentials is None:
            raise NotAuthenticated("Not authenticated")

        # A token connects a login, and so do all credentials for a token.
        allowed = {"jwt", *service.settings.strategies}
        params = Params(headers=request.headers)

        with explaining_refusals():
            result = service.authenticate(credentials, params, allowed)

        payload = result["authentication"].get("payload")
        return payload or service.create_token(result.get("user"))[1]

    def add_address(
        self, response: Response, url: str, claims: Record, query: Mapping[str, str]
    ) -> str:
        """Return a one-time address, and set its cookie."""
        code = secrets.token_urlsafe(24)
        parts = urlsplit(url)
        response.set_cookie(
            COOKIE,
            str(self._serializer.dumps({CODE: code, "url": url, "claims": claims})),
            max_age=LIFETIME,
            path=parts.path,
            httponly=True,
            samesite="Lax",
            secure=parts.scheme == "https",
        )
        return f"{url}?{urlencode({CODE: code, **query})}"

    def take(self, url: str, query: dict[str, str]) -> Record | None:
        """Return the claims of the user who begins a login to connect it, or ``None``
        for a login that is not to be connected.

        :param query: The parameters of the request. Those that identify the user are
            taken out.
        :raises NotAuthenticated: The one-time address or the token is not valid.
        :raises BadRequest: The token comes from another page.
        """
        code, token = query.pop(CODE, None), query.pop(TOKEN, None)

        if code is not None:
            return self._claims_of_code(url, code)

        return None if token is None else self._claims_of_token(token)

    def remove_address(self, response: Response, url: str) -> None:
        """Delete the cookie of the request's one-time address: it works once."""
        if CODE in request.args and COOKIE in request.cookies:
            response.delete_cookie(COOKIE, urlsplit(url).path)

    def _claims_of_code(self, url: str, code: str) -> Record:
        text = request.cookies.get(COOKIE, "")

        try:
            cookie = load_recent(self._serializer, text, LIFETIME)
        except BadData as error:
            raise NotAuthenticated(USED_UP) from error

        is_right = hmac.compare_digest(cookie[CODE].encode(), code.encode())

        if not is_right or cookie["url"] != url:
            raise NotAuthenticated(USED_UP)

        return t.cast("Record", cookie["claims"])

    def _claims_of_token(self, token: str) -> Record:
        # Anybody can put an address with a token of their own into a page, and would
        # own the login of a visitor. A browser without this header proves nothing.
        if request.headers.get("Sec-Fetch-Site") != "same-origin":
            raise BadRequest(
                f"'{TOKEN}' is accepted from pages of the same origin only. Send the"
                f" token to POST {request.script_root}{request.path}, which returns an"
                " address to open."
            )

        with explaining_refusals():
            payload = self._service.settings.tokens.verify_token(token)
            self._service.tokens.user_of(payload)

        return payload


@contextmanager
def explaining_refusals() -> Iterator[None]:
    """Say in words for people that a token is not valid.

    :raises NotAuthenticated: It is not valid.
    """
    try:
        yield
    except NotAuthenticated as error:
        raise NotAuthenticated(LOGGED_OUT.format(error.message.rstrip("."))) from error
