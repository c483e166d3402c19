"""Signed cookies for logins that are in progress."""

from __future__ import annotations

import hashlib
import re
import time
import typing as t
from urllib.parse import urlsplit

from flask import request
from itsdangerous import BadData
from itsdangerous import SignatureExpired
from itsdangerous import URLSafeTimedSerializer
from itsdangerous.encoding import want_bytes

from ..errors import BadRequest

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator

    from flask import Flask
    from flask import Response

    from ..typing import Record
    from .service import AuthenticationService

LIFETIME: t.Final = 10 * 60
"""The number of seconds that a user has to log in at the provider."""

MAX_LOGINS: t.Final = 5
"""The number of logins that one browser can have in progress."""

MAX_COOKIE: t.Final = 3800
"""The number of characters of the largest login. Browsers drop larger cookies."""

MAX_COOKIES: t.Final = 4096
"""The number of characters of all cookies. Servers refuse larger headers."""

NAME = re.compile(r"records_login_[0-9a-f]{11}_[0-9a-f]{16}")
"""The name of a cookie: the start of the login, and a hash of its state."""


class LoginCookies:
    """Stores each login in a cookie of its own, so that several tabs do not disturb
    each other. Only the latest are kept, since many logins are abandoned.

    :raises RuntimeError: There is no secret to sign with.
    """

    def __init__(self, app: Flask, service: AuthenticationService) -> None:
        # The last key signs.
        keys = _secrets(app, service)[::-1]
        self._serializer = URLSafeTimedSerializer(
            keys, salt="flask-records oauth login"
        )

    def add(self, response: Response, login: Record, *, posts_back: bool) -> None:
        """Store a login until its user returns, and delete those beyond the bounds.

        :raises BadRequest: The login is too large for a cookie.
        """
        text = str(self._serializer.dumps(login))

        if len(text) > MAX_COOKIE:
            raise BadRequest("The query of the login is too long.")

        now = time.time_ns() // 1_000_000
        name = f"records_login_{now:011x}_{_hash(login['state'])}"
        path = _path_of(login)
        response.set_cookie(
            name,
            text,
            max_age=LIFETIME,
            path=path,
            httponly=True,
            # Other cookies are not sent with a form that another site posts.
            samesite="None" if posts_back else "Lax",
            secure=posts_back or login["redirect_uri"].startswith("https:"),
        )

        for old in _beyond_bounds(len(name) + len(text)):
            response.delete_cookie(old, path)

    def find(self, provider: str, state: str) -> Record | None:
        """Return the login that an answer is for, if this browser began it recently."""
        logins = self._logins(provider, _names_of(state))
        return next((login for login in logins if login["state"] == state), None)

    def latest(self, provider: str) -> Record | None:
        """Return the login at a provider that this browser began last, if recently."""
        names = sorted(filter(NAME.fullmatch, request.cookies), reverse=True)
        return next(self._logins(provider, names), None)

    def _logins(self, provider: str, names: Iterable[str]) -> Iterator[Record]:
        for name in names:
            try:
                login = self._load(request.cookies[name])
            except BadData:
                continue

            if login["provider"] == provider:
                yield login

    def _load(self, text: str) -> Record:
        """Return a login that was signed recently, before or after now: the clock of
        the machine that signed it may be ahead.

        :raises BadData: It is not signed, or too old.
        """
        login, signed_at = self._serializer.loads(text, return_timestamp=True)

        if abs(time.time() - signed_at.timestamp()) > LIFETIME:
            raise SignatureExpired("The cookie has expired.")

        return t.cast("Record", login)

    def remove(self, response: Response, login: Record) -> None:
        """Delete the cookie of a login: a state is valid for one answer."""
        for name in _names_of(login["state"]):
            response.delete_cookie(name, _path_of(login))


def _secrets(app: Flask, service: AuthenticationService) -> list[bytes]:
    """Return the secrets of an application, the current one first.

    :param service: Its secret signs if the application has none.
    :raises RuntimeError: There is none.
    """
    keys = [app.secret_key, *(app.config.get("SECRET_KEY_FALLBACKS") or ())]
    settings = service.settings_of(app)

    if not app.secret_key:
        secret = settings.tokens.signing_key

        if not isinstance(secret, (str, bytes)):
            raise RuntimeError(f"{settings.name}['oauth'] needs SECRET_KEY.")

        keys = [secret]

    return [want_bytes(key) for key in keys]


def _beyond_bounds(size: int) -> Iterator[str]:
    """Yield the names of the cookies that exceed the bounds beside a new one."""
    names = sorted(filter(NAME.fullmatch, request.cookies), reverse=True)

    for count, name in enumerate(names, start=2):
        size += len(name) + len(request.cookies[name])

        if count > MAX_LOGINS or size > MAX_COOKIES:
            yield name


def _names_of(state: str) -> list[str]:
    names = filter(NAME.fullmatch, request.cookies)
    return [name for name in names if name.endswith(f"_{_hash(state)}")]


def _path_of(login: Record) -> str:
    """Return the path of all OAuth views, since a start needs the other cookies."""
    return urlsplit(login["redirect_uri"]).path.rsplit("/", 2)[0]


def _hash(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()[:16]
