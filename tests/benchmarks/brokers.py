"""The CPU of an event for each broker: python -m tests.benchmarks.brokers

One process appends entries, each under a lock as the events of services are, and
another one reads them. Each broker has a server of its own.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid

from ..test_brokers import KINDS
from .processes import Processes

RATES = {"200 a second": 200, "as fast as it can": 100_000}
COUNT = 2000
DATA = b"x" * 400


def write(kind, url, channel, rate, results, measured):
    broker = KINDS[kind].make(url, channel)
    broker.end()
    start, cpu = time.monotonic(), time.process_time()

    for number in range(COUNT):
        name = str(number % 64)
        broker.lock(name, "token", 5)
        broker.append(DATA)
        broker.unlock(name, "token")
        time.sleep(max(0, start + (number + 1) / rate - time.monotonic()))

    results.put(time.process_time() - cpu)
    # A process of PostgreSQL ends with its connection.
    measured.wait()


def read(kind, url, channel, ready, results, measured):
    broker = KINDS[kind].make(url, channel)
    last = broker.end()
    ready.set()
    cpu = time.process_time()
    count = 0

    while count < COUNT:
        entries = broker.read(last, 1)
        last = entries[-1].id if entries else last
        count += len(entries)

    results.put(time.process_time() - cpu)
    # A process of PostgreSQL ends with its connection.
    measured.wait()


def measure(kind, rate):
    """Return the microseconds of the writer, the reader and the server."""
    new = multiprocessing.get_context("spawn")
    channel = f"benchmark-{uuid.uuid4().hex}"

    with KINDS[kind].server() as server:
        ready, measured = new.Event(), new.Event()
        written, was_read = new.Queue(), new.Queue()
        reader = new.Process(
            target=read, args=(kind, server.url, channel, ready, was_read, measured)
        )
        reader.start()
        ready.wait()
        processes = Processes(server.process.pid)
        before = processes.cpu
        writer = new.Process(
            target=write, args=(kind, server.url, channel, rate, written, measured)
        )
        writer.start()
        seconds = [written.get(), was_read.get(), processes.cpu - before]
        measured.set()
        writer.join()
        reader.join()

    return [round(each / COUNT * 1e6) for each in seconds]


if __name__ == "__main__":
    print(f"{'µs of CPU':14}{'':20}{'writer':>10}{'reader':>10}{'server':>10}")

    for kind in KINDS:
        for name, rate in RATES.items():
            figures = "".join(f"{each:10}" for each in measure(kind, rate))
            print(f"{kind:14}{name:20}{figures}", flush=True)
