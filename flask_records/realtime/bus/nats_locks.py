"""Locks of workers in a stream of NATS."""

from __future__ import annotations

import hashlib
import typing as t

from nats.js.api import StorageType
from nats.js.api import StreamConfig
from nats.js.errors import APIError
from nats.js.errors import NoStreamResponseError

if t.TYPE_CHECKING:
    from nats.js.client import JetStreamContext

MAX_DUPLICATE_WINDOW: t.Final = 120
"""The default of NATS, which must not be larger than the age of messages."""

WRONG_SEQUENCE: t.Final = 10071
"""The code of the error if a subject has a message already."""


class NATSLocks:
    """Takes and frees locks: messages of a stream whose subjects have one message at
    most.

    :param name: The name of the stream, and the prefix of its subjects.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._held: dict[tuple[str, str], int] = {}

    async def lock(
        self, stream: JetStreamContext, name: str, token: str, lifetime: float
    ) -> bool:
        """Take a lock unless it is held, and return whether it was taken.

        :param lifetime: The seconds after which it is free, if it is the first one.
        """
        try:
            number = await self._publish(stream, name, token)
        except NoStreamResponseError:
            await self._make(stream, lifetime)
            number = await self._publish(stream, name, token)

        if number is None:
            return False

        self._held[name, token] = number
        return True

    def forget(self) -> None:
        """Forget the numbers of messages: another server may have others."""
        self._held.clear()

    async def _publish(
        self, stream: JetStreamContext, name: str, token: str
    ) -> int | None:
        """Publish a message unless there is one."""
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"}

        try:
            answer = await stream.publish(
                self._subject_of(name), token.encode(), headers=headers
            )
        except APIError as error:
            if error.err_code == WRONG_SEQUENCE:
                return None

            raise

        return answer.seq

    async def unlock(self, stream: JetStreamContext, name: str, token: str) -> None:
        """Free a lock if it is still held under this token."""
        number = self._held.pop((name, token), None)

        try:
            if number is None:
                # The answer to the lock may be lost.
                subject = self._subject_of(name)
                held = await stream.get_last_msg(self._name, subject)
                number = held.seq if held.data == token.encode() else None

            if number is not None:
                await stream.delete_msg(self._name, number)
        except APIError:
            # It is not held any more.
            pass

    def _subject_of(self, name: str) -> str:
        return f"{self._name}.{hashlib.sha256(name.encode()).hexdigest()[:32]}"

    async def _make(self, stream: JetStreamContext, lifetime: float) -> None:
        await stream.add_stream(
            StreamConfig(
                name=self._name,
                subjects=[f"{self._name}.*"],
                max_msgs_per_subject=1,
                max_age=lifetime,
                duplicate_window=min(lifetime, MAX_DUPLICATE_WINDOW),
                storage=StorageType.MEMORY,
            )
        )
