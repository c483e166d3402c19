"""The signal that stops a server, held until its clients have their answers."""

from __future__ import annotations

import asyncio
import signal
import threading
import typing as t
from functools import partial

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

SIGNALS: t.Final = (signal.SIGTERM, signal.SIGINT)


def call_at_shutdown(function: Callable[[Callable[[], object]], None]) -> None:
    """Call a function in the event loop that is running once a signal asks the server
    of this process to stop, with the function that lets the server handle it.

    Servers end the lifespan of an application after all of its connections, or close
    them without their answers. Nothing happens if the server is not in the main thread,
    or does not handle the signals. A server whose event loop handles them does it at
    once.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    loop = asyncio.get_running_loop()

    for number in SIGNALS:
        handler = signal.getsignal(number)

        if callable(handler):
            signal.signal(number, _handler(loop, function, handler))
            # An event loop sets this for its own handlers.
            signal.siginterrupt(number, False)


def _handler(
    loop: asyncio.AbstractEventLoop,
    function: Callable[[Callable[[], object]], None],
    handler: Callable[[int, FrameType | None], object],
) -> Callable[[int, FrameType | None], None]:
    """Return a handler that calls a function before another handler."""

    def handle(number: int, frame: FrameType | None) -> None:
        go_on = partial(handler, number, frame)

        try:
            loop.call_soon_threadsafe(function, go_on)
        except RuntimeError:
            # The loop is closed.
            go_on()

    return handle
