"""Coroutines that rarely wait, begun without a task."""

from __future__ import annotations

import asyncio
import logging
import types
import typing as t
from contextlib import suppress

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Generator

logger = logging.getLogger(__name__)

TASKS: set[asyncio.Task[None]] = set()
"""The tasks that wait. The event loop itself does not keep them."""


def run_until_it_waits(awaitable: Awaitable[t.Any]) -> None:
    """Run a coroutine until it waits. A task runs what is left."""
    # Tasks begin at once since Python 3.12 only, and cost more than a write.
    coroutine = _logged(awaitable)

    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return

    _keep(_rest(coroutine, waits_for))


def run_in_task(awaitable: Awaitable[t.Any]) -> None:
    """Run a coroutine in a task."""
    _keep(_logged(awaitable))


def _keep(coroutine: Coroutine[t.Any, t.Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(coroutine)
    TASKS.add(task)
    task.add_done_callback(TASKS.discard)


async def _logged(awaitable: Awaitable[t.Any]) -> None:
    try:
        await awaitable
    except OSError:
        # The client has gone. Its session ends by itself.
        pass
    except Exception:
        logger.exception("A packet could not be sent.")


@types.coroutine
def _rest(
    coroutine: Coroutine[t.Any, t.Any, None], waits_for: t.Any
) -> Generator[t.Any, t.Any, None]:
    """Go on with a coroutine that has begun."""
    with suppress(StopIteration):
        while True:
            try:
                value = yield waits_for
            except BaseException as error:
                waits_for = coroutine.throw(error)
            else:
                waits_for = coroutine.send(value)
