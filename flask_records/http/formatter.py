"""The results of calls, formatted as responses."""

from __future__ import annotations

import base64
import datetime as dt
import enum
import json
import math
import typing as t
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress

import orjson
from flask import current_app, has_app_context, request, Response
from flask.globals import request_ctx
from flask.json.provider import DefaultJSONProvider
from werkzeug.datastructures import FileStorage, Headers
from werkzeug.http import generate_etag, quote_etag

from ..errors import BadRequest, Unavailable
from ..pagination import Page
from ..query.bounds import check_answer
from ..query.conversions import moment_text
from ..service.context import NO_RESULT
from ..service.globals import current_records
from ..service.results import (
    as_record,
    comes_in_pieces,
    cut_throughout,
    NOBODY,
    PrivateRecord,
    shows_itself,
)

if t.TYPE_CHECKING:
    from threading import Semaphore

    from _typeshed.wsgi import WSGIEnvironment

    from ..service.context import Formatter, HookContext

JSON: t.Final = "application/json"

CALLER: t.Final = "Authorization"
"""The request header that a response depends on."""

NO_SNIFFING: t.Final = ("X-Content-Type-Options", "nosniff")

EVENT_STREAM: t.Final = "text/event-stream"

STREAM_HEADERS: t.Final = {
    "Cache-Control": "no-cache, no-store",
    # A proxy sends each piece as it comes.
    "X-Accel-Buffering": "no",
}

STREAMS: t.Final = "flask_records.streams"
"""The key of a WSGI environ with what counts the threads that may stream."""

OLD_PROTOCOLS: t.Final = ("HTTP/1.0", "HTTP/1")
"""The protocols whose answers end like ones that break off. granian names it last."""

OLD_HTTP: t.Final = (
    "A stream needs HTTP/1.1. Behind nginx, set 'proxy_http_version 1.1'."
)

END: t.Final = object()

OPTIONS = (
    orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class BrokenOff(Exception):
    """A result has failed after its first piece. It breaks the connection."""


class EmptyResponse(Response):
    """A response without a body. It is sent without the type that functions of the
    application expect of a response.
    """

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        headers = super().get_wsgi_headers(environ)

        # A function of the application may have given it a body.
        if self.calculate_content_length() == 0:
            headers.pop("Content-Type", None)

        return headers


def format_json(context: HookContext) -> Response:
    """Return the response to a call as JSON: the default formatter. See section 4.3.11
    of the specification.

    An empty result, that is ``None``, ``False``, ``0`` or an empty text, gives a 204.
    One that comes piece by piece gives a stream of Server-Sent Events.
    """
    value = context.sent

    if comes_in_pieces(value):
        viewer = context.params.user
        return stream(context, lambda piece: b"data: %b\n\n" % dumps(piece, viewer))

    if value is NO_RESULT or (not value and not isinstance(value, (list, dict, tuple))):
        return empty(context.status_code or 204)

    status = context.status_code or (201 if context.method == "create" else 200)
    body = check_answer(context.method, dumps(value, context.params.user))
    return json_response(body, status)


def format_pieces(
    content_type: str, encode: Callable[[t.Any], bytes | str]
) -> Formatter:
    """Return a formatter of results that come piece by piece, such as exports. Others
    are sent as JSON.

    :param content_type: The media type of the response.
    :param encode: Returns the bytes or the text of a piece, as its caller may see it.
    """

    def format(context: HookContext) -> Response:
        viewer = context.params.user

        def encode_piece(piece: t.Any) -> bytes:
            text = encode(cut_throughout(piece, viewer))
            return text.encode() if isinstance(text, str) else text

        if comes_in_pieces(context.sent):
            return stream(context, encode_piece, content_type)

        return format_json(context)

    return format


def stream(
    context: HookContext,
    encode: Callable[[t.Any], bytes],
    content_type: str = EVENT_STREAM,
) -> Response:
    """Return the response to a call whose result comes piece by piece. The first piece
    is there; the others come while the response is sent, in the context of the request.

    :raises BadRequest: The client could not see whether it breaks or is over.
    """
    status = context.status_code or (201 if context.method == "create" else 200)
    pieces: Generator[t.Any, None, None] = context.sent
    parts: Iterator[bytes] = iter(())

    if request.environ.get("SERVER_PROTOCOL") in OLD_PROTOCOLS:
        pieces.close()
        raise BadRequest(OLD_HTTP)

    if request.method == "HEAD":
        pieces.close()
    else:
        parts = _parts(context, pieces, encode)
        next(parts)

    return Response(parts, status, STREAM_HEADERS, content_type=content_type)


def _parts(
    context: HookContext,
    pieces: Generator[t.Any, None, None],
    encode: Callable[[t.Any], bytes],
) -> Iterator[bytes]:
    """Yield nothing once the first piece is there, and then all pieces."""
    # Flask's "stream_with_context" tears the context down twice: at the end of the view
    # as well, with all that the first piece has opened.
    own: t.Any = request_ctx._get_current_object()  # type: ignore[attr-defined]  # a proxy has it

    with ExitStack() as stack:
        threads: Semaphore | None = request.environ.get(STREAMS)

        if threads is not None:
            if not threads.acquire(blocking=False):
                raise Unavailable(
                    "Too many results come piece by piece now. Try again."
                )

            stack.callback(threads.release)

        stack.enter_context(own)
        stack.callback(pieces.close)
        piece = next(pieces, END)
        yield b""

        try:
            while piece is not END:
                yield encode(piece)
                piece = next(pieces, END)
        except Exception as error:
            failure = "The result of '%s.%s' has broken off."
            place = context.path, context.method
            records = t.cast(t.Any, current_records)
            visible = records.errors.report(error, failure, *place)
            raise BrokenOff(f"{failure % place} {visible.message}") from None


def json_response(body: bytes, status: int) -> Response:
    """Return a response of JSON text."""
    headers = Headers()
    # One slice takes a fraction of the time of an addition for each.
    headers[:] = [("Content-Type", JSON), ("Content-Length", str(len(body)))]
    return Response([body], status, headers)


def weak_etag(response: Response) -> str:
    """Return Werkzeug's ``ETag`` of a body that is a sequence, as a weak one."""
    parts: t.Any = response.response
    is_one = type(parts) is list and len(parts) == 1 and type(parts[0]) is bytes
    body = parts[0] if is_one else response.get_data()
    return quote_etag(generate_etag(body), weak=True)


def empty(status: int = 204) -> Response:
    """Return a response without a body."""
    return EmptyResponse(status=status)


def forbid_sniffing(response: Response) -> Response:
    """Stop browsers from guessing a ``Content-Type``. An ``after_request`` function."""
    response.headers.setdefault(*NO_SNIFFING)
    return response


def vary(headers: Headers, name: str) -> None:
    """Add the name of a request header to ``Vary``, which may have several lines."""
    # Werkzeug's "response.vary" drops all lines but the first.
    names = [
        part.strip() for line in headers.getlist("Vary") for part in line.split(",")
    ]

    if "*" not in names and name.lower() not in map(str.lower, names):
        headers["Vary"] = ", ".join([*filter(None, names), name])


def dumps(value: t.Any, viewer: t.Any = NOBODY) -> bytes:
    """Return a value as JSON text.

    Times are ISO 8601 in UTC, naive ones taken for UTC. Decimals and UUIDs are text,
    bytes are base64, intervals are seconds, enums are their value. Files are their
    names. NaN and infinity are null. Other types go by the ``default`` of the
    application's JSON provider, or by a ``__str__`` of their own.

    :param value: A record, a page, or anything made of JSON's types and the above.
    :param viewer: The user who gets it, or ``None`` for an anonymous client: records
    that calls in Python have returned have no other fields than this user may see. No
    field that a rule may hide by default.
    :raises TypeError: The value holds something else.
    """

    def encode(item: t.Any) -> t.Any:
        # Most are times, of which a page may have thousands.
        if type(item) is dt.datetime:
            return moment_text(item)

        return encode_value(item, viewer)

    try:
        return orjson.dumps(value, default=encode, option=OPTIONS)
    except TypeError:
        # orjson refuses integers of more than 64 bits and halves of surrogate pairs.
        return json.dumps(as_json(value, viewer), allow_nan=False).encode()


def encode_value(value: t.Any, viewer: t.Any = NOBODY) -> t.Any:
    """Return a value that JSON lacks as one that it has, or raise :exc:`TypeError`."""
    if isinstance(value, PrivateRecord):
        return value.cut_for(viewer)

    for type_, encode in ENCODERS.items():
        if isinstance(value, type_):
            return encode(value)

    record = as_record(value, "A value in a result")

    if record is not None:
        return record

    provider = current_app.json if has_app_context() else None
    default = getattr(provider, "default", DefaultJSONProvider.default)

    if default is not DefaultJSONProvider.default:
        with suppress(TypeError):
            return default(value)

    # The application's own types of columns may define their text.
    if shows_itself(type(value)):
        return str(value)

    raise TypeError(
        f"'{type(value).__name__}' has no form on the wire. Give its class a __str__,"
        " or the application's JSON provider a 'default' for it."
    )


def as_json(value: t.Any, viewer: t.Any = NOBODY) -> t.Any:
    """Return a value made of JSON's types alone, as :func:`dumps` encodes it."""
    if isinstance(value, dict):
        items = value.cut_for(viewer) if isinstance(value, PrivateRecord) else value
        # Keys may be texts that are translated when they are shown.
        return {as_json(k, viewer): as_json(each, viewer) for k, each in items.items()}

    if isinstance(value, list) or type(value) is tuple:
        return [as_json(item, viewer) for item in value]

    if isinstance(value, float) and not math.isfinite(value):
        return None

    is_plain = value is None or type(value) in (str, int, float, bool)
    return value if is_plain else as_json(encode_value(value, viewer), viewer)


ENCODERS: dict[t.Any, Callable[[t.Any], t.Any]] = {
    enum.Enum: lambda value: value.value,
    str: str.__str__,
    int: int.__int__,
    dict: dict,
    list: list,
    dt.datetime: moment_text,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: dt.timedelta.total_seconds,
    Page: Page.to_dict,
    (bytes, bytearray, memoryview): lambda value: base64.b64encode(value).decode(),
    (set, frozenset): list,
    FileStorage: lambda file: file.filename,
}
"""The encoders of types that orjson passes through, subclasses of its own too."""
