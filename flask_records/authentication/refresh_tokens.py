"""Refresh tokens, which renew logins."""

from __future__ import annotations

import hmac
import secrets
import time
import typing as t
from functools import partial

from flask import after_this_request, current_app, has_request_context, request
from werkzeug.http import parse_cookie

from ..errors import NotAuthenticated
from ..http.blueprint import PROVIDER as REST
from ..http.body import BODY_PARSERS, read_body
from ..http.routes import current_routes
from .strategies import ACCESS_TOKEN, Strategy
from .token_stores import (
    digest_of,
    find_by_id,
    fingerprint,
    following,
    id_of,
    is_genuine,
    issue_token,
)
from .tokens import CLAIM, VerifiedUser

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Response

    from ..service.context import HookContext, Params
    from ..service.schemas import Schema
    from ..typing import Id, Record
    from .service import AuthenticationService
    from .token_stores import StoredToken, TableTokens

KIND: t.Final = "refresh"
"""The name of the strategy, and the kind of the tokens."""

FIELD: t.Final = "refreshToken"
"""The name of the token in bodies, and of the cookie."""

RENEWED: t.Final = "renewed"
"""The key of the new token in the result of the strategy."""

GRACE: t.Final = 30
"""The seconds that a token is accepted after it was replaced: tabs of a browser renew
their login at once, and answers are lost.
"""

SALT_LENGTH: t.Final = 32
"""The number of characters of a digest that are its salt."""

INVALID: t.Final = "The refresh token is not valid. Log in again."

IN_BODY: t.Final[Mapping[str, Schema]] = {FIELD: {"type": "string"}}
"""The schema of the token in bodies."""


class RefreshTokens:
    """Renews logins: each login begins a session, whose refresh token gets a new access
    token and a new refresh token, the same ones for :data:`GRACE` seconds. A token that
    is used later ends its session, since somebody has a copy. A logout ends the
    session, and a change of the password all sessions of the user.

    :param service: The authentication service.
    :param store: Stores the tokens.
    :param cookie: ``True`` to have the refresh token in a cookie that scripts can't
        read. In the body by default.
    """

    def __init__(
        self,
        service: AuthenticationService,
        store: TableTokens,
        *,
        cookie: bool = False,
    ) -> None:
        self._service = service
        self._store = store
        self._has_cookie = cookie
        self.properties = {} if cookie else IN_BODY
        """The schemas of the fields that it adds to what a login takes and returns."""
        schema = {"properties": self.properties, "required": [*self.properties]}
        self.strategy = Strategy(self._authenticate, schema=schema)
        """The strategy, for logins only."""

    def issue(self, result: Record, params: Params) -> tuple[Record, Record]:
        """Return the claims that an access token gets, and the fields of the answer to
        a login, for a new session or one that is renewed.

        :param result: The result of a strategy.
        """
        token = result.pop(RENEWED, None) or self._begin(result["user"])
        claims = {CLAIM: id_of(token)}

        if not self._has_cookie:
            return claims, {FIELD: token}

        if _can_set_cookie(params):
            self._set_cookie(token, self._service.settings.refresh_lifetime)

        return claims, {}

    def end(self, payload: Record, params: Params) -> None:
        """End the session of an access token, as a logout does.

        :param payload: The claims of the token.
        """
        # It may be renewed at the same time.
        if stored := self._session_of(payload):
            self._store.remove(stored.id)

        if self._has_cookie and _can_set_cookie(params):
            self._set_cookie("", 0)

    def session_of(self, id: Id, params: Params) -> Record | None:
        """Return the claims of the session of a client that has no valid access token,
        but a refresh token or an access token that has expired. Return ``None`` if
        there is no such session.

        :param id: The identifier of the call, which may be a token.
        """
        token = self._token_of(_body_of(params) or {FIELD: id}, params)
        stored = find_by_id(self._store, KIND, token)

        if stored and (_is_current(stored, token) or self._replacement(stored, token)):
            return {CLAIM: stored.id, "sub": stored.owner}

        token = (params.authentication or {}).get(ACCESS_TOKEN)

        if token is None or id not in (None, token):
            return None

        payload = self._service.settings.tokens.claims_of(token)
        return payload if self._session_of(payload) else None

    def keep(self, payload: Record) -> None:
        """Keep the session of an access token after a change of the password, which
        ends all others of the user.

        :param payload: The claims of the token.
        """
        if stored := self._session_of(payload):
            state = self._state(stored.id, self._hash_of(stored.owner))
            self._store.replace(stored.id, stored.digest, state=state)

    def end_reused(self, method: str, context: HookContext) -> None:
        """End the session of a token that was replaced some time ago: an error hook,
        since what a call that fails has written is undone.
        """
        data = context.data if isinstance(context.data, dict) else {}

        if data.get("strategy") != KIND:
            return

        token = self._token_of(data, context.params)
        stored = find_by_id(self._store, KIND, token)

        if stored is None or _is_current(stored, token) or not is_genuine(token):
            return

        if self._replacement(stored, token) is None:
            self._service.end_session({CLAIM: stored.id, "sub": stored.owner})
            self._store.remove(stored.id)

    def _authenticate(
        self, service: AuthenticationService, data: Record, params: Params
    ) -> Record:
        """Return the user of a refresh token, and the token that replaces it.

        :raises NotAuthenticated: The token is not valid, was replaced, its user is
            gone, was logged out, or has another password.
        """
        if self._has_cookie and not _can_set_cookie(params):
            raise NotAuthenticated("The refresh token is a cookie: renew it over HTTP.")

        token = self._token_of(data, params)
        renewed = None

        # Another tab may replace it meanwhile.
        for _ in range(2):
            stored = find_by_id(self._store, KIND, token)

            if stored is None or stored.expires <= time.time():
                break

            renewed = self._replacement(stored, token)

            if renewed is None and not _is_current(stored, token):
                break

            user = self._user_of(stored)
            renewed = renewed or self._replace(stored, token)

            if renewed is not None:
                return {"user": user, RENEWED: renewed}

        raise NotAuthenticated(INVALID)

    def _user_of(self, stored: StoredToken) -> Record:
        """Return the user of a session.

        :raises NotAuthenticated: The user is gone, was logged out, or has another
            password.
        """
        users = self._service.lookup
        user, _ = users.load(stored.owner)
        hash = self._hash_of(user[users.id])
        is_same = stored.state == self._state(stored.id, hash)

        if not is_same or stored.issued < self._service.tokens.mark_of(user[users.id]):
            raise NotAuthenticated(INVALID)

        return VerifiedUser(user, users.service, hash)

    def _replace(self, stored: StoredToken, token: str) -> str | None:
        """Return a new token in the place of one, or ``None`` if it was replaced."""
        salt = secrets.token_hex(SALT_LENGTH // 2)
        renewed = following(token, salt)
        changes = {
            "digest": _sealed(renewed, salt),
            "expires": int(time.time()) + self._service.settings.refresh_lifetime,
        }
        is_replaced = self._store.replace(stored.id, stored.digest, **changes)
        return renewed if is_replaced else None

    def _replacement(self, stored: StoredToken, token: str) -> str | None:
        """Return the token that has replaced one a moment ago, or ``None``."""
        renewed = following(token, stored.digest[:SALT_LENGTH])
        time_of_use = stored.expires - self._service.settings.refresh_lifetime
        is_recent = abs(time.time() - time_of_use) <= GRACE
        return renewed if is_recent and _is_current(stored, renewed) else None

    def _begin(self, user: Record) -> str:
        service, id = self._service, user[self._service.id]
        return issue_token(
            self._store,
            KIND,
            id,
            service.settings.refresh_lifetime,
            basis=self._basis(service.tokens.hash_of(user)),
            # Those of a user who is logged out everywhere are before the mark.
            not_before=service.tokens.mark_of(id),
            seal=partial(_sealed, salt=secrets.token_hex(SALT_LENGTH // 2)),
        )

    def _session_of(self, payload: Record) -> StoredToken | None:
        """Return the session that an access token belongs to, if it has not ended."""
        id = payload.get(CLAIM)
        stored = self._store.get(id) if isinstance(id, str) else None
        is_own = stored is not None and stored.owner == str(payload["sub"])
        return stored if is_own else None

    def _token_of(self, data: Record, params: Params) -> t.Any:
        """Return what a client has sent as its token."""
        if not self._has_cookie:
            return data.get(FIELD)

        return parse_cookie(params.headers.get("Cookie", "")).get(FIELD)

    def _hash_of(self, id: Id) -> str | None:
        """Return the password hash that a user has now."""
        return self._service.lookup.credentials(id).get(self._service.password)

    def _state(self, id: str, hash: str | None) -> str:
        """Return the fingerprint of a session.

        :param id: The identifier of the session.
        :param hash: The password hash of the user.
        """
        return fingerprint(id, *self._basis(hash))

    def _basis(self, hash: str | None) -> tuple[t.Any, ...]:
        """Return what a session depends on. Other services may have other ways in."""
        service = self._service
        audience = service.settings.tokens.audience
        return service.users_path, hash, service.as_service.path, audience

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


def _sealed(token: str, salt: str) -> str:
    """Return the digest of a token, after the salt that it was made with."""
    return f"{salt}{digest_of(salt + token)[SALT_LENGTH:]}"


def _is_current(stored: StoredToken, token: str) -> bool:
    """Return whether a token is the latest of its session."""
    digest = _sealed(token, stored.digest[:SALT_LENGTH])
    return hmac.compare_digest(stored.digest, digest)


def _body_of(params: Params) -> Record | None:
    """Return the JSON object in the body of a logout, if there is one."""
    is_json = params.provider == REST and request.mimetype == "application/json"

    # Some clients name a type for an empty body.
    if not is_json or not request.content_length:
        return None

    body = read_body(request, "remove", BODY_PARSERS)
    return body if isinstance(body, dict) else None


def _can_set_cookie(params: Params) -> bool:
    """Return ``True`` for a call whose response can have a cookie: over HTTP, or in
    Python during a request, as a login at an OAuth provider is.
    """
    return has_request_context() and params.provider in (None, REST)
