"""The answers to calls, as OpenAPI describes them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Collection, Mapping
from types import MappingProxyType

from ..errors import (
    BadRequest,
    Conflict,
    Forbidden,
    GeneralError,
    LengthRequired,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    RecordsError,
    TooManyRequests,
    Unavailable,
)
from .examples import ERRORS

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ..service.schemas import Schema

JSON: t.Final = "application/json"
HTML: t.Final = "text/html"
TEXT: t.Final = "text/plain"

SENTENCE_END = re.compile(r"(?<=\.) ")

NO_HEADERS: t.Final[Mapping[str, t.Any]] = MappingProxyType({})

Headers: t.TypeAlias = "Mapping[str, Schema]"

TEXT_HEADER: t.Final = {"type": "string"}

ETAG: t.Final[Headers] = {
    "ETag": {
        "description": "The version of the answer. Send it as If-None-Match.",
        "schema": TEXT_HEADER,
    }
}

RETRY_AFTER: t.Final[Headers] = {
    "Retry-After": {
        "description": "The seconds after which the call may be repeated.",
        "schema": {"type": "integer"},
    }
}

CHALLENGE: t.Final[Headers] = {"WWW-Authenticate": {"schema": {"const": "Bearer"}}}

ALLOW: t.Final[Headers] = {
    "Allow": {"description": "The verbs of the service.", "schema": TEXT_HEADER}
}


class ErrorAnswer(t.NamedTuple):
    """An error that documents name."""

    code: int
    """The status."""

    name: str
    """The name of the answer in a document."""

    text: str
    """A sentence about it."""

    headers: Headers = NO_HEADERS
    """The headers of the answer."""

    @classmethod
    def of(cls, error: type[RecordsError], headers: Headers = NO_HEADERS) -> t.Self:
        """Return the answer of a class of errors."""
        doc = " ".join((error.__doc__ or "").split())
        text = SENTENCE_END.split(doc, maxsplit=1)[0]
        return cls(error.code or 500, error.__name__, text, headers)


BAD_REQUEST: t.Final = ErrorAnswer.of(BadRequest)
NOT_AUTHENTICATED: t.Final = ErrorAnswer.of(NotAuthenticated, CHALLENGE)
FORBIDDEN: t.Final = ErrorAnswer.of(Forbidden)
NOT_FOUND: t.Final = ErrorAnswer.of(NotFound)
NOT_ALLOWED: t.Final = ErrorAnswer.of(MethodNotAllowed, ALLOW)
CONFLICT: t.Final = ErrorAnswer.of(Conflict)
NO_LENGTH: t.Final = ErrorAnswer.of(LengthRequired)
TOO_LARGE: t.Final = ErrorAnswer(413, "TooLarge", "The body is too large.")
BAD_MEDIA_TYPE: t.Final = ErrorAnswer(
    415, "UnsupportedMediaType", "The body is compressed. Send it as it is."
)
TOO_MANY: t.Final = ErrorAnswer.of(TooManyRequests, RETRY_AFTER)
FAILURE: t.Final = ErrorAnswer.of(GeneralError)
UNAVAILABLE: t.Final = ErrorAnswer.of(Unavailable, RETRY_AFTER)

ALL_ERRORS: t.Final = (
    BAD_REQUEST,
    NOT_AUTHENTICATED,
    FORBIDDEN,
    NOT_FOUND,
    NOT_ALLOWED,
    CONFLICT,
    NO_LENGTH,
    TOO_LARGE,
    BAD_MEDIA_TYPE,
    TOO_MANY,
    FAILURE,
    UNAVAILABLE,
)
"""The errors that documents name."""

COMMON_ERRORS: t.Final = (BAD_REQUEST, NOT_ALLOWED, FAILURE, UNAVAILABLE)
"""The errors of each call."""

BODY_ERRORS: t.Final = (NO_LENGTH, TOO_LARGE, BAD_MEDIA_TYPE)
"""The errors of each call with a body."""

ERRORS_OF: t.Final[Mapping[str, Collection[ErrorAnswer]]] = {
    "find": (),
    "get": (NOT_FOUND,),
    "create": (CONFLICT,),
    "update": (NOT_FOUND, CONFLICT),
    "patch": (NOT_FOUND, CONFLICT),
    "remove": (NOT_FOUND, CONFLICT),
}
"""The other errors of each method."""

OTHER: t.Final = "Another error, of a hook or of a server in between."
"""The description of errors that documents do not name."""

ERROR_SCHEMA: t.Final[Schema] = {
    "type": "object",
    "description": "An error.",
    "properties": {
        "name": {"type": "string", "examples": ["NotFound"]},
        "message": {"type": "string", "description": "A message for people."},
        "code": {"type": "integer", "description": "The HTTP status."},
        "className": {"type": "string", "examples": ["not-found"]},
        "data": {"description": "Details."},
        "errors": {
            "description": "The problems by the names of fields.",
            "anyOf": [{"type": "object"}, {"type": "array", "items": {}}],
        },
    },
    "required": ["name", "message", "code", "className", "errors"],
}
"""The body of an error. See section 7 of the specification."""

CONDITIONS: t.Final = (
    ("If-None-Match", "Tags of answers that the client has. One of them is a 304."),
    ("If-Match", "Tags of answers, of which weak ones never match: a 412."),
)
"""The headers of conditional requests."""


def answer(
    schema: Schema, description: str, headers: Headers = NO_HEADERS
) -> dict[str, t.Any]:
    """Return the description of an answer with a body."""
    described: dict[str, t.Any] = {"description": description}
    described |= {"headers": headers} if headers else {}
    return {**described, "content": {JSON: {"schema": schema}}}


def conditions() -> list[dict[str, t.Any]]:
    """Return the headers of a request whose answer depends on its tag."""
    return [
        {"name": name, "in": "header", "description": text, "schema": TEXT_HEADER}
        for name, text in CONDITIONS
    ]


def conditional_answers() -> dict[str, dict[str, t.Any]]:
    """Return the answers to conditional requests, by status."""
    whole = answer({}, "The condition does not hold.", ETAG)
    unchanged = {"description": "The client has the answer.", "headers": ETAG}
    return {"304": unchanged, "412": whole}


def error_answers() -> dict[str, t.Any]:
    """Return the descriptions of all errors, by name."""
    named = {error.name: _error_answer(error) for error in ALL_ERRORS}
    other = _error_answer(ErrorAnswer(500, "Error", OTHER))
    # A server refuses some requests before the application has them.
    other["content"] |= {TEXT: {"schema": {"type": "string"}}}
    return {"Error": other, **named}


def errors_of(
    method: str,
    *,
    has_body: bool,
    has_logins: bool,
    limits: Collection[str] | None,
) -> dict[str, dict[str, str]]:
    """Return the answers of a call that has failed, by status.

    :param has_body: The call has a body.
    :param has_logins: The application has logins. A token that is not valid is refused
        where none is needed, too.
    :param limits: The limits of the call, or ``None`` if the application has none.
    """
    errors = [*COMMON_ERRORS, *ERRORS_OF.get(method, ())]
    errors += BODY_ERRORS if has_body else ()
    errors += [NOT_AUTHENTICATED, FORBIDDEN] if has_logins else []
    return references_to(errors, limits)


def references_to(
    errors: Iterable[ErrorAnswer], limits: Collection[str] | None
) -> dict[str, dict[str, str]]:
    """Return references to the answers of errors, by status, and to that of others.

    :param limits: The limits of the call, or ``None`` if the application has none.
    """
    all_errors = [*errors, *([] if limits is None else [TOO_MANY])]
    named = {
        str(error.code): reference("responses", error.name)
        for error in sorted(all_errors)
    }

    if limits:
        named["429"]["description"] = f"{TOO_MANY.text} Limits: {'; '.join(limits)}."

    return named | {"default": reference("responses", "Error")}


def reference(kind: str, name: str) -> dict[str, str]:
    """Return a reference to a part of the document that has a name."""
    return {"$ref": f"#/components/{kind}/{name}"}


def _error_answer(error: ErrorAnswer) -> dict[str, t.Any]:
    content: dict[str, dict[str, t.Any]] = {
        JSON: {"schema": reference("schemas", "Error")},
        HTML: {"schema": {"type": "string"}},
    }

    if error.name in ERRORS:
        content[JSON]["example"] = ERRORS[error.name]

    described: dict[str, t.Any] = {"description": error.text, "content": content}
    return {**described, "headers": error.headers} if error.headers else described
