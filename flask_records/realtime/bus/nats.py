"""The log of workers in a stream of NATS."""

from __future__ import annotations

import asyncio
import hashlib
import re
import typing as t
from urllib.parse import urlsplit

import nats
import nats.errors
from nats.aio.client import Client
from nats.js.api import StreamConfig
from nats.js.errors import Error as JetStreamError
from nats.js.errors import NoStreamResponseError
from nats.js.errors import NotFoundError

from .broker import BrokerError
from .broker import Entry
from .broker import Lost
from .event_loop import EventLoop
from .nats_consumer import Consumer
from .nats_locks import MAX_DUPLICATE_WINDOW
from .nats_locks import NATSLocks
from .nats_messages import Assembler
from .nats_messages import first_message
from .nats_messages import id_of
from .nats_messages import messages_of
from .nats_messages import number_of

if t.TYPE_CHECKING:
    from collections.abc import Coroutine

    from nats.js.client import JetStreamContext

T = t.TypeVar("T")

TIMEOUT: t.Final = 2
"""The seconds that a request or a new connection may take."""

RECENT_TIMEOUT: t.Final = 15
"""The seconds that it may take to read all entries."""

MAX_SIZE: t.Final = 64 * 1024 * 1024
"""The bytes that the messages of a log may take."""

PING_INTERVAL: t.Final = 5
"""The seconds between two pings. After two without an answer, NATS has gone away."""

RESERVED_SIZE: t.Final = 1024
"""The bytes of a message that are left for what NATS adds."""

# A timeout is an OSError.
ERRORS: t.Final = (nats.errors.Error, JetStreamError, OSError)


class NATSBroker:
    """Keeps the log in a stream of JetStream. It has one connection, in a thread of its
    own.
    """

    def __init__(
        self, url: str, channel: str, *, max_age: float = 120, max_entries: int = 10_000
    ) -> None:
        """
        :param url: The URLs of the servers, with commas between.
        :param channel: The prefix of the names of the streams.
        :param max_age: The seconds after which an entry is deleted.
        :param max_entries: The number of entries that are kept.
        :raises ValueError: A URL is invalid.
        """
        name = _name_of(channel)
        self._servers = [_checked(server.strip()) for server in url.split(",")]
        self.stream = f"{name}_log"
        """The name of the stream, and of its subject."""
        self._locks = NATSLocks(f"{name}_locks")
        self._bounds = {
            "max_msgs": max_entries,
            "max_bytes": MAX_SIZE,
            "max_age": max_age,
            "duplicate_window": min(max_age, MAX_DUPLICATE_WINDOW),
        }
        self._loop = EventLoop()
        self._client: Client | None = None
        self._connecting: asyncio.Lock | None = None
        self._consumer: Consumer | None = None
        self._position = ""
        self._assembler = Assembler()
        self._is_closed = False

    def append(self, data: bytes) -> str:
        """Append an entry, and return its id."""
        return self._run(self._append(data))

    def end(self) -> str:
        """Return the id of the last entry."""
        return self._run(self._end())

    def recent(self) -> list[Entry]:
        """Return the entries that are kept, in their order."""
        return self._run(self._recent(), RECENT_TIMEOUT)

    def read(self, after: str, timeout: float) -> list[Entry]:
        """Wait for entries, and return them in their order.

        :raises Lost: Some of them are not kept any more, or the log has begun anew.
        """
        return self._run(self._read(after, timeout), timeout + 2 * TIMEOUT)

    def lock(self, name: str, token: str, lifetime: float) -> bool:
        """Take a lock unless it is held, and return whether it was taken.

        :param lifetime: The seconds after which the lock of a worker that was killed
            is free. All locks have that of the first.
        """
        return self._run(self._lock(name, token, lifetime))

    def unlock(self, name: str, token: str) -> None:
        """Free a lock if it is still held under this token."""
        self._run(self._unlock(name, token))

    def close(self) -> None:
        """Close the connection to NATS."""
        if not self._is_closed:
            self._is_closed = True

            try:
                self._loop.run(self._disconnect(), TIMEOUT)
            except ERRORS:
                # It ends with the process.
                pass

            self._loop.stop()

    def _run(
        self, coroutine: Coroutine[t.Any, t.Any, T], timeout: float = 2 * TIMEOUT
    ) -> T:
        if self._is_closed:
            coroutine.close()
            raise BrokerError("The broker is closed.")

        try:
            return self._loop.run(coroutine, timeout)
        except ERRORS as error:
            raise BrokerError(str(error) or "NATS does not answer.") from error

    async def _append(self, data: bytes) -> str:
        client = await self._connected()

        for message in messages_of(data, client.max_payload - RESERVED_SIZE):
            number = await self._publish(message)

        return id_of(number, message)

    async def _publish(self, message: bytes) -> int:
        stream = await self._jetstream()

        try:
            answer = await stream.publish(self.stream, message)
        except NoStreamResponseError:
            await self._make_log(stream)
            answer = await stream.publish(self.stream, message)

        return answer.seq

    async def _end(self) -> str:
        stream = await self._jetstream()

        try:
            last = await stream.get_last_msg(self.stream, self.stream)
        except NotFoundError:
            # A message that is no entry tells the beginning of the log.
            message = first_message()
            return id_of(await self._publish(message), message)

        return id_of(last.seq or 0, last.data or b"")

    async def _recent(self) -> list[Entry]:
        stream = await self._jetstream()

        try:
            state = (await stream.stream_info(self.stream)).state
        except NotFoundError:
            return []

        if state.messages == 0:
            return []

        return await self._entries(state.first_seq, state.last_seq)

    async def _entries(self, first: int, last: int) -> list[Entry]:
        consumer = Consumer(await self._connected())
        assembler = Assembler()
        entries = []
        number = 0

        try:
            await consumer.open(self.stream, first)

            while number < last:
                for number, data in await consumer.next(TIMEOUT):
                    try:
                        entry = assembler.add(number, data)
                    except Lost:
                        # It is older than those that are kept.
                        continue

                    entries += [entry] if entry else []
        finally:
            await consumer.close()

        return entries

    async def _read(self, after: str, timeout: float) -> list[Entry]:
        try:
            if self._consumer is None or self._position != after:
                self._consumer = await self._consumer_from(after)

            messages = await self._consumer.next(timeout)
            entries = [self._assembler.add(*message) for message in messages]
        except BaseException:
            await self._stop_reading()
            raise

        complete = [entry for entry in entries if entry]
        self._position = complete[-1].id if complete else after
        return complete

    async def _consumer_from(self, after: str) -> Consumer:
        """Return a consumer that goes on after a message."""
        number = number_of(after)
        await self._stop_reading()
        stream = await self._jetstream()

        try:
            last = (await stream.stream_info(self.stream)).state.last_seq
        except NotFoundError:
            last = 0

        if number == 0 or number > last:
            raise Lost("The log has begun anew.")

        self._consumer = consumer = Consumer(await self._connected())
        await consumer.open(self.stream, number)
        first = await consumer.first(TIMEOUT)

        if id_of(*first) != after:
            raise Lost(f"The entry {after} is not kept any more.")

        return consumer

    async def _stop_reading(self) -> None:
        consumer, self._consumer = self._consumer, None

        if consumer is not None:
            await consumer.close()

    async def _lock(self, name: str, token: str, lifetime: float) -> bool:
        return await self._locks.lock(await self._jetstream(), name, token, lifetime)

    async def _unlock(self, name: str, token: str) -> None:
        await self._locks.unlock(await self._jetstream(), name, token)

    async def _make_log(self, stream: JetStreamContext) -> None:
        config = StreamConfig(name=self.stream, subjects=[self.stream])
        await stream.add_stream(config.evolve(**self._bounds))

    async def _update_log(self, stream: JetStreamContext) -> None:
        """Give the stream the bounds of this worker, if it is there."""
        try:
            config = (await stream.stream_info(self.stream)).config
        except NotFoundError:
            return

        updated = config.evolve(**self._bounds)

        if updated != config:
            await stream.update_stream(updated)

    async def _jetstream(self) -> JetStreamContext:
        return (await self._connected()).jetstream(timeout=TIMEOUT)

    async def _connected(self) -> Client:
        """Return the connection, which is made if there is none."""
        self._connecting = self._connecting or asyncio.Lock()

        async with self._connecting:
            if self._client is None or self._client.is_closed:
                self._locks.forget()
                self._client = await self._connect()

            return self._client

    async def _connect(self) -> Client:
        client = Client()
        errors: list[Exception] = []

        async def remember(error: Exception) -> None:
            errors.append(error)

        try:
            await asyncio.wait_for(
                client.connect(
                    self._servers,
                    error_cb=remember,
                    allow_reconnect=False,
                    connect_timeout=TIMEOUT,
                    reconnect_time_wait=0,
                    max_reconnect_attempts=1,
                    ping_interval=PING_INTERVAL,
                ),
                TIMEOUT,
            )
        except ERRORS as error:
            await client.close()
            reason = errors[-1] if errors else error
            raise BrokerError(f"NATS can't be reached: {reason}") from error

        try:
            await self._update_log(client.jetstream(timeout=TIMEOUT))
        except BaseException:
            await client.close()
            raise

        return client

    async def _disconnect(self) -> None:
        if self._client is not None:
            await self._client.close()


def _checked(url: str) -> str:
    parts = urlsplit(url)

    # The port is checked as it is read.
    if not parts.hostname or parts.port == 0:
        raise ValueError("it names no server.")

    return url


def _name_of(channel: str) -> str:
    """Return a name for a channel that streams may have."""
    if re.fullmatch("[A-Za-z0-9_-]{1,100}", channel):
        return channel

    digest = hashlib.sha256(channel.encode()).hexdigest()[:16]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', channel)[:100]}_{digest}"
