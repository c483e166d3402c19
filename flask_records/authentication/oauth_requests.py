"""Requests to the views of OAuth: answers of providers, and bodies of scripts."""

from __future__ import annotations

import json
import typing as t

from flask import request

from ..errors import BadRequest
from ..errors import MethodNotAllowed
from ..http.body import parse_json
from ..http.body import read_body
from ..http.formatter import JSON
from ..http.origins import origin_of
from .oauth_errors import ProviderError

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import BodyParser
    from ..typing import Record
    from .providers import Provider
    from .redirects import Redirects

MAX_BODY: t.Final = 64 * 1024
"""The number of bytes of the largest body."""

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

    answer = _read_body({FORM: lambda request: request.form.to_dict()})
    return t.cast("dict[str, str]", answer)


def error_of(answer: Mapping[str, str]) -> ProviderError | None:
    """Return the error that the browser brings back from a provider, if there is one,
    or no code.
    """
    if "error" not in answer and "code" in answer:
        return None

    code, description = answer.get("error"), answer.get("error_description")
    return ProviderError(code, description, "authorization endpoint")


def posted_profile(answer: Mapping[str, str]) -> Record:
    """Return the profile in an answer. Apple sends a name with the first one only."""
    try:
        name = json.loads(answer.get("user", "{}"))["name"]
        parts = [name.get("firstName"), name.get("lastName")]
        return {"name": " ".join(part for part in parts if part)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # A login does not need the name.
        return {}


def read_json() -> t.Any:
    """Return the data that a script sends.

    :raises BadRequest: It is not JSON.
    :raises RequestEntityTooLarge: It is too large.
    """
    return _read_body({JSON: parse_json})


def read_connect_query(redirects: Redirects) -> dict[str, str]:
    """Return the parameters that a script asks for in a one-time address.

    :param redirects: The addresses that users may return to.
    :raises BadRequest: They are not valid.
    """
    if request.args:
        raise BadRequest("Send 'redirect' in the body.")

    if not request.content_length and "Transfer-Encoding" not in request.headers:
        return {}

    data = read_json()
    query = data if isinstance(data, dict) else {"": data}
    redirect = query.get("redirect", "")

    if query.keys() - {"redirect"} or not isinstance(redirect, str):
        raise BadRequest("The body must be an object with 'redirect', or nothing.")

    redirects.target(redirect, request.headers.get("Origin", ""))
    return {"redirect": redirect} if redirect else {}


def other_page(url: str) -> str:
    """Return the page of another origin than a view's that the request comes from, or
    nothing.

    :param url: The address of the view.
    """
    page = request.referrer or ""
    return "" if origin_of(page) == origin_of(url) else page


def _read_body(parsers: Mapping[str, BodyParser]) -> t.Any:
    limit = min(request.max_content_length or MAX_BODY, MAX_BODY)
    return read_body(request, "create", parsers, limit)
