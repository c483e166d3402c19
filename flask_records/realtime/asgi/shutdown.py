"""The signal that stops a server, noticed before the server waits for its clients."""

from __future__ import annotations

import signal
import threading
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

SIGNALS: t.Final = (signal.SIGTERM, signal.SIGINT)


def call_at_shutdown(function: Callable[[], object]) -> None:
    """Call a function once a signal asks the server of this process to stop, before
    the server handles it.

    Servers end the lifespan of an application after all of its connections, or kill
    them without a word. Nothing happens if the server is not in the main thread, or
    does not handle the signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    for number in SIGNALS:
        handler = signal.getsignal(number)

        if callable(handler):
            signal.signal(number, _calling(function, handler))
            # An event loop sets this for its own handlers.
            signal.siginterrupt(number, False)


def _calling(
    function: Callable[[], object],
    handler: Callable[[int, FrameType | None], object],
) -> Callable[[int, FrameType | None], None]:
    """Return a handler that calls a function before another handler."""

    def handle(number: int, frame: FrameType | None) -> None:
        function()
        handler(number, frame)

    return handle
