"""The answers to calls, as OpenAPI describes them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..authentication.records import current_records
from ..errors import CLASS_NAME
from ..http.pieces import EVENT_STREAM
from ..names import method_named, METHODS, READS

if t.TYPE_CHECKING:
    from ..service.schemas import Schema
    from .description import CallDescription

JSON: t.Final = "application/json"

TEXT_HEADER: t.Final = {"type": "string"}

ETAG: t.Final[Mapping[str, Schema]] = {
    "ETag": {
        "description": "The version of the answer. Send it as If-None-Match.",
        "schema": TEXT_HEADER,
    }
}

RETRY_AFTER: t.Final[Mapping[str, Schema]] = {
    "Retry-After": {
        "description": "The seconds after which the call may be repeated.",
        "schema": {"type": "integer"},
    }
}

ERROR: t.Final = "Error"
"""The name of the schema of errors, and of the answer with an unnamed error."""

ERRORS: t.Final[Mapping[int | str, tuple[str, str]]] = {
    400: ("BadRequest", "The query or the data is wrong."),
    401: ("NotAuthenticated", "The call needs a valid login."),
    403: ("Forbidden", "The caller may not make the call."),
    404: ("NotFound", "There is no such record."),
    405: ("MethodNotAllowed", "The service does not have the method."),
    409: ("Conflict", "The call contradicts the stored data."),
    411: ("LengthRequired", "The body needs a Content-Length."),
    412: ("PreconditionFailed", "The record is another one than If-Match names."),
    413: ("TooLarge", "The body is too large."),
    429: ("TooManyRequests", "The caller must slow down."),
    500: ("GeneralError", "The server failed."),
    503: ("Unavailable", "The call is not possible at the moment."),
    "default": (ERROR, "Another error, of a hook or of a server in between."),
}
"""The names and the texts of errors, by status."""

ERROR_HEADERS: t.Final[Mapping[int | str, Mapping[str, Schema]]] = {
    401: {"WWW-Authenticate": {"schema": {**TEXT_HEADER, "const": "Bearer"}}},
    405: {"Allow": {"description": "Verbs of the service.", "schema": TEXT_HEADER}},
    429: RETRY_AFTER,
    503: RETRY_AFTER,
}
"""The headers of errors, by status."""

ERROR_SCHEMA: t.Final[Schema] = {
    "type": "object",
    "description": "An error.",
    "properties": {
        "name": {"type": "string", "examples": ["NotFound"]},
        "message": {"type": "string", "description": "A message for people."},
        "code": {"type": "integer", "description": "The HTTP status."},
        CLASS_NAME: {"type": "string", "examples": ["not-found"]},
        "data": {"description": "Details."},
        # An object of problems, unless the application gives a list.
        "errors": {"description": "The problems by the names of fields."},
    },
    "required": ["name", "message", "code", CLASS_NAME, "errors"],
}
"""The body of an error. See section 7 of the specification."""

IF_NONE_MATCH: t.Final = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Tags of answers that the client has. One of them is a 304.",
    "schema": TEXT_HEADER,
}
"""The header of a read whose answer depends on its tag."""

IF_MATCH: t.Final = {
    "name": "If-Match",
    "in": "header",
    "description": "Tags of answers to a GET. A write of anything else is a 412.",
    "schema": TEXT_HEADER,
}
"""The header of a write that depends on the tag of what it changes."""


def reference(kind: str, name: str) -> dict[str, str]:
    """Return a reference to a part of the document that has a name."""
    return {"$ref": f"#/components/{kind}/{name}"}


def answer(
    description: str, schema: Schema, headers: Mapping[str, Schema] | None = None
) -> dict[str, t.Any]:
    """Return the description of an answer.

    :param schema: The schema of its body. Tools take an empty one for no type at all,
        so that it is left out.
    """
    return {
        "description": description,
        **({"headers": headers} if headers else {}),
        **({"content": {JSON: {"schema": schema}}} if schema else {}),
    }


def successes(method: str, result: Schema) -> dict[str, dict[str, t.Any]]:
    """Return the answers to calls that succeed, by status.

    :param result: The schema of the result.
    """
    if method in READS:
        unchanged = answer("The client has the answer.", {}, ETAG)
        return {"200": answer("Success.", result, ETAG), "304": unchanged}

    if method in METHODS:
        return {"201" if method == "create" else "200": answer("Success.", result)}

    empty = answer("An empty result.", {})
    return {"200": answer("The result of a custom method.", result), "204": empty}


def streamed(method: str) -> dict[str, dict[str, t.Any]]:
    """Return the answer to a call whose result comes piece by piece, by status."""
    text = "Pieces, each as JSON in a line that begins with 'data: '."
    content = {EVENT_STREAM: {"schema": {"type": "string"}}}
    status = "201" if method == "create" else "200"
    return {status: {"description": text, "content": content}}


def error_answers() -> dict[str, dict[str, t.Any]]:
    """Return the descriptions of all errors, by name."""
    schema = reference("schemas", ERROR)
    return {
        name: answer(text, schema, ERROR_HEADERS.get(status))
        for status, (name, text) in ERRORS.items()
    }


def errors_of(call: CallDescription) -> dict[str, dict[str, str]]:
    """Return references to the answers of a call that has failed, by status."""
    method, records = method_named(call.method), current_records
    # A token that is not valid is refused where none is needed, too.
    has_logins = bool(records.authentications)
    possible: Mapping[int | str, bool] = {
        401: has_logins,
        403: has_logins,
        404: method.has_id,
        409: method.event is not None,
        411: method.has_data,
        412: method.changes_records,
        413: method.has_data,
        429: records.limits is not None,
    }
    return {
        str(status): reference("responses", name)
        for status, (name, _) in ERRORS.items()
        if possible.get(status, True)
    }
