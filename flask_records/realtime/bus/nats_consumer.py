"""The messages of a stream of NATS, in their order."""

from __future__ import annotations

import asyncio
import time
import typing as t
from collections import deque

from nats.js.api import AckPolicy
from nats.js.api import ConsumerConfig
from nats.js.api import DeliverPolicy

from .broker import BrokerError
from .broker import Lost

if t.TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

HEARTBEAT: t.Final = 1
"""The seconds after which NATS tells that there is no message."""

MAX_SILENCE: t.Final = 5
"""The seconds without messages and heartbeats after which a consumer is gone."""

READ_SIZE: t.Final = 200
"""The maximum number of messages that are read at once."""

MAX_UNREAD: t.Final = 10_000
"""The number of messages that may wait to be read."""

MAX_UNREAD_BYTES: t.Final = 32 * 1024 * 1024
"""Their size."""


class Message(t.NamedTuple):
    """A message of a stream."""

    number: int
    data: bytes


class Consumer:
    """Receives the messages of a stream from one on, none of which it leaves out."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._subscription: Subscription | None = None
        self._arrived: deque[Msg] = deque()
        self._size = 0
        self._has_changed = asyncio.Event()
        self._latest = time.monotonic()
        self._count = 0
        self._last: int | None = None
        self._is_complete = True

    async def open(self, stream: str, first: int) -> None:
        """Begin to receive messages.

        :param stream: The name of the stream.
        :param first: The number of the first message.
        """
        inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(
            inbox, cb=self._take, pending_msgs_limit=2 * MAX_UNREAD
        )
        config = ConsumerConfig(
            deliver_subject=inbox,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=first,
            ack_policy=AckPolicy.NONE,
            idle_heartbeat=HEARTBEAT,
        )
        await self._client.jetstream().add_consumer(stream, config)

    async def next(self, timeout: float, limit: int = READ_SIZE) -> list[Message]:
        """Wait for messages, and return them in their order.

        :param limit: Their maximum number.
        :raises BrokerError: Messages did not arrive.
        :raises Lost: Messages are not kept any more.
        """
        deadline = time.monotonic() + timeout

        while True:
            self._has_changed.clear()
            messages = self._messages(limit)
            remaining = deadline - time.monotonic()

            if messages or remaining <= 0:
                return messages

            try:
                pause = min(remaining, MAX_SILENCE)
                await asyncio.wait_for(self._has_changed.wait(), pause)
            except TimeoutError:
                pass

    async def first(self, timeout: float) -> Message:
        """Wait for the first message, and return it.

        :raises BrokerError: It did not arrive.
        """
        messages = await self.next(timeout, limit=1)

        if not messages:
            raise BrokerError("NATS has sent no message.")

        return messages[0]

    async def close(self) -> None:
        """Stop receiving."""
        if self._subscription is not None and not self._client.is_closed:
            await self._subscription.unsubscribe()

    def _messages(self, limit: int) -> list[Message]:
        silence = time.monotonic() - self._latest

        if not self._is_complete or silence > MAX_SILENCE or self._client.is_closed:
            raise BrokerError("NATS has stopped sending messages.")

        messages: list[Message] = []

        while self._arrived and len(messages) < limit:
            received = self._arrived.popleft()
            self._size -= len(received.data)
            position = received.metadata.sequence
            self._count += 1

            if position.consumer != self._count:
                raise BrokerError("A message of NATS did not arrive.")

            if self._last is not None and position.stream != self._last + 1:
                raise Lost("Messages were deleted before they were read.")

            self._last = position.stream
            messages.append(Message(position.stream, received.data))

        return messages

    async def _take(self, received: Msg) -> None:
        self._latest = time.monotonic()

        # A heartbeat has no number.
        if not received.reply:
            return

        self._arrived.append(received)
        self._size += len(received.data)

        if len(self._arrived) > MAX_UNREAD or self._size > MAX_UNREAD_BYTES:
            self._is_complete = False

        self._has_changed.set()
