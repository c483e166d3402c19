"""The logs that workers share."""

from __future__ import annotations

import typing as t


class BrokerError(Exception):
    """A broker is not available. The call may be repeated."""


class Lost(Exception):
    """Entries that a worker has not read are not kept any more."""


class Entry(t.NamedTuple):
    """An entry of a log."""

    id: str
    """The id, which tells where the log goes on."""

    data: bytes
    """The data that a worker has appended."""


class Broker(t.Protocol):
    """Keeps a log that all workers append to, and read in one order. It keeps the
    latest entries only, bounded by their age and number.

    Several threads may append and lock, while one reads. Each method raises
    :class:`BrokerError` while the broker is not available.
    """

    def append(self, data: bytes) -> str:
        """Append an entry, and return its id."""

    def end(self) -> str:
        """Return the id of the last entry, or one that stands before the first."""

    def recent(self) -> list[Entry]:
        """Return the entries that are kept, in their order."""

    def read(self, after: str, timeout: float) -> list[Entry]:
        """Wait for entries, and return them in their order.

        :param after: The id of the last entry that was read.
        :param timeout: The seconds after which it returns no entries.
        :raises Lost: Some of them are not kept any more, or the log has begun anew.
        """

    def lock(self, name: str, token: str, lifetime: float) -> bool:
        """Take a lock unless it is held, and return whether it was taken.

        :param token: Tells the holder from others.
        :param lifetime: The seconds after which the lock of a worker that was killed
            is free.
        """

    def unlock(self, name: str, token: str) -> None:
        """Free a lock if it is still held under this token."""

    def close(self) -> None:
        """Close the connections to the broker."""
