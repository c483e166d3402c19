"""The number and the length of conversations with a provider."""

from __future__ import annotations

import threading
import typing as t
from concurrent.futures import Future

if t.TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE: t.Final = 8
"""The number of seconds of a conversation."""


class Conversations:
    """Conversations with a provider, in threads of their own: a slow one holds neither
    a login for long nor all threads of the server.

    :param deadline: The number of seconds of a conversation.
    """

    def __init__(self, limit: int, deadline: float = DEADLINE) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._deadline = deadline

    def ask(self, function: Callable[..., t.Any], *args: t.Any) -> t.Any:
        """Return the result of a function, unless it takes too long. A slow one
        continues in its thread, and counts until it ends.

        :raises TooBusy: Too many are running.
        :raises TimeoutError: It took too long.
        """
        if not self._slots.acquire(blocking=False):
            raise TooBusy

        outcome: Future[t.Any] = Future()

        def run() -> None:
            try:
                outcome.set_result(function(*args))
            except Exception as error:
                outcome.set_exception(error)
            finally:
                self._slots.release()

        thread = threading.Thread(target=run, daemon=True)

        try:
            thread.start()
        except RuntimeError:
            self._slots.release()
            raise

        # The slot is free once the thread has ended.
        thread.join(self._deadline)
        return outcome.result(timeout=0)


class TooBusy(RuntimeError):
    """Too many conversations with a provider are running."""
