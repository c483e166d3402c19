"""The bodies of requests, parsed into the data of calls."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from urllib.parse import urlencode

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.exceptions import UnsupportedMediaType

from ..errors import BadRequest
from ..errors import ForeignError
from ..errors import LengthRequired
from ..errors import not_an_object
from ..query.field import shown
from .formatter import JSON
from .multipart import MultipartParser
from .qs import PARAMETER_LIMIT
from .qs import parse
from .streams import broken_body
from .streams import limit_of
from .streams import limit_stream
from .streams import read

if t.TYPE_CHECKING:
    from flask import Request

    from ..typing import BodyParser

CUTS_BODIES_OFF: t.Final = frozenset({"Granian"})
"""The servers that end a body of unknown length where a connection breaks."""

NO_DATA: t.Final = "No data provided"
CHARSETS: t.Final = frozenset({"utf-8", "utf8", "us-ascii"})
IDENTITY: t.Final = "identity"
"""The only supported content coding of bodies: none."""

BOM: t.Final = b"\xef\xbb\xbf"

REASONS: t.Final[dict[type[Exception], str]] = {
    UnicodeDecodeError: "it is not in UTF-8",
    RecursionError: "it nests too deep",
}


def _refuse_constant(name: str) -> t.NoReturn:
    raise BadRequest(f"The body is not valid JSON: {name} is not a JSON value.")


DECODER: t.Final = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_json(request: Request) -> t.Any:
    """Return the data of a JSON body. See section 4, rule 1 of the specification.

    :raises BadRequest: The body is not JSON in UTF-8.
    """
    try:
        return DECODER.decode(request.get_data().removeprefix(BOM).decode())
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {_reason(error)}.") from error


def parse_form(request: Request) -> dict[str, t.Any]:
    """Return the data of a URL-encoded form, parsed as a query string. All values are
    text, and lists of any length stay lists.

    :raises BadRequest: The body is not a form.
    """
    body = request.get_data().decode("utf-8", "replace")

    # HTTP middleware may have read the form already.
    if not body and request.form:
        body = urlencode(list(request.form.items(multi=True)))

    return parse(body, array_limit=PARAMETER_LIMIT)


BODY_PARSERS: Mapping[str, BodyParser] = {
    "application/json": parse_json,
    "application/x-www-form-urlencoded": parse_form,
}
"""The parsers of bodies by media type."""


def read_body(
    request: Request,
    method: str,
    parsers: Mapping[str, BodyParser],
    limit: int | None = None,
) -> dict[str, t.Any] | list[t.Any]:
    """Return the data of a request.

    :param limit: The maximum size of the body in bytes. That of the application, or
        :data:`.MAX_CONTENT_LENGTH`, by default.
    :raises BadRequest: There is no body, no parser supports its type, it can't be read,
        or the data is neither an object nor an array.
    :raises ForeignError: The body is compressed.
    :raises LengthRequired: The body might be cut off without notice.
    :raises RequestEntityTooLarge: The body is larger than allowed.
    """
    parser = parsers.get(request.mimetype)
    length = request.content_length

    if parser is None or not (length or _may_have_body(request)):
        raise BadRequest(NO_DATA)

    if length is None:
        _check_end(request, parser)

    _check_encoding(request)

    if not isinstance(parser, MultipartParser):
        _load(request, length, limit_of(request, limit))

    _check_charset(request)
    data = parser(request)

    if not isinstance(data, (dict, list)):
        raise not_an_object(method)

    return data


def _load(request: Request, length: int | None, limit: int) -> None:
    """Read the whole body, and keep it for parsers.

    :raises BadRequest: There is none, or it can't be read.
    :raises RequestEntityTooLarge: It is larger than allowed.
    """
    limit_stream(request, limit)
    content = _content(request, length or 0)

    if len(content) > limit:
        raise RequestEntityTooLarge

    if not (content or length or _is_chunked(request) or request.form):
        raise BadRequest(NO_DATA)


def _may_have_body(request: Request) -> bool:
    """Return whether there may be a body of unknown length."""
    # HTTP/2 has no header for it.
    is_http_2 = request.environ.get("SERVER_PROTOCOL", "").startswith("HTTP/2")
    return _is_chunked(request) or (is_http_2 and request.content_length is None)


def _is_chunked(request: Request) -> bool:
    return "Transfer-Encoding" in request.headers


def _check_end(request: Request, parser: BodyParser) -> None:
    """Refuse a body without a length if it may be cut off without notice."""
    server = request.environ.get("SERVER_SOFTWARE")

    # These show their end.
    has_end = request.mimetype == JSON or isinstance(parser, MultipartParser)

    if server in CUTS_BODIES_OFF and not has_end:
        raise LengthRequired("A body of this type needs a Content-Length.")


def _content(request: Request, length: int) -> bytes:
    """Return the whole body, and keep it for parsers.

    :param length: The number of bytes that the client announced.
    :raises BadRequest: The body is truncated, or the connection is broken.
    """
    body = read(request.get_data)

    # HTTP middleware may have read the form already.
    if len(body) < length and (body or "form" not in vars(request)):
        raise broken_body()

    return body


def _check_encoding(request: Request) -> None:
    # A look-up of a header that is not there costs an exception.
    encoding = request.environ.get("HTTP_CONTENT_ENCODING", IDENTITY)

    if encoding.strip().lower() not in ("", IDENTITY):
        reason = f"Unsupported content encoding {shown(encoding)}."
        error = ForeignError(UnsupportedMediaType(f"{reason} Send the body as it is."))
        error.headers["Accept-Encoding"] = IDENTITY
        raise error


def _check_charset(request: Request) -> None:
    charset = request.mimetype_params.get("charset", "utf-8").lower()

    if charset not in CHARSETS:
        raise BadRequest(f"Unsupported charset {shown(charset)}. Send UTF-8.")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return str(error)

    return REASONS.get(type(error), "it has a number that is too long")
