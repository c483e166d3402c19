"""Times events from one worker to 10, 100 and 1,000 connections.

Run ``python -m tests.benchmarks.events``. One gunicorn worker serves, a second process
writes, and a third one has the connections: each takes its share of the machine. It is
done without and with a ``readable`` rule. Latency is from the commit to the arrival at
each connection.
"""

import json
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import time
from contextlib import closing
from tempfile import TemporaryDirectory

from ..realtime_clients import login_of
from ..realtime_clients import serving
from ..realtime_clients import settings_of
from ..servers import call
from ..servers import connected

COUNTS = (10, 100, 1000)
BURST = {10: 1000, 100: 500, 1000: 50}
"""How many records are created at once."""

SINGLE = 50
"""How many are created one after the other, for the latency."""

PAUSE = 0.1


class Listener:
    """A connection that reads frames and does no more with them than it has to."""

    def __init__(self, address, token):
        self.socket = socket.create_connection(address, timeout=60)
        self._left = b""
        lines = [
            "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1",
            f"Host: {address[0]}:{address[1]}",
            f"Authorization: Bearer {token}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._read_head()
        self.send(b"40")

        while not any(text.startswith(b"40") for text in self.read()):
            pass

    def send(self, text):
        # The mask is nought: the text stays what it is.
        self.socket.sendall(struct.pack("!BBI", 0x81, 0x80 | len(text), 0) + text)

    def read(self):
        """The texts of the frames that have arrived."""
        received = self.socket.recv(1 << 16)

        if not received:
            raise ConnectionError("The server has closed a connection.")

        data = self._left + received
        texts = []

        while len(data) >= 2:
            size, start = data[1], 2

            if size == 126 and len(data) >= 4:
                size, start = int.from_bytes(data[2:4], "big"), 4
            elif size == 126:
                break

            if len(data) < start + size:
                break

            texts.append(data[start : start + size])
            data = data[start + size :]

        self._left = data
        return texts

    def _read_head(self):
        head = b""

        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)

        assert b" 101 " in head, head


def listen(host, port, token, count, expected):
    """Print when the first and the last event has arrived, and all latencies."""
    listeners = {}
    selector = selectors.DefaultSelector()

    for _ in range(count):
        listener = Listener((host, port), token)
        selector.register(listener.socket, selectors.EVENT_READ, listener)
        listeners[listener] = 0

    print("ready", flush=True)
    latencies = []
    last = 0

    while any(seen < expected for seen in listeners.values()):
        for key, _ in selector.select(60) or sys.exit("Events are lost."):
            now = time.time()

            for text in key.data.read():
                if text == b"2":
                    key.data.send(b"3")
                elif text.startswith(b"42"):
                    listeners[key.data] += 1
                    last = now
                    record = json.loads(text[2:])[1]

                    if record["text"].startswith("at "):
                        latencies.append(now - float(record["text"][3:]))

    print(json.dumps({"last": last, "latencies": latencies}), flush=True)
    sys.stdin.read()


def listening(server, token, count, expected):
    """A process with connections, as soon as all of them are logged in."""
    host, port = server.host.split(":")
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "listen"]
        + [host, port, token, str(count), str(expected)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def measure(server, token, count):
    """Events a second, and how long each one took, in milliseconds."""
    with closing(connected(server.host)) as connection:
        burst = BURST[count]
        process = listening(server, token, count, burst)
        data = [{"team": "red", "text": "x" * 20}] * burst
        start = time.time()
        assert call(connection, "POST", "/items", data, token)[0] == 201
        found = json.loads(process.stdout.readline())
        process.communicate()
        per_second = burst * count / (found["last"] - start)

        process = listening(server, token, count, SINGLE)

        for _ in range(SINGLE):
            data = {"team": "red", "text": "now"}
            assert call(connection, "POST", "/items", data, token)[0] == 201
            time.sleep(PAUSE + count / 2000)

        found = json.loads(process.stdout.readline())
        process.communicate()
        latencies = [seconds * 1000 for seconds in found["latencies"]]
        return per_second, latencies


def main():
    print(f"{'':24}{'connections':>12}{'events/s':>10}{'median ms':>11}{'p99 ms':>8}")

    for name, is_restricted in (("no rule", "0"), ("readable", "1")):
        with TemporaryDirectory() as folder:
            own = {"IS_RESTRICTED": is_restricted, "WEB_CONCURRENCY": "1"}
            settings = settings_of(folder, ["red"], **own, THREADS="1100")

            with serving(settings, "--worker-connections", "2000") as server:
                with closing(connected(server.host)) as connection:
                    answer = call(connection, "POST", "/authentication", login_of(0))
                    token = answer[1]["accessToken"]

                for count in COUNTS:
                    per_second, latencies = measure(server, token, count)
                    cuts = statistics.quantiles(latencies, n=100)
                    print(
                        f"{name:24}{count:12,}{per_second:10,.0f}"
                        f"{statistics.median(latencies):11.1f}{cuts[98]:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["listen"]:
        host, port, token, *numbers = sys.argv[2:]
        listen(host, int(port), token, *map(int, numbers))
    else:
        main()
