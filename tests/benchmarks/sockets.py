"""Clients of Socket.IO and of HTTP for thousands of connections in one event loop."""

from __future__ import annotations

import asyncio
import json
import struct

HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


def head(line, address, token, *lines):
    """The bytes before the body of a request."""
    login = [] if token is None else [f"Authorization: Bearer {token}"]
    host, port = address
    return "\r\n".join([line, f"Host: {host}:{port}", *login, *lines, "", ""]).encode()


class Socket(asyncio.Protocol):
    """A client that is connected to Socket.IO over a WebSocket."""

    def __init__(self):
        self.events = []
        """The number in the text of each event's record, in their order."""
        self.times = []
        """The time of arrival of each event."""
        self.is_open = False
        self._data = b""
        self._is_upgraded = False
        self._answers = {}
        self._calls = 0
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()

    @classmethod
    async def connect(cls, address, token=None):
        """Return a client whose connection the server has accepted.

        :raises ConnectionError: The server has refused it.
        """
        loop = asyncio.get_running_loop()
        transport, self = await loop.create_connection(cls, *address)
        line = "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1"
        transport.write(head(line, address, token, *HANDSHAKE))
        await asyncio.wait_for(self._ready, 60)
        return self

    async def call(self, *message):
        """Return the result of a call.

        :raises RuntimeError: The answer is an error.
        """
        self._calls += 1
        answer = self._answers[self._calls] = self._loop.create_future()
        self._send(f"42{self._calls}{json.dumps(message)}".encode())
        error, *result = await asyncio.wait_for(answer, 60)

        if error is not None:
            raise RuntimeError(error["message"])

        return result[0]

    def forget(self):
        """Forget the events until now."""
        self.events.clear()
        self.times.clear()

    def close(self):
        self._transport.close()

    def connection_made(self, transport):
        self._transport = transport

    def connection_lost(self, error):
        self.is_open = False
        lost = ConnectionError("The server has closed a connection.")

        for future in (self._ready, *self._answers.values()):
            if not future.done():
                future.set_exception(lost)

    def data_received(self, data):
        data = self._data + data

        if not self._is_upgraded:
            response, end, data = data.partition(b"\r\n\r\n")

            if not end:
                self._data = response
                return

            if b" 101 " not in response.split(b"\r\n")[0]:
                self._transport.abort()
                return

            self._is_upgraded = True

        while (frame := frame_in(data)) is not None:
            text, data = frame
            self._take(text)

        self._data = data

    def _take(self, text):
        if text.startswith(b"42"):
            self.times.append(self._loop.time())
            self.events.append(int(json.loads(text[2:])[1]["text"]))
        elif text == b"2":
            self._send(b"3")
        elif text.startswith(b"43"):
            id, _, answer = text[2:].partition(b"[")
            self._answers.pop(int(id)).set_result(json.loads(b"[" + answer))
        elif text.startswith(b"40"):
            self.is_open = True
            self._ready.set_result(None)
        elif text.startswith(b"0"):
            self._send(b"40")

    def _send(self, text):
        short = len(text) < 126
        size = (
            bytes([0x80 | len(text)]) if short else struct.pack("!BH", 0xFE, len(text))
        )
        # The mask is zero: the text stays as it is.
        self._transport.write(b"\x81" + size + bytes(4) + text)


def frame_in(data):
    """The text of the first frame and the data after it, if the frame is whole."""
    if len(data) < 2:
        return None

    size, start = data[1], 2

    if size == 126:
        size, start = int.from_bytes(data[2:4], "big"), 4
    elif size == 127:
        size, start = int.from_bytes(data[2:10], "big"), 10

    end = start + size
    return (data[start:end], data[end:]) if len(data) >= max(start, end) else None


class Http:
    """A client that keeps its connection open."""

    def __init__(self, address, token=None):
        self._address = address
        self._token = token
        self._streams = None

    async def request(self, verb, path, data=None):
        """Return the body of an answer.

        :raises RuntimeError: Its status is an error.
        """
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)

        reader, writer = self._streams
        body = b"" if data is None else json.dumps(data).encode()
        lines = [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        line = f"{verb} {path} HTTP/1.1"
        writer.write(head(line, self._address, self._token, *lines) + body)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        status, *headers = answer.decode().lower().split("\r\n")
        sizes = [line[15:] for line in headers if line.startswith("content-length:")]
        body = await reader.readexactly(int(sizes[0]))

        if status.split()[1] >= "400":
            raise RuntimeError(f"{status}: {body.decode()}")

        return json.loads(body)

    def close(self):
        if self._streams is not None:
            self._streams[1].close()
