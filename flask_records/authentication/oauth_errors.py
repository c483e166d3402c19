"""Errors of OAuth providers, for the log and for people."""

from __future__ import annotations

import re
import typing as t

from authlib.common.errors import AuthlibBaseError
from flask import current_app
from joserfc.errors import ClaimError, JoseError
from requests import ConnectionError, HTTPError, RequestException, Response, Timeout

from ..errors import NotAuthenticated

if t.TYPE_CHECKING:
    from .providers import Provider

PROVIDER_ERRORS: tuple[type[Exception], ...] = (
    AttributeError,
    AuthlibBaseError,
    JoseError,
    LookupError,
    RequestException,
    RuntimeError,
    TypeError,
    ValueError,
)
"""The errors of a provider that does not respond, or whose response is invalid."""

CODE = re.compile(r"[A-Za-z_.-]{1,60}")
"""An error code of OAuth."""

CANCELLED: t.Final = "The login was cancelled."

TRY_AGAIN: t.Final = "{} did not accept the login. Try again."

TRY_LATER: t.Final = "{} has a problem. Try again later."

MISCONFIGURED: t.Final = (
    "{} refused the login, because it is not set up correctly. Tell the owner of this"
    " site."
)

SILENT: t.Final = "{} is not responding. Try again later."

INVALID: t.Final = "{} sent an invalid response. Try again later."

MESSAGES: t.Final = {
    "access_denied": CANCELLED,
    # LinkedIn and Apple have names of their own, and GitHub for `invalid_grant`.
    "user_cancelled_authorize": CANCELLED,
    "user_cancelled_login": CANCELLED,
    "server_error": TRY_LATER,
    "temporarily_unavailable": TRY_LATER,
    "bad_verification_code": TRY_AGAIN,
    "consent_required": TRY_AGAIN,
    "interaction_required": TRY_AGAIN,
    "invalid_grant": TRY_AGAIN,
    "login_required": TRY_AGAIN,
}
"""The messages of error codes. All other codes tell of wrong settings."""


class InvalidResponse(ValueError):
    """A response of a provider is not valid. The message, which has no secrets, is for
    the log.
    """


class ProviderError(RuntimeError):
    """An error that a provider has answered with.

    :param code: Its code.
    :param place: The endpoint.
    """

    def __init__(self, code: t.Any, place: str) -> None:
        self.code = code if isinstance(code, str) and CODE.fullmatch(code) else ""
        super().__init__(f"{self.code!r} from its {place}")


def raise_error_in(response: Response, place: str) -> None:
    """Raise the error that the body of a response tells of, or that of its status.

    :param place: The endpoint.
    :raises ProviderError: The body has a code.
    :raises HTTPError: The status is an error.
    """
    if response.ok:
        return

    try:
        error = ProviderError(response.json()["error"], place)
    except (LookupError, TypeError, ValueError):
        error = ProviderError(None, place)

    if error.code:
        raise error

    response.raise_for_status()


def provider_error(provider: Provider, error: Exception) -> NotAuthenticated:
    """Return an error of a provider as people see it, and log its code."""
    message = _message(error)
    logger = current_app.logger
    log = logger.info if message == CANCELLED else logger.warning
    log("The login at %s failed: %s", provider.name, _describe(error))
    return NotAuthenticated(message.format(provider.title))


def _describe(error: Exception) -> str:
    """Return one line on an error for the log, without a text of the provider, which
    may quote what it was sent.
    """
    name = type(error).__name__

    if isinstance(error, (InvalidResponse, ProviderError)):
        return f"{name}: {error}"

    if isinstance(error, HTTPError):
        return f"{name}: {error.response.status_code}"

    return f"{name}: {error.claim}" if isinstance(error, ClaimError) else name


def _message(error: Exception) -> str:
    if isinstance(error, ProviderError) and error.code:
        return MESSAGES.get(error.code, MISCONFIGURED)

    is_down = isinstance(error, HTTPError) and error.response.status_code >= 500
    is_silent = is_down or isinstance(error, (ConnectionError, Timeout))
    return SILENT if is_silent else INVALID
