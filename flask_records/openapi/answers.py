"""The answers to calls, as OpenAPI describes them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..authentication.records import current_records
from ..errors import CLASS_NAME
from ..http.pieces import EVENT_STREAM
from ..names import method_named, METHODS

if t.TYPE_CHECKING:
    from ..service.schemas import Schema
    from .description import CallDescription

JSON: t.Final = "application/json"

ERROR: t.Final = "Error"
"""The name of the schema of errors, and of the answer with an unnamed error."""

ERRORS: t.Final[Mapping[int | str, tuple[str, str]]] = {
    400: ("BadRequest", "The query or the data is wrong."),
    401: ("NotAuthenticated", "The call needs a valid login."),
    403: ("Forbidden", "The caller may not make the call."),
    404: ("NotFound", "There is no such record."),
    409: ("Conflict", "The call contradicts the stored data."),
    412: ("PreconditionFailed", "The record is another one than If-Match names."),
    429: ("TooManyRequests", "The caller must slow down."),
    500: ("GeneralError", "The server failed."),
    503: ("Unavailable", "The call is not possible at the moment."),
    "default": (ERROR, "Another error, of a hook or of a server in between."),
}
"""The names and the texts of errors, by status."""

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

IF_MATCH: t.Final = {
    "name": "If-Match",
    "in": "header",
    "description": "Tags of answers to a GET. A write of anything else is a 412.",
    "schema": {"type": "string"},
}
"""The header of a write that depends on the tag of what it changes."""


def reference(kind: str, name: str) -> dict[str, str]:
    """Return a reference to a part of the document that has a name."""
    return {"$ref": f"#/components/{kind}/{name}"}


def answer(description: str, schema: Schema) -> dict[str, t.Any]:
    """Return the description of an answer.

    :param schema: The schema of its body. Tools take an empty one for no type at all,
        so that it is left out.
    """
    content = {"content": {JSON: {"schema": schema}}} if schema else {}
    return {"description": description, **content}


def successes(method: str, result: Schema) -> dict[str, dict[str, t.Any]]:
    """Return the answers to calls that succeed, by status.

    :param result: The schema of the result.
    """
    if method in METHODS:
        return {"201" if method == "create" else "200": answer("Success.", result)}

    empty = answer("An empty result.", {})
    return {"200": answer("The result of a custom method.", result), "204": empty}


def streamed(method: str) -> dict[str, dict[str, t.Any]]:
    """Return the answer to a call whose result comes piece by piece, by status."""
    text = "Pieces, each as JSON in a line that begins with 'data: '."
    content: Schema = {EVENT_STREAM: {}}
    status = "201" if method == "create" else "200"
    return {status: {"description": text, "content": content}}


def error_answers() -> dict[str, dict[str, t.Any]]:
    """Return the descriptions of all errors, by name."""
    schema = reference("schemas", ERROR)
    return {name: answer(text, schema) for name, text in ERRORS.values()}


def errors_of(call: CallDescription) -> dict[str, dict[str, str]]:
    """Return references to the answers of a call that has failed, by status. Of those
    that clients can't foresee there is one, the default.
    """
    method, records = method_named(call.method), current_records
    # A token that is not valid is refused where none is needed, too.
    has_logins = bool(records.authentications)
    possible: Mapping[int | str, bool] = {
        401: has_logins,
        403: has_logins,
        404: method.has_id,
        409: method.event is not None,
        412: method.changes_records,
        429: records.limits is not None,
    }
    return {
        str(status): reference("responses", name)
        for status, (name, _) in ERRORS.items()
        if possible.get(status, True)
    }
