"""An event loop in a thread of its own."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import sys
import threading
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Coroutine

T = t.TypeVar("T")

TIMEOUT: t.Final = 5
"""The seconds that the thread may take to begin, and to end. gevent does not wait for
threads without one.
"""


class EventLoop:
    """Runs coroutines of other threads. It starts with the first of them, so that a
    process may fork before.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._turn = threading.Lock()
        self._stop: asyncio.Event | None = None
        self._is_stopped = False

    def run(self, coroutine: Coroutine[t.Any, t.Any, T], timeout: float) -> T:
        """Return the result of a coroutine, which is cancelled after a timeout.

        :raises TimeoutError: It took too long.
        :raises ConnectionError: The loop is stopped.
        """
        with self._turn:
            if self._is_stopped:
                coroutine.close()
                raise ConnectionError("The event loop is stopped.")

            loop = self._started()
            running = asyncio.run_coroutine_threadsafe(coroutine, loop)

        try:
            return running.result(timeout)
        except concurrent.futures.CancelledError as error:
            raise ConnectionError("The event loop is stopped.") from error
        except concurrent.futures.TimeoutError:
            running.cancel()
            raise

    def stop(self) -> None:
        """Cancel all coroutines, and end the thread."""
        with self._turn:
            self._is_stopped = True

            if self._loop is None or self._stop is None:
                return

            self._loop.call_soon_threadsafe(self._stop.set)
            concurrent.futures.wait([self._ended], TIMEOUT)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            ready: concurrent.futures.Future[asyncio.AbstractEventLoop]
            ready = concurrent.futures.Future()
            _thread_starter()(self._run, (ready,))
            self._loop = ready.result(TIMEOUT)

        return self._loop

    def _run(self, ready: concurrent.futures.Future[asyncio.AbstractEventLoop]) -> None:
        asyncio.run(self._serve(ready))
        self._ended.set_result(None)

    async def _serve(
        self, ready: concurrent.futures.Future[asyncio.AbstractEventLoop]
    ) -> None:
        self._stop = asyncio.Event()
        ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()


def _thread_starter() -> t.Callable[[t.Callable[..., None], tuple[t.Any]], object]:
    """Return a function that starts a thread, not a greenlet: a thread can't have
    several event loops.
    """
    patched = sys.modules.get("gevent.monkey")

    if patched is not None and patched.is_module_patched("threading"):
        return t.cast(
            "t.Callable[..., object]",
            patched.get_original("_thread", "start_new_thread"),
        )

    return _thread.start_new_thread
