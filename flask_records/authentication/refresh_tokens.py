"""Refresh tokens, which renew logins."""

from __future__ import annotations

import secrets
import time
import typing as t
from dataclasses import replace
from uuid import UUID

from flask import after_this_request, current_app, has_request_context, request
from werkzeug.http import parse_cookie

from ..errors import NotAuthenticated
from ..http.blueprint import PROVIDER as REST
from ..http.routes import current_routes
from .strategies import ACCESS_TOKEN, Strategy, TEXT
from .tokens import CLAIM, TOKEN_ID, VerifiedUser

if t.TYPE_CHECKING:
    from flask import Response

    from ..service.context import HookContext, Params
    from ..typing import Id, Record
    from .service import AuthenticationService
    from .token_table import TableTokens
    from .tokens import Tokens

KIND: t.Final = "refresh"
"""The name of the strategy, and the kind of the tokens."""

FIELD: t.Final = "refreshToken"
"""The name of the token in bodies, and of the cookie."""

RENEWED: t.Final = "renewed"
"""The key of the renewed session in the result of the strategy."""

GRACE: t.Final = 30
"""The seconds that a token is accepted after it was replaced: tabs of a browser renew
their login at once, and answers are lost.
"""

INVALID: t.Final = "The refresh token is not valid. Log in again."


class RefreshTokens:
    """Renews logins: each login begins a session, whose refresh token gets a new access
    token and the next refresh token, for :data:`GRACE` seconds more than once. A token
    that is used later ends its session, since somebody has a copy.

    A refresh token is a signed token with the session, and with its number there. The
    table has the number of the latest.
    """

    def __init__(
        self, service: AuthenticationService, table: TableTokens, *, cookie: bool
    ) -> None:
        self._service = service
        self._table = table
        self._has_cookie = cookie
        self.properties = {} if cookie else {FIELD: TEXT}
        """The schemas of the fields that it adds to what a login takes and returns."""
        schema = {"properties": self.properties, "required": [*self.properties]}
        self.strategy = Strategy(self._authenticate, schema=schema)
        """The strategy, for logins only."""

    def issue(self, result: Record, params: Params) -> tuple[str, Record, Record]:
        """Return an access token, its claims, and more fields of the answer."""
        session: Record | None = result.pop(RENEWED, None)
        claims = {CLAIM: session["id"] if session else secrets.token_hex(16)}
        access_token, payload = self._service.tokens.create(result["user"], claims)
        session = session or self._begin(payload)
        token, _ = self._tokens.create_token(
            session["owner"], token_id=session["digest"], claims=claims
        )

        if not self._has_cookie:
            return access_token, payload, {FIELD: token}

        if _can_set_cookie(params):
            self._set_cookie(token, self._tokens.lifetime)

        return access_token, payload, {}

    def end(self, payload: Record, params: Params) -> None:
        """End the session of an access token, as a logout does."""
        if session := self._session_of(payload):
            self._table.remove(session["id"])

        if self._has_cookie and _can_set_cookie(params):
            self._set_cookie("", 0)

    def session_of(self, id: Id, params: Params) -> Record | None:
        """Return the claims of the session, if there is one, of a client that has a
        refresh token, or an access token that has expired.

        :param id: The identifier of the call, which may be a token.
        """
        session, _ = self._find(self._token_of({FIELD: id}, params))

        if session is not None:
            return _claims_of(session)

        token = (params.authentication or {}).get(ACCESS_TOKEN)

        if token is None or id not in (None, token):
            return None

        payload = self._service.settings.tokens.claims_of(token)
        return payload if self._session_of(payload) else None

    def end_reused(self, method: str, context: HookContext) -> None:
        """End the session of a token that was replaced some time ago: an error hook,
        since a call that fails writes nothing.
        """
        data = context.data if isinstance(context.data, dict) else {}

        if data.get("strategy") != KIND:
            return

        session, age = self._find(self._token_of(data, context.params))

        if session is not None and not self._is_usable(session, age):
            self._service.end_session(_claims_of(session))
            self._table.remove(session["id"])

    def _authenticate(
        self, service: AuthenticationService, data: Record, params: Params
    ) -> Record:
        """Return the user of a refresh token, and its session."""
        if self._has_cookie and not _can_set_cookie(params):
            raise NotAuthenticated("The refresh token is a cookie: renew it over HTTP.")

        token = self._token_of(data, params)

        # Another tab may replace it meanwhile.
        for _ in range(2):
            session, age = self._find(token)

            if session is None or not self._is_usable(session, age):
                break

            user = self._user_of(session)
            renewed = session if age else self._renew(session)

            if renewed is not None:
                return {"user": user, RENEWED: renewed}

        raise NotAuthenticated(INVALID)

    @property
    def _tokens(self) -> Tokens:
        settings = self._service.settings
        return replace(
            settings.tokens,
            audience=f"{settings.tokens.audience} {KIND}",
            lifetime=settings.refresh_lifetime,
        )

    def _find(self, token: t.Any) -> tuple[Record | None, int]:
        """Return the session of a refresh token, if any, and how many followed it."""
        try:
            claims = self._tokens.claims_of(token)
        except NotAuthenticated:
            return None, 0

        session = self._session_of(claims)
        age = 0 if session is None else int(session["digest"]) - int(claims["jti"])
        return session, age

    def _is_usable(self, session: Record, age: int) -> bool:
        """Return whether a token is the latest of a session, or was a moment ago."""
        time_of_use = session["expires"] - self._tokens.lifetime
        return age == 0 or (age == 1 and abs(time.time() - time_of_use) <= GRACE)

    def _user_of(self, session: Record) -> Record:
        """Return the user of a session, which ends as its first access token would."""
        claims = {
            "sub": session["owner"],
            "iat": session["issued"],
            "exp": session["expires"],
            "jti": str(UUID(session["state"])),
        }

        # A session of version 0.1.0 does not name its token.
        if TOKEN_ID.fullmatch(claims["jti"]) is None:
            raise NotAuthenticated(INVALID)

        try:
            user, hash = self._service.tokens.user_and_hash_of(claims)
        except NotAuthenticated as error:
            raise NotAuthenticated(INVALID) from error

        return VerifiedUser(user, self._service.users, hash)

    def _renew(self, session: Record) -> Record | None:
        """Count a new token of a session, or return ``None`` if another call has."""
        changes = {
            "digest": str(int(session["digest"]) + 1),
            "expires": int(time.time()) + self._tokens.lifetime,
        }
        is_renewed = self._table.replace(session["id"], session["digest"], **changes)
        return {**session, **changes} if is_renewed else None

    def _begin(self, payload: Record) -> Record:
        """Store the session of an access token, whose claims say when it ends."""
        session = {
            "id": payload[CLAIM],
            "kind": KIND,
            "owner": payload["sub"],
            "digest": "1",
            "state": UUID(payload["jti"]).hex,
            "issued": payload["iat"],
            "expires": int(time.time()) + self._tokens.lifetime,
        }
        self._table.add(session)
        return session

    def _session_of(self, claims: Record) -> Record | None:
        """Return the session that a token belongs to, if it has not ended."""
        # The token may be one of another server.
        id = claims.get(CLAIM)
        session = self._table.get(id, KIND) if isinstance(id, str) else None
        is_own = session is not None and session["owner"] == str(claims["sub"])
        return session if is_own else None

    def _token_of(self, data: Record, params: Params) -> t.Any:
        if not self._has_cookie:
            return data.get(FIELD)

        return parse_cookie(params.headers.get("Cookie", "")).get(FIELD)

    def _set_cookie(self, token: str, lifetime: int) -> None:
        """Set the cookie in the response to the current request, if it succeeds."""
        endpoint = current_routes().endpoint_of(self._service.as_service.path)
        path = current_app.url_for(endpoint, _external=False)
        is_secure = request.is_secure or current_app.config["SESSION_COOKIE_SECURE"]

        def set_cookie(response: Response) -> Response:
            if response.status_code < 400:
                response.set_cookie(
                    FIELD,
                    token,
                    max_age=lifetime,
                    path=path,
                    secure=is_secure,
                    httponly=True,
                    samesite="Strict",
                )

            return response

        after_this_request(set_cookie)


def _claims_of(session: Record) -> Record:
    """Return the claims that all tokens of a session have in common."""
    return {CLAIM: session["id"], "sub": session["owner"]}


def _can_set_cookie(params: Params) -> bool:
    """Return ``True`` for a call whose response can have a cookie: over HTTP, or in
    Python during a request, as a login at an OAuth provider is.
    """
    return has_request_context() and params.provider in (None, REST)
