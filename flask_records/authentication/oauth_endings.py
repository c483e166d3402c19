"""Responses of the views of OAuth: redirects, and errors that end a login."""

from __future__ import annotations

import typing as t

from ..errors import is_answer
from ..errors import RecordsError
from ..globals import current_records
from ..http.formatter import empty
from .oauth_errors import new_reference
from .oauth_errors import server_error

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Response

    from .oauth_strategy import OAuthStrategy
    from .providers import Provider


def ending(
    provider: Provider,
    strategy: OAuthStrategy,
    target: str | None,
    respond: Callable[[], Response],
) -> Response:
    """Return the response of a part of a login, or of its failure.

    :param target: The address that the user returns to, if there is one.
    :param respond: Returns the response of the part.
    :raises RecordsError: The part failed, and there is no address to return to.
    """
    try:
        return respond()
    except Exception as error:
        is_records_error = isinstance(error, RecordsError)

        if is_answer(error) or (target is None and is_records_error):
            raise

        # Whatever fails, the user returns to the page.
        visible = _visible(provider, error)

        if target is None:
            return current_records.errors.answer(visible)

        return redirect_to(strategy.failure_url(target, visible))


def redirect_to(url: str) -> Response:
    """Return a redirect whose body does not show what is in the address."""
    response = empty(302)
    response.location = url
    return response


def _visible(provider: Provider, error: Exception) -> RecordsError:
    """Return an error as the user sees it, and log that of the server."""
    if isinstance(error, RecordsError) and (error.code or 500) < 500:
        return error

    reference = new_reference()
    failure = "The login at %s failed (reference %s)."
    errors = current_records.errors
    visible = errors.report(error, failure, provider.name, reference)
    return server_error(reference) if visible.code == 500 else visible
