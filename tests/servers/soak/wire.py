"""A client of Socket.IO for asyncio: many of them fit into one process."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import struct
from contextlib import suppress

HANDSHAKE = (
    "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: {host}\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer {token}\r\n"
    "\r\n"
)
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class Closed(Exception):
    """The server has ended the connection."""

    def __init__(self, code=None, reason=""):
        super().__init__(code, reason)
        self.code = code


class Wire:
    """A connection that is logged in by its handshake.

    :param on_event: Gets the name and the record of each event.
    """

    def __init__(self, host, token, on_event):
        self._host = host
        self._token = token
        self._on_event = on_event
        self._numbers = itertools.count()
        self._answers = {}
        self._task = None
        self._writer = None

    async def open(self, *, window=None, pause=0.0):
        """Connect.

        :param window: The bytes that the system receives ahead of the client.
        :param pause: The seconds between two messages that the client reads.
        """
        address, port = self._host.split(":")
        connection = socket.socket()
        connection.setblocking(False)

        if window is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)

        loop = asyncio.get_running_loop()

        try:
            await loop.sock_connect(connection, (address, int(port)))
            self._reader, self._writer = await asyncio.open_connection(
                sock=connection, limit=window or 1 << 16
            )
        except BaseException:
            connection.close()
            raise

        request = HANDSHAKE.format(host=self._host, token=self._token)
        self._writer.write(request.encode())
        status, *_ = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")

        if b" 101 " not in status:
            raise Closed(int(status.split()[1]))

        await self._message()
        self._send("40")

        while not (text := await self._message()).startswith("40"):
            if text.startswith("44"):
                raise Closed(reason=text)

            self._take(text)

        self._task = asyncio.create_task(self._read(pause))

    async def call(self, *message):
        """The result of a call. Events that arrive before it are handled."""
        number = str(next(self._numbers))
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(f"42{number}{json.dumps(message)}")
        await asyncio.wait([answer, self._task], return_when="FIRST_COMPLETED")

        if not answer.done():
            self._task.result()

        error, *result = answer.result()
        assert error is None, error
        return result[0]

    async def listen(self, seconds):
        """Wait for some seconds, in which events are handled.

        :raises Closed: The server ends the connection.
        """
        await asyncio.wait([self._task], timeout=seconds)

        if self._task.done():
            self._task.result()

    async def _read(self, pause):
        while True:
            self._take(await self._message())

            if pause:
                await asyncio.sleep(pause)

    def freeze(self):
        """Stop reading and answering, but keep the connection."""
        self._stop_reading()

    def leave(self):
        """Say goodbye to the server."""
        self._send("41")

    def reset(self):
        """Let the server get a reset, without a word before."""
        linger = struct.pack("ii", 1, 0)
        connection = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()

    async def close(self):
        """Hang up."""
        self._stop_reading()

        if self._writer is not None:
            self._writer.close()

            with suppress(OSError):
                await self._writer.wait_closed()

    def _stop_reading(self):
        if self._task is not None:
            self._task.cancel()

    def _take(self, text):
        if text == "2":
            self._send("3")
        elif text.startswith("42"):
            self._on_event(*json.loads(text[2:]))
        elif text.startswith("43"):
            number, _, answer = text[2:].partition("[")
            self._answers.pop(number).set_result(json.loads(f"[{answer}"))

    def _send(self, text, opcode=TEXT):
        data = text.encode() if isinstance(text, str) else text
        size, mask = len(data), os.urandom(4)
        length = struct.pack("!B", 0x80 | size)

        if size > 125:
            length = struct.pack("!BH", 0x80 | 126, size)

        key = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(data, "big") ^ int.from_bytes(key, "big")
        frame = struct.pack("!B", 0x80 | opcode) + length + mask
        self._writer.write(frame + masked.to_bytes(size, "big"))

    async def _message(self):
        try:
            while True:
                opcode, data = await self._frame()

                if opcode == TEXT:
                    return data.decode()

                if opcode == PING:
                    self._send(data, PONG)
                elif opcode == CLOSE:
                    self._send(data[:2], CLOSE)
                    code = struct.unpack("!H", data[:2])[0] if data else None
                    raise Closed(code, data[2:].decode())
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Closed from error

    async def _frame(self):
        first, size = struct.unpack("!BB", await self._reader.readexactly(2))

        if size == 126:
            [size] = struct.unpack("!H", await self._reader.readexactly(2))
        elif size == 127:
            [size] = struct.unpack("!Q", await self._reader.readexactly(8))

        return first & 0x0F, await self._reader.readexactly(size)
