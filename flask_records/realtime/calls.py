"""The calls that the messages of clients make."""

from __future__ import annotations

import typing as t

from ..http.error_handler import body_of
from ..http.formatter import checked, dumps
from .named_calls import context_of, run

if t.TYPE_CHECKING:
    from ..extension import FlaskRecords
    from .connection import Connection

    Message: t.TypeAlias = tuple[t.Any, ...]

RESERVED: t.Final = ("connect", "connect_error", "disconnect", "disconnecting")
"""The names of the events of Socket.IO itself, which no method may have."""


def answer_json(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: Message,
    *,
    is_counted: bool = False,
) -> bytes:
    """Return the arguments of the answer to a message as JSON: an error, or ``null``
    and the result.

    :param is_counted: The call is counted, and has waited. It is refused otherwise if
        it would wait too long.
    """
    try:
        if not is_counted:
            connection.count_call()

        context = context_of(records, method, message, connection.params)
        return b"[null,%b]" % dumps(checked(run(context).sent, context))
    except Exception as error:
        failure = "%s %.100r failed."
        visible = records.errors.report(error, failure, method, message[:1])
        return b"[%b]" % dumps(body_of(visible))
