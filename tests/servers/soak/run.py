"""Clients that come and go, are slow or frozen, while workers and Redis die."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ...processes import call, connected
from ...realtime_clients import login_of, serving, settings_of
from ...waiting import wait_until
from .ledger import Ledger
from .wire import Closed, Wire

TEAMS = ("all", "red", "blue", "slow")
SEES = {"all": TEAMS[1:], **{team: (team,) for team in TEAMS[1:]}}
FLOOD = [{"channel": "slow", "text": "x" * 900_000}] * 8
"""More than the system and the server keep for a client that does not read."""

FLOOD_EVERY = 10
"""The seconds between two floods."""


@dataclass
class Plan:
    """How long, and how hard."""

    seconds: float = 600
    steady: int = 30
    churning: int = 60
    slow: int = 10
    frozen: int = 20
    writes_per_second: float = 20
    kill_every: float = 60
    redis_every: float = 90


@dataclass
class Soak:
    """One run, and what it has seen."""

    plan: Plan
    server: object
    redis: Redis
    tokens: dict[str, str]
    counts: Counter = field(default_factory=Counter)
    figures: dict[str, list[Figures]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """The rules that were broken."""

    slowest: float = 0
    """The seconds of the longest write."""

    def __post_init__(self):
        self.is_over = threading.Event()
        self.end = time.monotonic() + self.plan.seconds

    def run(self):
        """Run for the time of the plan."""
        threads = [
            threading.Thread(target=target)
            for target in (self._write, self._break, self._measure)
        ]

        for thread in threads:
            thread.start()

        try:
            asyncio.run(self._clients())
        finally:
            self.is_over.set()

            for thread in threads:
                thread.join()

    async def _clients(self):
        plan = self.plan
        numbers = {
            self._steady: plan.steady,
            self._churn: plan.churning,
            self._slow: plan.slow,
            self._freeze: plan.frozen,
        }
        async with asyncio.TaskGroup() as group:
            for behaviour, number in numbers.items():
                for _ in range(number):
                    group.create_task(self._repeat(behaviour))

    async def _repeat(self, behaviour):
        chance = random.Random()

        while time.monotonic() < self.end:
            slow = behaviour in (self._slow, self._freeze)
            team = "slow" if slow else chance.choice(TEAMS[:3])
            ledger = Ledger(SEES[team])
            wire = Wire(self.server.host, self.tokens[team], take_by(ledger))

            try:
                await self._open(wire, ledger, behaviour)
                await behaviour(wire, ledger, chance)
            except (Closed, OSError, asyncio.IncompleteReadError) as error:
                kind = behaviour.__name__.strip("_")
                self.counts[f"{kind}: closed with {getattr(error, 'code', None)}"] += 1
                await asyncio.sleep(chance.uniform(0.2, 1))
            finally:
                await wire.close()

            self._add(ledger)

    def _add(self, ledger):
        self.faults += ledger.faults
        self.counts["events"] += ledger.events

    async def _open(self, wire, ledger, behaviour):
        async with asyncio.timeout(60):
            await wire.open(**OPTIONS[behaviour.__name__])
            ledger.load(await wire.call("find", "items"))
            self.counts["clients"] += 1

    async def _steady(self, wire, ledger, chance):
        await wire.listen(self.end - time.monotonic() + SETTLE)
        ledger.compare(await wire.call("find", "items"))
        self.counts["compared"] += 1

    async def _churn(self, wire, ledger, chance):
        left = max(1, self.end - time.monotonic())
        await wire.listen(min(chance.expovariate(1 / 8), left))

        if chance.random() < 0.5:
            wire.leave()
        else:
            wire.reset()
            await asyncio.sleep(chance.expovariate(1 / 3))

    async def _slow(self, wire, ledger, chance):
        await wire.listen(min(60, self.end - time.monotonic()))

    async def _freeze(self, wire, ledger, chance):
        wire.freeze()
        await asyncio.sleep(min(60, max(0, self.end - time.monotonic())))

    def _write(self):
        """Write records over HTTP, whatever happens to workers."""
        connection, ids = None, []

        for request in writes(ids):
            if self.is_over.wait(1 / self.plan.writes_per_second):
                break

            if time.monotonic() > self.end:
                break

            start = time.monotonic()

            try:
                connection = connection or connected(self.server.host)
                status, answer = call(connection, *request, self.tokens["all"])
            except (OSError, http.client.HTTPException):
                self.counts["writes without an answer"] += 1
                hang_up(connection)
                connection = None
                continue

            slowest = max(self.slowest, time.monotonic() - start)
            self.slowest = slowest
            self.counts[f"writes answered {status}"] += 1

            if request[:2] == ("POST", "/items") and status == 201:
                ids.append(answer["id"])

        hang_up(connection)

    def _break(self):
        """Kill a worker, and restart Redis, again and again."""
        start = time.monotonic()
        kill, restart = start + self.plan.kill_every, start + self.plan.redis_every

        while not self.is_over.wait(0.2) and time.monotonic() < self.end - QUIET:
            now = time.monotonic()

            if now >= kill:
                # The first worker lives, so that its memory can be compared.
                os.kill(int(self.server.workers[-1]), signal.SIGKILL)
                self.counts["killed workers"] += 1
                kill = now + self.plan.kill_every

            if now >= restart:
                self.redis.restart()
                self.counts["restarts of Redis"] += 1
                restart = now + self.plan.redis_every

    def _measure(self):
        while not self.is_over.wait(1):
            for pid in set(self.server.workers):
                # It may have just been killed.
                with suppress(OSError, KeyError):
                    self.figures.setdefault(pid, []).append(Figures.of(pid))


SETTLE = 10
"""The seconds after the last write in which all events arrive."""

QUIET = 8
"""The seconds before the end in which nothing breaks."""


def hang_up(connection):
    if connection is not None:
        connection.close()


def writes(ids):
    """Verbs, paths and bodies of endless writes.

    :param ids: The ids of the records that there are.
    """
    chance, flood = random.Random(1), time.monotonic() + FLOOD_EVERY

    while True:
        if time.monotonic() > flood:
            flood = time.monotonic() + FLOOD_EVERY

            for body in FLOOD:
                yield "POST", "/pads", body

        if len(ids) < 20 or (len(ids) < 300 and chance.random() < 0.05):
            yield "POST", "/items", {"team": chance.choice(TEAMS[1:]), "text": "x"}
        else:
            body = {"text": "x" * chance.choice([10, 100])}
            yield "PATCH", f"/items/{chance.choice(ids)}", body


OPTIONS = {
    "_steady": {},
    "_churn": {},
    "_slow": {"window": 1 << 16, "pause": 0.2},
    "_freeze": {"window": 4096},
}
"""How clients connect, by what they do then."""


def take_by(ledger):
    def take(name, record):
        if name.startswith("items "):
            ledger.take(record)

    return take


@dataclass(frozen=True)
class Figures:
    """The resources that a process holds."""

    memory: float
    """The resident memory in MiB."""

    threads: int
    sockets: int

    @classmethod
    def of(cls, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        sockets = 0

        for path in Path(f"/proc/{pid}/fd").iterdir():
            # It may have been closed meanwhile.
            with suppress(FileNotFoundError):
                sockets += os.readlink(path).startswith("socket:")

        return cls(
            int(fields["VmRSS"].split()[0]) / 1024, int(fields["Threads"]), sockets
        )


class Redis:
    """A server of Redis that keeps its data over restarts."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

        self._folder = folder
        self._start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def restart(self):
        self.stop()
        time.sleep(1)
        self._start()

    def stop(self):
        self._process.terminate()
        self._process.wait(30)

    def _start(self):
        options = ["--port", str(self.port), "--dir", str(self._folder)]
        options += ["--appendonly", "yes", "--save", "", "--bind", "127.0.0.1"]
        self._process = subprocess.Popen(
            ["redis-server", *options], stdout=subprocess.DEVNULL
        )
        wait_until(self._answers, 30)

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


@contextmanager
def soaking(plan, folder):
    """A soak that is ready to run."""
    redis = Redis(folder)

    try:
        settings = settings_of(
            folder,
            TEAMS,
            REDIS_URL=redis.url,
            WEB_CONCURRENCY="2",
            THREADS="16",
            PING_SECONDS="5",
        )

        with serving(settings) as server:
            tokens = {}

            for number, team in enumerate(TEAMS):
                connection = connected(server.host)
                body = login_of(number)
                answer = call(connection, "POST", "/authentication", body)[1]
                tokens[team] = answer["accessToken"]
                connection.close()

            yield Soak(plan, server, redis, tokens)
    finally:
        redis.stop()


def soak(plan, folder):
    """Run a soak, and return it with the figures after all clients have gone."""
    with soaking(plan, folder) as run:
        before = {pid: Figures.of(pid) for pid in set(run.server.workers)}
        run.run()
        oldest = run.server.workers[0]
        wait_until(
            lambda: Figures.of(oldest).sockets <= before[oldest].sockets + SPARE, 60
        )
        run.before, run.after = before[oldest], Figures.of(oldest)

    return run


SPARE = 5
"""The sockets that a worker may have opened beside those of its clients: to Redis."""


MAX_GROWTH = 1.2
"""How much the memory of a worker may grow in ten minutes. In less, caches fill."""


def growth(run):
    """The memory of the oldest worker in the last quarter, as a multiple of that in
    the second.
    """
    each = [figures.memory for figures in run.figures[run.server.workers[0]]]
    quarter = max(1, len(each) // 4)
    return max(each[-quarter:]) / max(each[quarter : 2 * quarter] or each)


def show(run):
    """Print what a run has seen."""
    threads = [each.threads for each in run.figures[run.server.workers[0]]]
    print(json.dumps(run.counts, indent=4))
    print("The longest write in seconds:", round(run.slowest, 2))
    print("The oldest worker before:", run.before)
    print("The oldest worker after:", run.after)
    print("Growth of its memory:", round(growth(run), 3))
    print("Its threads at most:", max(threads))
    print("Rules broken:", len(run.faults), *run.faults[:20], sep="\n")
    print(
        "Complaints:", len(run.server.complaints), *run.server.complaints[:9], sep="\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    plan = Plan(options.minutes * 60)

    with TemporaryDirectory() as folder:
        run = soak(plan, Path(folder))

    show(run)
    sys.exit(1 if run.faults or growth(run) >= MAX_GROWTH else 0)


if __name__ == "__main__":
    main()
