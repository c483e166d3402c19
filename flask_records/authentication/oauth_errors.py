"""Errors of OAuth providers, for the log and for people."""

from __future__ import annotations

import base64
import re
import secrets
import typing as t
from urllib.parse import quote
from urllib.parse import quote_plus

from authlib.common.errors import AuthlibBaseError
from joserfc.errors import JoseError
from requests import ConnectionError
from requests import HTTPError
from requests import RequestException
from requests import Response
from requests import Timeout
from requests import TooManyRedirects
from werkzeug.datastructures import WWWAuthenticate

from ..errors import GeneralError
from ..errors import NotAuthenticated
from ..errors import RecordsError
from .provider_session import InvalidResponse

if t.TYPE_CHECKING:
    from collections.abc import Iterable
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

TELLING_ERRORS: t.Final = (
    ConnectionError,
    HTTPError,
    InvalidResponse,
    JoseError,
    Timeout,
    TooManyRedirects,
)
"""The errors whose messages say what is wrong, and quote no token."""

CODE = re.compile(r"[A-Za-z_.-]{1,60}")
"""An error code of OAuth."""

MAX_DESCRIPTION: t.Final = 300
"""The number of characters of a description in the log."""

OPAQUE = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(?:\.[\w-]+)*")
"""A word that may be a token or a code."""

UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""An identifier that providers know an error by."""

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


class ProviderError(RuntimeError):
    """An error that a provider has answered with.

    :param code: Its code.
    :param description: Its description, which may quote what the provider was sent.
    :param place: The endpoint.
    :param known: Secrets that it was sent.
    """

    def __init__(
        self, code: t.Any, description: t.Any, place: str, known: Iterable[str] = ()
    ) -> None:
        self.code = code if isinstance(code, str) and CODE.fullmatch(code) else ""
        self.description = description if isinstance(description, str) else ""
        self.place = place
        self.known = tuple(known)
        super().__init__(self.code)


def raise_error_in(response: Response, place: str, known: Iterable[str] = ()) -> None:
    """Raise the error that a response tells of in its body, or in its header
    ``WWW-Authenticate``, if there is one.

    :param place: The endpoint.
    :param known: Secrets that it was sent.
    :raises ProviderError: There is one.
    """
    try:
        body = response.json()
    except ValueError:
        body = None

    if not isinstance(body, dict) or not isinstance(body.get("error"), str):
        header = WWWAuthenticate.from_header(response.headers.get("WWW-Authenticate"))
        body = {} if header is None else header.parameters

    description = body.get("error_description")
    error = ProviderError(body.get("error"), description, place, known)

    if error.code:
        raise error


def new_reference() -> str:
    """Return an id that people can tell, and that the log has."""
    return secrets.token_hex(4)


def with_reference(message: str, reference: str) -> str:
    """Return a message with the id of its entry in the log."""
    return f"{message} (Reference {reference})"


def provider_error(
    provider: Provider,
    error: Exception,
    logger: Logger,
    known: Iterable[str | None] = (),
) -> RecordsError:
    """Return an error of a provider as people see it, and log what the provider said.

    :param known: Secrets of the login, which the description may quote.
    """
    title = provider.title

    reference = new_reference()
    code = error.code if isinstance(error, ProviderError) else ""
    log = logger.info if MESSAGES.get(code) == CANCELLED else logger.warning
    log(
        "The login at %s failed (reference %s): %s",
        provider.name,
        reference,
        describe(error, [provider.secret, *_credentials(provider), *known]),
    )
    return NotAuthenticated(with_reference(_message(error).format(title), reference))


def server_error(reference: str) -> RecordsError:
    """Return an error of the server as people see it."""
    return GeneralError(with_reference(FAILED, reference))


def describe(error: Exception, known: Iterable[str | None] = ()) -> str:
    """Return one line on an error for the log, without secrets."""
    if isinstance(error, ProviderError):
        text = f"{error.code!r} from its {error.place}"
        said = safe_text(error.description, [*error.known, *known])
        return f"{text}: {said!r}" if said else text

    name = type(error).__name__
    # The messages of other errors may quote what was sent.
    is_telling = isinstance(error, TELLING_ERRORS)
    own = safe_text(str(_reason(error)), known) if is_telling else ""
    return f"{name}: {own}" if own else name


def _reason(error: Exception) -> t.Any:
    """Return what a failed connection wraps, which names the host and the problem."""
    first = error.args[0] if error.args else None
    return getattr(first, "reason", error)


def safe_text(text: str, known: Iterable[str | None] = ()) -> str:
    """Return a text for the log: one line of bounded length, without secrets."""
    # Halves of characters can't be quoted.
    for secret in (one.encode(errors="replace").decode() for one in known if one):
        for encode in (str, quote, quote_plus):
            text = text.replace(encode(secret), "[hidden]")

    text = OPAQUE.sub(_hide, text)
    text = "".join(one if one.isprintable() else " " for one in text)
    return text if len(text) <= MAX_DESCRIPTION else f"{text[:MAX_DESCRIPTION]}..."


def _hide(match: re.Match[str]) -> str:
    return match[0] if UUID.fullmatch(match[0]) else "[hidden]"


def _credentials(provider: Provider) -> list[str]:
    """Return the key and the secret as their header has them."""
    pair = f"{provider.key}:{provider.secret}"
    return [base64.b64encode(pair.encode()).decode()]


def _message(error: Exception) -> str:
    if isinstance(error, ProviderError):
        return MESSAGES.get(error.code, MISCONFIGURED) if error.code else INVALID

    if isinstance(error, HTTPError) and error.response.status_code < 500:
        return INVALID

    return SILENT if isinstance(error, RequestException) else INVALID
