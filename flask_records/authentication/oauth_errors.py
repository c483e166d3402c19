"""Errors of OAuth providers, for the log and for people."""

from __future__ import annotations

import re
import secrets
import typing as t

from authlib.common.errors import AuthlibBaseError
from joserfc.errors import ClaimError, JoseError
from requests import ConnectionError, HTTPError, RequestException, Response
from werkzeug.datastructures import WWWAuthenticate

from ..errors import GeneralError, NotAuthenticated, RecordsError

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from logging import Logger

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

FAILED: t.Final = "The login failed because of an error of this site. Try again later."

MESSAGES: t.Final = {
    "access_denied": CANCELLED,
    # LinkedIn and Apple have names of their own.
    "user_cancelled_authorize": CANCELLED,
    "user_cancelled_login": CANCELLED,
    **dict.fromkeys(
        ("server_error", "temporarily_unavailable", "slow_down", "rate_limited"),
        TRY_LATER,
    ),
    **dict.fromkeys(
        (
            "account_selection_required",
            "bad_verification_code",
            "consent_required",
            "interaction_required",
            "invalid_grant",
            "invalid_token",
            "login_required",
        ),
        TRY_AGAIN,
    ),
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
        self.place = place
        super().__init__(self.code)


def raise_error_in(response: Response, place: str) -> None:
    """Raise the error that a response tells of in its body, or in its header
    ``WWW-Authenticate``, if there is one.

    :param place: The endpoint.
    :raises ProviderError: There is one.
    """
    try:
        body = response.json()
    except ValueError:
        body = None

    if not isinstance(body, dict) or not isinstance(body.get("error"), str):
        header = WWWAuthenticate.from_header(response.headers.get("WWW-Authenticate"))
        body = {} if header is None else header.parameters

    error = ProviderError(body.get("error"), place)

    if error.code:
        raise error


def new_reference() -> str:
    """Return an id that people can tell, and that the log has."""
    return secrets.token_hex(4)


def with_reference(message: str, reference: str) -> str:
    """Return a message with the id of its entry in the log."""
    return f"{message} (Reference {reference})"


def provider_error(
    provider: Provider, error: Exception, logger: Logger
) -> RecordsError:
    """Return an error of a provider as people see it, and log its code."""
    reference = new_reference()
    code = error.code if isinstance(error, ProviderError) else ""
    log = logger.info if MESSAGES.get(code) == CANCELLED else logger.warning
    log(
        "The login at %s failed (reference %s): %s",
        provider.name,
        reference,
        describe(error),
    )
    message = _message(error).format(provider.title)
    return NotAuthenticated(with_reference(message, reference))


def server_error(reference: str) -> RecordsError:
    """Return an error of the server as people see it."""
    return GeneralError(with_reference(FAILED, reference))


def describe(error: Exception) -> str:
    """Return one line on an error for the log, without a text of the provider, which
    may quote what it was sent.
    """
    if isinstance(error, ProviderError):
        return f"{error.code!r} from its {error.place}"

    name = type(error).__name__
    details = (one(error) for kind, one in DETAILS.items() if isinstance(error, kind))
    detail = next(details, "")
    return f"{name}: {detail}" if detail else name


def _reason(error: Exception) -> str:
    """Return what a failed connection wraps, which names the host and the problem."""
    first = error.args[0] if error.args else None
    return str(getattr(first, "reason", ""))


DETAILS: t.Final[Mapping[type[Exception], Callable[[t.Any], str]]] = {
    ClaimError: lambda error: error.claim,
    ConnectionError: _reason,
    HTTPError: lambda error: str(error.response.status_code),
    InvalidResponse: str,
}
"""The functions that return what the log has of an error beside its class."""


def _message(error: Exception) -> str:
    if isinstance(error, ProviderError):
        return MESSAGES.get(error.code, MISCONFIGURED) if error.code else INVALID

    if isinstance(error, HTTPError) and error.response.status_code < 500:
        return INVALID

    return SILENT if isinstance(error, RequestException) else INVALID
