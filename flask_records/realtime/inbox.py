"""The packets that a client has sent, and that are to be handled."""

from __future__ import annotations

import threading
import time
import typing as t
from collections import deque
from contextlib import suppress

from engineio.exceptions import EngineIOError

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from engineio.packet import Packet

    from .session import Session

PATIENCE: t.Final = 5
"""The seconds after which a request that brings packets is answered, even if not all of
them have been handled.
"""


class Inbox:
    """Handles packets one after the other, in the order in which they arrive.

    The thread that brings packets handles them, for a few seconds. The rest is handled
    in the background, and waits for a client that does not take its answers.

    :param session: The session of the client.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._max_size: int = session.server.max_http_buffer_size
        self._packets: deque[Packet] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._is_busy = False

    @property
    def is_busy(self) -> bool:
        """``True`` while a packet is being handled."""
        return self._is_busy

    def take(self, packets: Sequence[Packet]) -> None:
        """Handle packets after those that are waiting. A client that sends faster than
        they are handled has to wait.

        :raises EngineIOError: A packet is invalid. Those after it are not handled.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._size <= self._max_size)
            self._packets.extend(packets)
            self._size += sum(len(pkt.data) for pkt in packets)

            if self._is_busy:
                return

            self._is_busy = True

        self._work(until=time.monotonic() + PATIENCE)

    def clear(self) -> None:
        """Forget the packets that are waiting."""
        with self._changed:
            self._packets.clear()
            self._size = 0
            self._changed.notify_all()

    def _work(self, until: float) -> None:
        while (pkt := self._next()) is not None:
            self._handle(pkt)
            goes_on = time.monotonic() <= until and self._session.has_room

            if self._packets and not goes_on:
                # Without another thread, this one goes on.
                with suppress(RuntimeError):
                    self._session.server.start_background_task(self._work_on)
                    return

    def _work_on(self) -> None:
        try:
            while (pkt := self._next()) is not None:
                self._session.wait_for_client()
                self._handle(pkt)
        except EngineIOError:
            self._session.end(self._session.server.reason.TRANSPORT_ERROR)

    def _handle(self, pkt: Packet) -> None:
        try:
            self._session.receive(pkt)
        except EngineIOError:
            with self._changed:
                self.clear()
                self._is_busy = False

            raise

    def _next(self) -> Packet | None:
        with self._changed:
            if not self._packets:
                self._is_busy = False
                return None

            pkt = self._packets.popleft()
            self._size -= len(pkt.data)
            self._changed.notify_all()
            return pkt
