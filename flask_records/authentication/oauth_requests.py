"""Requests to the views of OAuth: starts of logins and answers of providers."""

from __future__ import annotations

import json
import typing as t

from flask import request

from ..errors import BadRequest
from ..errors import MethodNotAllowed
from ..http.body import read_body
from ..http.origins import origin_of
from .oauth_errors import ProviderError
from .oauth_strategy import explaining_refusals

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import Record
    from .providers import Provider
    from .service import AuthenticationService

MAX_BODY: t.Final = 64 * 1024
"""The number of bytes of the largest answer that a provider posts."""

FORM: t.Final = "application/x-www-form-urlencoded"


def read_answer(provider: Provider) -> dict[str, str]:
    """Return the answer that the browser brings, or posts, from a provider.

    :raises MethodNotAllowed: It is posted, and the provider does not do so.
    """
    if request.method != "POST":
        return request.args.to_dict()

    if not provider.posts_back:
        error = MethodNotAllowed(f"{provider.title} does not answer by POST.")
        error.headers["Allow"] = "GET, HEAD, OPTIONS"
        raise error

    limit = min(request.max_content_length or MAX_BODY, MAX_BODY)
    parsers = {FORM: lambda request: request.form.to_dict()}
    return t.cast("dict[str, str]", read_body(request, "create", parsers, limit))


def error_of(answer: Mapping[str, str]) -> ProviderError | None:
    """Return the error that the browser brings back from a provider, if there is one,
    or no code.
    """
    if "error" not in answer and "code" in answer:
        return None

    return ProviderError(answer.get("error"), "authorization endpoint")


def posted_profile(answer: Mapping[str, str]) -> Record:
    """Return the profile in an answer. Apple sends a name with the first one only."""
    try:
        name = json.loads(answer.get("user", "{}"))["name"]
        parts = [name.get("firstName"), name.get("lastName")]
        return {"name": " ".join(part for part in parts if part)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # A login does not need the name.
        return {}


def linking_claims(service: AuthenticationService, token: str | None) -> Record | None:
    """Return the claims of the user who connects a login, or ``None`` for a login that
    is not to be connected.

    :param token: The value of ``?feathers_token=``.
    :raises NotAuthenticated: The token is not valid.
    :raises BadRequest: It comes from a page of another origin.
    """
    if token is None:
        return None

    # Anybody can put an address with a token of their own into a page, and would own
    # the login of a visitor. A browser without this header proves nothing.
    if request.headers.get("Sec-Fetch-Site") != "same-origin":
        raise BadRequest(
            "'feathers_token' is accepted from pages of the same origin only, over"
            " HTTPS or on localhost."
        )

    with explaining_refusals():
        payload = service.settings.tokens.verify_token(token)
        service.tokens.user_of(payload)

    return payload


def other_page(url: str) -> str:
    """Return the page of another origin than a view's that the request comes from, or
    nothing.

    :param url: The address of the view.
    """
    page = request.referrer or ""
    return "" if origin_of(page) == origin_of(url) else page
