"""The bodies of requests, parsed into the data of calls."""

from __future__ import annotations

import io
import json
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from ..errors import BadRequest, LengthRequired, not_an_object
from ..names import METHODS_BY_NAME
from ..query.field import quote_value
from ..settings import COUNT
from .qs import PARAMETER_LIMIT, parse_pairs

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Request
    from werkzeug.datastructures import MultiDict

    from ..typing import BodyParser

T = t.TypeVar("T")

MAX_CONTENT_LENGTH: t.Final = 1024 * 1024
"""The maximum size of a body in bytes, if the application sets no limit."""

NO_DATA: t.Final = "No data provided"
NO_LENGTH: t.Final = "A body of this type needs a Content-Length."
NO_JSON: t.Final = (
    "The body is not valid JSON: it is compressed, not UTF-8, or has too many levels or"
    " digits."
)
BROKEN: t.Final = "The body could not be read. Send the request again."
NO_FORM: t.Final = (
    "The body is not a form. Check its boundary, that it is whole, not compressed, and"
    " UTF-8."
)
JSON_AS_FORM: t.Final = (
    "The body is JSON, but is sent as a form. Send 'Content-Type: application/json'."
)
CHARSETS: t.Final = frozenset({"utf-8", "utf8", "us-ascii"})
BOM: t.Final = b"\xef\xbb\xbf"


def _refuse_constant(name: str) -> t.NoReturn:
    raise BadRequest(f"The body is not valid JSON: {name} is not a JSON value.")


DECODER: t.Final = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_json(request: Request) -> t.Any:
    """Return the data of a JSON body. See section 4, rule 1 of the specification.

    :raises BadRequest: The body is not JSON in UTF-8.
    """
    try:
        return DECODER.decode(request.get_data().removeprefix(BOM).decode())
    except json.JSONDecodeError as error:
        raise BadRequest(f"The body is not valid JSON: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(NO_JSON) from error


def parse_form(request: Request) -> dict[str, t.Any]:
    """Return the data of a form, parsed as a query string. Values are text, or files,
    and lists of any length stay lists. A file input without a file is left out.
    """
    form = _form_of(request)

    # curl says that whatever it sends is a form.
    if str(next(iter(form), "")).startswith('{"'):
        raise BadRequest(JSON_AS_FORM)

    files = [pair for pair in request.files.items(multi=True) if pair[1].filename]
    return parse_pairs([*form.items(multi=True), *files], PARAMETER_LIMIT)


@dataclass(frozen=True)
class BoundedParser:
    """A parser of bodies that has a bound of its own."""

    max_size: int | None = None
    """The maximum size of a body in bytes, the application's by default."""

    def __post_init__(self) -> None:
        if not COUNT.or_none().is_valid(self.max_size):
            raise ValueError(
                f"'max_size' must be a positive integer, not {self.max_size!r}."
            )


@dataclass(frozen=True)
class MultipartParser(BoundedParser):
    """A parser of ``multipart/form-data``: texts as in other forms, and files as
    Werkzeug's ``FileStorage``. They are closed, and deleted, after the request. Flask's
    ``MAX_FORM_PARTS`` and ``MAX_FORM_MEMORY_SIZE`` bound its parts, and ``max_size``
    the whole form in bytes: the application's by default.
    """

    def __call__(self, request: Request) -> dict[str, t.Any]:
        """Return the data of a form, as :func:`parse_form` does."""
        return parse_form(request)


@dataclass(frozen=True)
class StreamParser(BoundedParser):
    """A parser that hands bodies over as binary files, to be read once, to the methods
    of objects. Keys of ``body_parsers`` may be ranges for it: ``image/*``, ``*/*``.
    To read more than ``max_size`` bytes, the application's maximum by default, raises a
    413, and what is cut off a 400.
    """

    def __call__(self, request: Request) -> io.BufferedReader:
        """Return the body of a request."""
        return io.BufferedReader(_Body(request.stream, request.content_length))


class _Body(io.RawIOBase):
    """A body whose broken connection is an error of the client."""

    def __init__(self, stream: t.IO[bytes], length: int | None) -> None:
        self._stream = stream
        self._missing = length or 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> int:
        data = _read(lambda: self._stream.read(len(buffer)))
        self._missing -= len(data)

        # A server may end the body where the connection breaks.
        if not data and self._missing > 0:
            raise _broken_body()

        buffer[: len(data)] = data
        return len(data)


BODY_PARSERS: Mapping[str, BodyParser] = {
    "application/json": parse_json,
    "application/x-www-form-urlencoded": parse_form,
}
"""The parsers of bodies by media type."""


def read_body(
    request: Request, method: str, parsers: Mapping[str, BodyParser]
) -> t.Any:
    """Return the data of a request: an empty object for a custom method without a body.

    :raises LengthRequired: The body has neither a length nor an end.
    """
    parser = parser_of(request, parsers)

    if parser is None:
        if request.mimetype or has_body(request):
            raise BadRequest(NO_DATA)

        return _data_without_body(method)

    limit = max_size(request, parser)
    reads_itself = isinstance(parser, (MultipartParser, StreamParser))

    if (request.content_length or 0) > limit:
        raise RequestEntityTooLarge

    # A server may end such a body where the connection breaks, which JSON and forms
    # with files show.
    shows_end = request.is_json or (reads_itself and _passes_on(request))

    if request.content_length is None and not shows_end:
        raise LengthRequired(NO_LENGTH)

    # Werkzeug silently truncates a body of unknown length at the limit.
    request.max_content_length = limit + 1

    # HTTP middleware may have read the form already.
    if not reads_itself and "form" not in vars(request):
        body = _read(request.get_data)

        if len(body) > limit:
            raise RequestEntityTooLarge

        if len(body) < (request.content_length or 0):
            raise _broken_body()

        if not body:
            # A server may have dropped it, of which custom methods know nothing.
            if has_body(request):
                raise LengthRequired(NO_LENGTH)

            return _data_without_body(method)

    if isinstance(parser, StreamParser):
        return parser(request)

    _check_charset(request)
    data = parser(request)

    if not isinstance(data, (dict, list)):
        raise not_an_object(method)

    return data


def _data_without_body(method: str) -> dict[str, t.Any]:
    if method in METHODS_BY_NAME:
        raise BadRequest(NO_DATA)

    return {}


def has_body(request: Request) -> bool:
    """Return ``True`` if a request has a body that is not empty."""
    if request.content_length is not None:
        return request.content_length > 0

    if "HTTP_TRANSFER_ENCODING" not in request.environ:
        return False

    # Some clients announce a body and send none.
    return not _passes_on(request) or bool(_read(partial(request.stream.read, 1)))


def _passes_on(request: Request) -> bool:
    """Return whether a server passes on bodies without a length, or drops them."""
    return bool(request.environ.get("wsgi.input_terminated"))


def parser_of(request: Request, parsers: Mapping[str, BodyParser]) -> BodyParser | None:
    """Return the parser of a request's media type, or of a range that it is in."""
    type = request.mimetype
    parser = parsers.get(type)

    if parser is None:
        kind = type.partition("/")[0]
        parser = parsers.get(f"{kind}/*") or parsers.get("*/*")

    return parser


def max_size(request: Request, parser: BodyParser | None) -> int:
    """Return the maximum size of a body in bytes."""
    own: int | None = getattr(parser, "max_size", None)
    return own or request.max_content_length or MAX_CONTENT_LENGTH


def _form_of(request: Request) -> MultiDict[str, str]:
    """Return the texts of a form, and read its files."""
    # HTTP middleware may have read the form already, without a notice of errors.
    if "form" in vars(request) and not (request.form or request.files):
        raise _broken_body(NO_FORM)

    request.form_data_parser_class = partial(FormDataParser, silent=False)  # type: ignore[assignment]  # it is called only

    return _read(lambda: request.form, NO_FORM)


def _read(function: Callable[[], T], message: str = BROKEN) -> T:
    """Call a function that reads from the client, whose errors are 400s."""
    try:
        return function()
    except RequestEntityTooLarge:
        raise
    except Exception as error:
        # Each server raises errors of its own.
        raise _broken_body(message) from error


def _broken_body(message: str = BROKEN) -> BadRequest:
    """Return the error for a body that could not be read to its end."""
    error = BadRequest(message)
    # The start of the next request on the connection is unknown.
    error.headers["Connection"] = "close"
    return error


def _check_charset(request: Request) -> None:
    charset = request.mimetype_params.get("charset", "utf-8").lower()

    if charset not in CHARSETS:
        raise BadRequest(f"Unsupported charset {quote_value(charset)}. Send UTF-8.")
