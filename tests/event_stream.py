"""A client of the stream of events over plain HTTP, by hand."""

import json
import socket
from contextlib import contextmanager
from http.client import HTTPException


class EventStream:
    """An open request for events.

    :param host: The address of the server.
    :param version: The version of HTTP that the client speaks.
    """

    def __init__(self, host, path="/sse", headers=None, *, version="1.1", buffer=None):
        name, port = host.removeprefix("http://").split(":")
        self._socket = socket.socket()

        if buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)

        self._socket.settimeout(30)
        self._socket.connect((name, int(port)))
        lines = [f"GET {path} HTTP/{version}", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers = {}

        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(": ")
            self.headers[name.lower()] = value

        self._is_chunked = self.headers.get("transfer-encoding") == "chunked"

    def lines(self):
        """The lines until the end, which is told by an exception if it is none."""
        rest = b""

        while part := self._part():
            *whole, rest = (rest + part).split(b"\n")
            yield from (line.decode() for line in whole)

    def next(self):
        """The next event. Comments, by which the stream lives, do not put it off."""
        comments = 0

        for line in self.lines():
            comments += line.startswith(":")
            assert comments < 3, "There is no event."

            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))

        raise EOFError("The stream is over.")

    def end(self):
        """The events until the end, and how the stream ends: over, or broken."""
        events = []

        try:
            while True:
                events.append(self.next())
        except EOFError:
            return events, "over"
        except (HTTPException, OSError):
            return events, "broken"

    def json(self):
        """The body of an error."""
        return json.loads(self._file.read(int(self.headers["content-length"])))

    def close(self):
        self._file.close()
        self._socket.close()

    def _part(self):
        if not self._is_chunked:
            return self._file.read1()

        line = self._file.readline()

        if not line:
            raise HTTPException("The response is cut off.")

        part = self._file.read(int(line, 16))
        self._file.readline()
        return part


@contextmanager
def listening(host, path="/sse", headers=None, **options):
    """A client that has its first event."""
    stream = EventStream(host, path, headers, **options)

    try:
        assert stream.status == 200, stream.json()
        assert stream.next()["event"] == "connected"
        yield stream
    finally:
        stream.close()
