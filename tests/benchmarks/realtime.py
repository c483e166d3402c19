"""Measures connections, events and calls of a server, by the CPU that it takes.

Run ``python -m tests.benchmarks.realtime``, for example with ``--server granian
--connections 5000``. It takes about two minutes. The server serves
``tests/benchmarks/app.py`` from a new database in SQLite, or from the empty one of
``DATABASE_URL``; several workers need a Redis, which ``REDIS_URL`` names. The clients
are in this process, and take a core themselves: latencies have their share in them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import sqlalchemy as sa

from .processes import Processes
from .sockets import Http, Socket

GUNICORN = (
    "gunicorn --bind 127.0.0.1:{port} --workers {workers} --log-level warning"
    " --graceful-timeout 1 --keep-alive 60"
)

SERVERS = {
    "asgi": f"{GUNICORN} -k asgi --worker-connections {{most}}"
    " tests.benchmarks.app:create_asgi_app()",
    "uvicorn": "uvicorn --port {port} --workers {workers} --log-level warning"
    " --no-access-log --ws-per-message-deflate false --ws-ping-interval 0"
    " --timeout-graceful-shutdown 1 --factory tests.benchmarks.app:create_asgi_app",
    "granian": "granian --port {port} --workers {workers} --no-access-log"
    " --interface asgi --factory tests.benchmarks.app:create_asgi_app",
}
"""The command of each server, a module of Python. No worker has more connections than
``most``.
"""

AT_ONCE = 50
"""How many clients connect at a time."""


@contextmanager
def serving(options, url, folder):
    """The processes and the address of a server, as soon as it listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    most = options.connections + 100
    command = SERVERS[options.server]
    command = command.format(port=port, workers=options.workers, most=most)
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        # gunicorn puts its control socket there.
        "XDG_RUNTIME_DIR": folder,
        "FLASK_RECORDS_REALTIME__max_connections": str(most),
        "FLASK_RECORDS_REALTIME__max_connections_per_address": str(most),
        "FLASK_RECORDS_REALTIME__calls_per_second": "1000000",
    }

    if options.workers > 1:
        environment["FLASK_RECORDS_REALTIME__message_queue"] = os.environ["REDIS_URL"]

    process = subprocess.Popen(
        [sys.executable, "-m", *command.split()], env=environment
    )

    try:
        wait_for(process, port)
        yield Processes(process.pid), ("127.0.0.1", port)
    finally:
        process.terminate()
        process.wait()


def wait_for(process, port):
    """Wait until a server accepts connections."""
    while True:
        assert process.poll() is None, "The server has ended."

        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return


def make_tokens(url, number):
    """The tokens of new users in a new database."""
    from . import app as measured

    app = measured.create_app(url)

    with app.app_context():
        users = [
            {"email": f"{id}@example.com", "password": "none"} for id in range(number)
        ]
        measured.db.session.execute(sa.insert(measured.User), users)
        measured.db.session.commit()
        ids = measured.db.session.scalars(sa.select(measured.User.id)).all()
        create = measured.authentication.target.create_token
        tokens = [create({"id": id})[0] for id in ids]
        measured.db.engine.dispose()

    return tokens


class Run:
    """The measurements of one server.

    :param server: Its processes.
    :param address: Its host and port.
    :param tokens: The tokens of users, one for each connection that logs in.
    :param options: The options of the command line.
    """

    def __init__(self, server, address, tokens, options):
        self._server = server
        self._address = address
        self._tokens = tokens
        self._options = options
        self._count = options.connections

    async def measure(self):
        """Print all measurements."""
        await self.measure_calls()
        await self.measure_connections("connections", [None] * self._count)
        await self.measure_connections("with a login", self._tokens, "secured", "owned")

    async def measure_connections(self, name, tokens, *services):
        """Print the costs of connections, and of events to them."""
        async with self._connected(tokens[:3]):
            # What is imported and kept at first use is there.
            pass

        # Connections that have ended are forgotten.
        await asyncio.sleep(1)
        cpu, memory = self._server.cpu, self._server.memory

        async with self._connected(tokens) as sockets:
            each = (self._server.cpu - cpu) / len(sockets) * 1e3
            held = (self._server.memory - memory) / len(sockets)
            print(f"{len(sockets):,} {name}", end=": ")
            print(f"connect {each:.2f} ms of CPU, {held:.0f} KiB", end=", ")
            start, cpu = time.monotonic(), self._server.cpu
            await asyncio.sleep(self._options.seconds)
            idle = (self._server.cpu - cpu) / (time.monotonic() - start)
            print(f"idle {idle:.1%} of a core, {self._server.threads} threads")
            # One connection may see the records of the first user.
            receivers = {"owned": sockets[:1]}

            for service in services:
                await self.measure_events(
                    service, receivers.get(service, sockets), sockets
                )

            lost = sum(not each.is_open for each in sockets)
            assert not lost, f"The server has closed {lost} connections."

    async def measure_events(self, service, receivers, sockets):
        """Print the costs of the events of a service, and their latency."""
        http = Http(self._address, self._tokens[0])

        async def write(number, pace=0):
            for each in sockets:
                each.forget()

            return await self._write(http, service, number, receivers, pace)

        writes, pace = self._options.writes, len(receivers) / 10_000 + 0.01
        await write(3)
        cpu = self._server.cpu
        await write(writes)
        cost = self._server.cpu - cpu
        check_order(receivers, sockets, writes)
        starts = await write(writes, pace)
        check_order(receivers, sockets, writes)
        http.close()
        latencies = [
            (time - starts[number]) * 1e3
            for each in receivers
            for number, time in zip(each.events, each.times, strict=True)
        ]
        number = writes * len(receivers)
        print(f"  events of {service} to {len(receivers):,}", end=": ")
        print(f"{cost / writes * 1e3:.1f} ms of CPU for a write", end=", ")
        print(f"{cost / number * 1e6:.1f} µs for each event, {spread(latencies)}")

    async def measure_calls(self):
        """Print the costs of calls, over a socket and as requests."""
        await Http(self._address).request("POST", "/messages", message(0))
        print("calls", end="")

        for service, *token in (
            ("nothing",),
            ("nothing", self._tokens[0]),
            ("messages",),
            ("secured", self._tokens[0]),
        ):
            http = Http(self._address, *token)
            socket = await Socket.connect(self._address, *token)

            async def call(socket=socket, service=service):
                await socket.call("get", service, 1)

            async def request(http=http, service=service):
                await http.request("GET", f"/{service}/1")

            print(f"\n  get {service}{', with a login' if token else ''}", end=": ")
            print(f"socket {await self._rate(call)}", end="; ")
            print(f"HTTP {await self._rate(request)}", end="")
            socket.close()
            http.close()

        print()

    async def _rate(self, call):
        """The costs of calls, one after the other."""
        for _ in range(20):
            await call()

        end = time.monotonic() + self._options.seconds / 4
        cpu, latencies = self._server.cpu, []

        while (start := time.monotonic()) < end:
            await call()
            latencies.append((time.monotonic() - start) * 1e3)

        each = (self._server.cpu - cpu) / len(latencies) * 1e3
        return f"{each:.2f} ms of CPU, {spread(latencies)}"

    async def _write(self, http, service, number, receivers, pace):
        """The times of writes, after whose events have arrived.

        :raises AssertionError: Not all of them arrive in a minute.
        """
        loop, starts = asyncio.get_running_loop(), []

        for index in range(number):
            starts.append(loop.time())
            await http.request("POST", f"/{service}", message(index))
            await asyncio.sleep(pace)

        end = loop.time() + 60

        while any(len(each.events) < number for each in receivers):
            assert loop.time() < end, "Events are lost."
            await asyncio.sleep(0.01)

        return starts

    @asynccontextmanager
    async def _connected(self, tokens):
        """Clients with these tokens, until the end of the block."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def connect(token):
            async with turns:
                return await Socket.connect(self._address, token)

        sockets = await asyncio.gather(*map(connect, tokens))

        try:
            yield sockets
        finally:
            for each in sockets:
                each.close()


def message(number):
    return {
        "text": str(number),
        "room_id": 1,
        "user_id": 1,
        "created_at": "2024-03-01T12:00:00",
    }


def check_order(receivers, sockets, number):
    """Check that all events have arrived once, in order, and nowhere else."""
    expected = list(range(number))
    others = {*sockets} - {*receivers}
    assert all(each.events == expected for each in receivers), "Not all are in order."
    assert not any(each.events for each in others), "Some events got out."


def spread(latencies):
    """The median of latencies and the time that one in a hundred exceeds."""
    cuts = statistics.quantiles(latencies, n=100)
    return f"median {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--server", choices=SERVERS, default="asgi")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=100, help="of each measurement")
    parser.add_argument(
        "--seconds", type=float, default=20, help="how long connections are idle"
    )
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "realtime.db")
        url = os.environ.pop("DATABASE_URL", f"sqlite:///{path}")
        tokens = make_tokens(url, options.connections)

        with serving(options, url, folder) as running:
            asyncio.run(Run(*running, tokens, options).measure())


if __name__ == "__main__":
    main()
