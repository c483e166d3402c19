"""Measures how long an application takes to start, and the memory that it has at rest.

Run it with ``python -m tests.benchmarks.start``. It takes about a minute. Seconds are
those of CPU, the least of some starts in new interpreters whose modules are compiled
already. Memory is the resident set of the process, and of servers that of their one
worker after a request for a page that is not there.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
STARTS = 5

SOURCES = {
    "Python": "",
    "Flask": "import flask",
    "Flask, Flask-SQLAlchemy": "import flask, flask_sqlalchemy",
    "the same, PyJWT": "import flask, flask_sqlalchemy, jwt",
    "Flask-Records": "import flask_records, flask_sqlalchemy",
    "Flask-Records, real time": "import flask_sqlalchemy, flask_records.realtime",
    "the example": "import wsgi",
}

REPORT = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
status = open("/proc/self/status").read()
memory = status.partition("VmRSS:")[2].split()[0]
print(used.ru_utime + used.ru_stime, int(memory) / 1024)
"""

SERVERS = {
    "gunicorn": "gunicorn -c instance/gunicorn.conf.py --bind 127.0.0.1:{port}",
    "granian": "granian --interface wsgi --port {port} wsgi:app",
}
"""Commands that serve the example."""

WORKER = re.compile(r"Booting worker with pid: (\d+)|worker-1 with PID: (\d+)")
START_TIMEOUT = 30
"""The seconds that a server has to start."""


def environment(folder):
    """The environment of processes whose modules are compiled into a folder."""
    own = {
        "DATABASE_URL": f"sqlite:///{folder}/start.db",
        "PYTHONPYCACHEPREFIX": f"{folder}/compiled",
        "PYTHONUNBUFFERED": "1",
        "SECRET_KEY": "5e" * 32,
        "XDG_RUNTIME_DIR": str(folder),
    }
    left = {name: os.environ[name] for name in os.environ if "DONTWRITE" not in name}
    return {**left, **own}


def started(source, folder):
    """The seconds of CPU and the MiB of an interpreter that has run a source."""
    done = subprocess.run(
        [sys.executable, "-c", source + REPORT],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


def memory_of_worker(command, folder):
    """The MiB of the one worker of a server that has answered a request."""
    port = free_port()
    program, *options = command.format(port=port).split()
    process = subprocess.Popen(
        [BIN / program, *options],
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    try:
        worker = next(filter(None, map(WORKER.search, process.stdout)))
        wait_for_answer(port)
        return memory_of(worker[1] or worker[2])
    finally:
        process.terminate()
        process.communicate()


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def wait_for_answer(port):
    """Ask until the server answers that there is no such page."""
    end = time.monotonic() + START_TIMEOUT

    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/nothing", timeout=10)
        except urllib.error.HTTPError as error:
            return error.close()
        except OSError:
            time.sleep(0.1)

    raise SystemExit("The server has not started.")


def memory_of(process_id):
    """The MiB of a process."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--starts", type=int, default=STARTS)
    starts = parser.parse_args().starts
    print(f"{'':28}{'CPU, s':>8}{'MiB':>7}")

    with tempfile.TemporaryDirectory() as folder:
        for name, source in SOURCES.items():
            # The first one compiles.
            results = [started(source, folder) for _ in range(starts + 1)][1:]
            seconds, memory = (min(numbers) for numbers in zip(*results, strict=True))
            print(f"{name:28}{seconds:8.2f}{memory:7.1f}", flush=True)

        for name, command in SERVERS.items():
            memory = memory_of_worker(command, folder)
            print(f"{f'the example, {name}':28}{'':8}{memory:7.1f}", flush=True)


if __name__ == "__main__":
    main()
