"""The protocols that clients speak, and all that is different between them."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass

from .heartbeat import ClientPings
from .heartbeat import ServerPings
from .payloads import join_by_length
from .payloads import join_by_separator
from .payloads import split_by_length
from .payloads import split_by_separator

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from .engine import Engine
    from .heartbeat import Heartbeat
    from .payloads import Join
    from .payloads import Split
    from .session import Session

CONNECT_PACKET: t.Final = re.compile(r"([04])(/[^,]*,)?(.*)", re.DOTALL)
"""A packet of Socket.IO that accepts or refuses a client: type, namespace, data."""


@dataclass(frozen=True)
class Protocol:
    """A version of Engine.IO, with the version of Socket.IO that goes with it."""

    version: str
    """The version of Engine.IO, as clients name it."""

    split: Split
    """Divides the text of a body into packets."""

    join: Join
    """Combines packets to the text of a body."""

    heartbeat: Callable[[Session, Engine], Heartbeat]
    """Makes the watch over the signs of life of a client."""

    adapt: Callable[[str], str]
    """Returns a message that accepts or refuses a client in the client's form."""

    first_message: str | None
    """The message that the protocol takes for sent as a session begins."""

    body_size: int
    """The largest body, as a multiple of the largest message."""


def adapted(message: str, protocol: Protocol) -> str:
    """Return a message of Socket.IO as clients of a protocol read it."""
    return protocol.adapt(message) if message[:1] in ("0", "4") else message


def _with_error(message: str) -> str:
    """Return a message whose error is an object, as clients expect it."""
    type, namespace, data = _parts(message)

    if type == "4" and isinstance(text := json.loads(data), str):
        return f"{type}{namespace}{json.dumps({'message': text})}"

    return message


def _without_objects(message: str) -> str:
    """Return a message without what clients of Socket.IO 2 do not read: the session of
    a connection, and the object around an error.
    """
    type, namespace, data = _parts(message)

    if type == "0":
        return f"{type}{namespace}"

    error = json.loads(data)

    if isinstance(error, dict):
        error = error.get("data") or error.get("message")

    return f"{type}{namespace}{json.dumps(error)}"


def _parts(message: str) -> tuple[str, str, str]:
    match = CONNECT_PACKET.fullmatch(message)
    assert match is not None
    return match[1], match[2] or "", match[3] or "null"


MODERN: t.Final = Protocol(
    version="4",
    split=split_by_separator,
    join=join_by_separator,
    heartbeat=ServerPings,
    adapt=_with_error,
    first_message=None,
    body_size=1,
)
"""The protocol of socket.io-client 3 and 4."""

LEGACY: t.Final = Protocol(
    version="3",
    split=split_by_length,
    join=join_by_length,
    heartbeat=ClientPings,
    adapt=_without_objects,
    # Clients are connected to the default namespace without asking for it.
    first_message="0",
    # Clients are not told the size, and put all that they have to say into one body.
    body_size=16,
)
"""The protocol of socket.io-client 2."""
