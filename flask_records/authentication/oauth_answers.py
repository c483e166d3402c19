"""Answers of logins at providers, which a page gets for a one-time code.

The code itself is the answer, encrypted. It stands after the ``#``, which no server and
no log sees, and opens only for the one who has all of the following:

- the secret of the application: the address alone, in a history, is useless;
- the cookie that the callback has set, and that the exchange deletes: the code of
  another browser, or in a redirect that leads elsewhere, is useless;
- the verifier of the tab that began the login, if it sent a challenge: other tabs of
  the browser can't be sent to an answer.

Browsers keep no cookie for pages of another site. There, the verifier alone binds, if
the login began on a page of the origin that it returns to.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import typing as t
import zlib
from dataclasses import dataclass

from cryptography.fernet import Fernet
from cryptography.fernet import InvalidToken
from flask import request
from flask import Response

from ..context import Params
from ..errors import BadRequest
from ..errors import NotAuthenticated
from ..http.formatter import dumps
from ..http.formatter import JSON
from ..http.origins import origin_of
from .oauth_calls import create_login
from .oauth_cookies import is_secure
from .oauth_cookies import path_of
from .oauth_cookies import secrets_of

if t.TYPE_CHECKING:
    from flask import Flask
    from flask import Request

    from ..typing import Record
    from .oauth_settings import OAuthSettings
    from .service import AuthenticationService

LIFETIME: t.Final = 60
"""The number of seconds that a code works."""

MAX_CODE: t.Final = 2500
"""The number of characters of the longest code. Proxies refuse larger headers."""

PURPOSE: t.Final = "flask-records oauth answer"

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""The digest of a verifier."""

CODE = re.compile(r"[A-Za-z0-9_-]+")

USED_UP: t.Final = """\
This login was used, took too long, or began in another browser. Log in again.\
"""


@dataclass(frozen=True)
class Answer:
    """An encrypted answer."""

    code: str
    """The one-time code."""

    cookie: str | None
    """The value of the cookie that it needs, if it needs one."""

    login: Record
    """The login that it ends."""

    def bind(self, response: Response) -> None:
        """Set the cookie."""
        if self.cookie is not None:
            response.set_cookie(
                _cookie_of(self.code),
                self.cookie,
                max_age=LIFETIME,
                path=path_of(self.login["redirect_uri"]),
                httponly=True,
                samesite="Lax",
                secure=is_secure(self.login),
            )


class Answers:
    """Encrypts answers, and exchanges their codes for them.

    :raises RuntimeError: There is no secret to encrypt with.
    """

    def __init__(
        self, app: Flask, service: AuthenticationService, settings: OAuthSettings
    ) -> None:
        self._service = service
        self._secrets = secrets_of(app, service)
        self._has_codes = settings.response == "code"

    def seal(self, login: Record, result: Record) -> Answer | None:
        """Return the answer to a login, or ``None`` if the settings send tokens.

        :param login: The login, with the :func:`binding_of` its start.
        :param result: Its result.
        """
        if not self._has_codes:
            return None

        challenge, needs_cookie = login["binding"]
        cookie = secrets.token_urlsafe(24) if needs_cookie else None
        key = _key(self._secrets[0], login["provider"], cookie or "", challenge or "")
        code = _encrypted(key, dumps(result))

        # The exchange logs in with it.
        if len(code) > MAX_CODE and "jwt" in self._service.settings.strategies:
            code = _encrypted(key, result["accessToken"].encode())

        return Answer(code, cookie, login)

    def exchange(self, provider: str, url: str, data: t.Any) -> Response:
        """Return the response to a client that sends a code.

        :param provider: The name of the provider.
        :param url: The address of the request, as browsers see it.
        :param data: The body: an object with the code, and the verifier if it has one.
        :raises BadRequest: It is not such an object.
        :raises NotAuthenticated: The code is not valid for this client, or too old.
        """
        code, verifier = _parsed(data)
        name = _cookie_of(code)
        text = self._open(provider, code, request.cookies.get(name, ""), verifier)

        if not text.startswith(b"{"):
            data = {"strategy": "jwt", "accessToken": text.decode()}
            text = dumps(create_login(self._service, data, Params()))

        response = Response(text, 201, mimetype=JSON)

        if name in request.cookies:
            response.delete_cookie(name, path_of(url))

        return response

    def _open(self, provider: str, code: str, cookie: str, verifier: str) -> bytes:
        challenge = challenge_of(verifier) if verifier else ""

        for secret in self._secrets:
            text = _decrypted(_key(secret, provider, cookie, challenge), code)

            if text is not None:
                return text

        raise NotAuthenticated(USED_UP)


def binding_of(
    request: Request, challenge: str | None, target: str | None
) -> tuple[str | None, bool]:
    """Return the challenge of a login, and whether its answer needs a cookie.

    :param request: The request that begins it.
    :param challenge: The digest of the page's verifier, if it sent one.
    :param target: The address that the user returns to.
    :raises BadRequest: The challenge is not one.
    """
    if challenge is None:
        return None, True

    if not CHALLENGE.fullmatch(challenge):
        raise BadRequest("'challenge' is not a SHA-256 digest in Base64 for URLs.")

    # Anybody can send a browser here with a challenge of their own, but not from there.
    is_of_other_site = request.headers.get("Sec-Fetch-Site") == "cross-site"
    is_of_target = origin_of(request.referrer or "") == origin_of(target or "")
    return challenge, not (is_of_other_site and is_of_target)


def challenge_of(verifier: str) -> str:
    """Return the challenge for a verifier."""
    digest = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _parsed(data: t.Any) -> tuple[str, str]:
    code = data.get("code") if isinstance(data, dict) else None
    verifier = data.get("verifier", "") if isinstance(data, dict) else None

    if (
        not isinstance(code, str)
        or not isinstance(verifier, str)
        or data.keys() - {"code", "verifier"}
    ):
        raise BadRequest("The body must be an object with 'code' and 'verifier'.")

    return code, verifier


def _key(secret: bytes, *parts: str) -> bytes:
    """Return the key of an answer, by all that its receiver has to show."""
    message = "\0".join([PURPOSE, *parts]).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(secret, message, hashlib.sha256))


def _encrypted(key: bytes, text: bytes) -> str:
    # The padding would be escaped in an address.
    return Fernet(key).encrypt(zlib.compress(text)).decode().rstrip("=")


def _decrypted(key: bytes, code: str) -> bytes | None:
    """Return the text of a code, or ``None`` with another key, or after a minute."""
    if not CODE.fullmatch(code):
        return None

    try:
        padded = code + "=" * (-len(code) % 4)
        return zlib.decompress(Fernet(key).decrypt(padded, ttl=LIFETIME))
    except InvalidToken:
        return None


def _cookie_of(code: str) -> str:
    """Return the name of the cookie of a code: several tabs have one each."""
    digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
    return f"records_answer_{digest[:16]}"
