"""Bodies of requests, read in the event loop or by a thread."""

from __future__ import annotations

import io
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import WriteableBuffer

    from .polling import Receive

    Message: t.TypeAlias = Mapping[str, t.Any]

MAX_WHOLE: t.Final = 64 * 1024
"""The size of a body in bytes up to which no thread waits for the client."""


class Body(io.RawIOBase):
    """The body of a request. A thread reads it, and waits for what is missing.

    :param data: The part that has arrived.
    :param ask: Returns the next message of the server, ``None`` if there is none.
    """

    def __init__(self, data: bytes, ask: Callable[[], Message | None]) -> None:
        self._data = memoryview(data)
        self._ask = ask
        self._is_ended = False

    def readable(self) -> bool:
        """Return ``True``."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read some bytes.

        :raises ConnectionError: The client has left before the end.
        """
        while not self._data and not self._is_ended:
            message = self._ask()

            if message is None or message["type"] == "http.disconnect":
                raise ConnectionError("The client has disconnected.")

            self._data = memoryview(message.get("body", b""))
            self._is_ended = not message.get("more_body")

        target = memoryview(buffer).cast("B")
        size = min(len(target), len(self._data))
        target[:size] = self._data[:size]
        self._data = self._data[size:]
        return size


async def read_first(
    scope: Mapping[str, t.Any], receive: Receive
) -> tuple[bytes, bool]:
    """Return the first part of a body, and whether it is all of it."""
    if _may_be_refused(scope):
        return b"", False

    body, has_more = bytearray(), True

    while has_more and len(body) <= MAX_WHOLE:
        message = await receive()

        if message["type"] == "http.disconnect":
            break

        body += message.get("body", b"")
        has_more = message.get("more_body", False)

    return bytes(body), not has_more


def _may_be_refused(scope: Mapping[str, t.Any]) -> bool:
    """Return whether the application may refuse a body before the client sends it."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"")
    is_large = length.isdigit() and int(length) > MAX_WHOLE
    return is_large or b"expect" in headers
