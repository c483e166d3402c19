"""From the body of a request to the data of a call."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import BadRequest
from .qs import parse

if t.TYPE_CHECKING:
    from flask import Request

    from ..typing import BodyParser

MAX_CONTENT_LENGTH: t.Final = 1024 * 1024
"""The largest body in bytes, where the application sets no limit of its own."""

NO_DATA: t.Final = "No data provided"
BOM: t.Final = b"\xef\xbb\xbf"


def parse_json(request: Request) -> t.Any:
    """Return the data of a JSON body. See section 4, rule 1 of the specification.

    :raises BadRequest: The body is not JSON in UTF-8, or neither object nor array.
    """
    charset = request.mimetype_params.get("charset", "utf-8").lower()

    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise BadRequest(f"Unsupported charset '{charset}'. Send JSON in UTF-8.")

    body = request.get_data(cache=False)

    try:
        data = json.loads(
            body.removeprefix(BOM).decode(), parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {_reason(error)}.") from error

    if not isinstance(data, (dict, list)):
        raise BadRequest("The body has to be a JSON object or array.")

    return data


def parse_form(request: Request) -> dict[str, t.Any]:
    """Return the data of a URL-encoded form. Its names have brackets, as in a query
    string, and all values are text.

    :raises BadRequest: The body is not a form.
    """
    return parse(request.get_data(cache=False).decode("utf-8", "replace"))


BODY_PARSERS: Mapping[str, BodyParser] = {
    "application/json": parse_json,
    "application/x-www-form-urlencoded": parse_form,
}
"""The parsers of bodies by media type."""


def read_body(request: Request, parsers: Mapping[str, BodyParser]) -> t.Any:
    """Return the data of a request.

    :param request: The request.
    :param parsers: The parsers by media type.
    :raises BadRequest: There is no body, or none of a type that a parser takes.
    :raises RequestEntityTooLarge: The body is larger than allowed.
    """
    if request.max_content_length is None:
        request.max_content_length = MAX_CONTENT_LENGTH

    parser = parsers.get(request.mimetype)

    if parser is None or not _has_body(request):
        raise BadRequest(NO_DATA)

    if (request.content_length or 0) > request.max_content_length:
        raise RequestEntityTooLarge

    return parser(request)


def _has_body(request: Request) -> bool:
    return bool(request.content_length) or "Transfer-Encoding" in request.headers


def _refuse_constant(name: str) -> t.NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not in UTF-8"

    return "it nests too deep" if isinstance(error, RecursionError) else str(error)
