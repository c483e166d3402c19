"""The cost of connections: streams of events, Socket.IO, and FeathersJS 6 itself.

Run ``python -m tests.benchmarks.streams KIT [NUMBER]``. KIT is a copy of the folder
``v6`` of the kit in which ``npm install`` has been run. The figures are the CPU and the
memory of the server's processes, by connection and by event to all of them.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from ..processes import free_port, ROOT
from ..realtime_clients import settings_of
from ..waiting import START, wait_until

EVENTS = 40
IDLE = 20
AT_ONCE = 20
TICK = os.sysconf("SC_CLK_TCK")
SECRET = "s" * 32
SOCKET = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def frame(text):
    """A message of a client, whose mask is zero."""
    return bytes([0x81, 0x80 | len(text)]) + bytes(4) + text.encode()


class Kind:
    """A server and the connections to it."""

    def __init__(self, path, head="", after=()):
        self.path, self.head, self.after = path, head, after

    @contextmanager
    def serve(self, port, folder):
        settings = settings_of(Path(folder), WEB_CONCURRENCY="1")
        app = "tests.realtime_app:create_asgi_app()"
        bind = ["-b", f"127.0.0.1:{port}", "--log-level", "error"]
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "-k",
            "asgi",
            "-w",
            "1",
            *bind,
            app,
        ]
        yield from running(command, settings)

    def log_in(self, url):
        user = {"email": "0@example.com", "password": "correct horse battery"}
        login = post(f"{url}/authentication", {"strategy": "local", **user})
        return {"Authorization": f"Bearer {login['accessToken']}"}

    def send(self, url, headers, number):
        note = {"team": "red", "text": f"event-{number}."}
        post(f"{url}/notes", note, headers)


class Reference(Kind):
    """The server of the kit."""

    @contextmanager
    def serve(self, port, folder):
        yield from running(["node", str(Path(KIT) / "server.mjs"), str(port)], None)

    def log_in(self, url):
        return {}

    def send(self, url, headers, number):
        post(f"{url}/tags", {"name": f"event-{number}."}, headers)


KINDS = {
    "stream": Kind("/sse"),
    "Socket.IO": Kind(
        "/socket.io/?EIO=4&transport=websocket", SOCKET, [(b"0{", "40"), (b"40{", None)]
    ),
    "FeathersJS 6": Reference("/sse"),
}


def running(command, settings):
    process = subprocess.Popen(
        command, cwd=ROOT, env=settings, stderr=subprocess.DEVNULL
    )

    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def post(url, data, headers=None):
    headers = {"Content-Type": "application/json", **(headers or {})}
    body = json.dumps(data).encode()

    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
        return json.loads(answer.read())


def family(pid):
    """The ids of a process and of those that it has started."""
    found = [pid]

    for each in found:
        children = Path(f"/proc/{each}/task/{each}/children").read_text().split()
        found += map(int, children)

    return found


def cpu(pid):
    """The milliseconds of CPU that a server has used."""
    stats = [
        Path(f"/proc/{each}/stat").read_text().split(")")[1] for each in family(pid)
    ]
    ticks = [sum(map(int, stat.split()[11:13])) for stat in stats]
    return sum(ticks) * 1000 / TICK


def memory(pid):
    """The kilobytes of memory that a server has."""
    texts = [Path(f"/proc/{each}/smaps_rollup").read_text() for each in family(pid)]
    return sum(int(text.split("Pss:")[1].split()[0]) for text in texts)


class Client(asyncio.Protocol):
    def __init__(self, kind, head):
        self.head, self.after = head, list(kind.after) or [(b"connected", None)]
        self.ready, self.wanted = asyncio.get_running_loop().create_future(), None
        self.data = b""

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.head)

    def data_received(self, data):
        self.data = (self.data + data)[-4000:]

        while self.after and self.after[0][0] in self.data:
            self.data, answer = b"", self.after.pop(0)[1]

            if answer is not None:
                self.transport.write(frame(answer))
            elif not self.after:
                self.ready.set_result(None)

        if self.wanted is not None and self.wanted in self.data:
            self.wanted = None
            self.arrived.set_result(None)

    def expect(self, text):
        self.wanted, self.data = text, b""
        self.arrived = asyncio.get_running_loop().create_future()
        return self.arrived


async def measure(kind, url, pid, number):
    loop, headers = asyncio.get_running_loop(), kind.log_in(url)
    host, port = url.removeprefix("http://").split(":")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = (
        f"GET {kind.path} HTTP/1.1\r\nHost: {host}\r\n{kind.head}{lines}\r\n".encode()
    )
    clients, gate = [], asyncio.Semaphore(AT_ONCE)

    async def connect():
        async with gate:
            _, client = await loop.create_connection(
                lambda: Client(kind, head), host, port
            )
            await client.ready
            clients.append(client)

    # The first ones load modules.
    await asyncio.gather(*[connect() for _ in range(AT_ONCE)])
    start, size = cpu(pid), memory(pid)
    await asyncio.gather(*[connect() for _ in range(number)])
    connected = (cpu(pid) - start) / number
    size = (memory(pid) - size) / number
    start = cpu(pid)
    await asyncio.sleep(IDLE)
    idle = (cpu(pid) - start) / IDLE / 10
    start, times = cpu(pid), []

    for event in range(EVENTS):
        arrived = [client.expect(b"event-%d." % event) for client in clients]
        began = time.monotonic()
        await asyncio.to_thread(kind.send, url, headers, event)
        await asyncio.gather(*arrived)
        times.append((time.monotonic() - began) * 1000)

    sent = (cpu(pid) - start) / EVENTS

    for client in clients:
        client.transport.abort()

    return connected, size, sent, sorted(times)[EVENTS // 2], idle


def main(kit, number="1000"):
    global KIT
    KIT = kit
    heads = ("ms to connect", "kB each", "ms an event", "ms until all", "% idle")
    print(f"{'':14}" + "".join(f"{head:>15}" for head in heads))
    figures = {}

    for name, kind in KINDS.items():
        port = free_port()
        url = f"http://127.0.0.1:{port}"

        with (
            tempfile.TemporaryDirectory() as folder,
            kind.serve(port, folder) as process,
        ):
            wait_until(lambda url=url: answers(url), START)
            figures[name] = asyncio.run(measure(kind, url, process.pid, int(number)))
            print(f"{name:14}" + "".join(f"{each:15.2f}" for each in figures[name]))

    for name in ("FeathersJS 6", "Socket.IO"):
        # The reference has no heartbeat, and so takes no time while idle.
        pairs = list(zip(figures["stream"], figures[name], strict=True))[:-1]
        print(f"{'stream / ' + name:29}" + "".join(f"{a / b:10.2f}" for a, b in pairs))


def answers(url):
    try:
        urllib.request.urlopen(f"{url}/nowhere")
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False

    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
