"""The calls that the messages of clients make."""

from __future__ import annotations

import json
import time
import typing as t

from ..http.error_handler import body_of
from ..http.formatter import checked
from ..http.formatter import dumps
from .named_calls import context_of
from .named_calls import run

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..extension import FlaskRecords
    from ..typing import Record
    from .connection import Connection

    Message: t.TypeAlias = tuple[t.Any, ...]
    Reader: t.TypeAlias = Callable[[Message], Message]


def answer(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: Message,
    read: Reader = tuple,
) -> Record | tuple[None, t.Any]:
    """Return the answer to a message: an error, or ``None`` and the result.

    Calls of a connection run one after the other. Those that a client makes too fast
    wait, as it would wait for a slow server: to refuse them would lose them.

    :param read: Returns the message as JSON has it.
    """
    # Socket.IO would send bytes as binary data.
    arguments = json.loads(answer_json(records, connection, method, message, read))
    return arguments[0] if len(arguments) == 1 else tuple(arguments)


def answer_json(
    records: FlaskRecords,
    connection: Connection,
    method: str,
    message: Message,
    read: Reader = tuple,
    *,
    is_counted: bool = False,
) -> bytes:
    """Return the arguments of the answer to a message as JSON: an error, or ``null``
    and the result.

    :param read: Returns the message as JSON has it.
    :param is_counted: The call is counted, and has waited.
    """
    try:
        delay = 0 if is_counted else connection.count_call()

        if delay:
            time.sleep(delay)

        # A server of the application may handle messages in threads of their own.
        with connection.turn:
            context = context_of(records, method, read(message), connection.params)
            return b"[null,%b]" % dumps(checked(run(context).sent, context))
    except Exception as error:
        failure = "%s %.100r failed."
        visible = records.errors.report(error, failure, method, message[:1])
        return b"[%b]" % dumps(body_of(visible))
