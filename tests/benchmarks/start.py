"""Measures how long an application takes to start, and the memory that it has at rest.

Run it with ``python -m tests.benchmarks.start``. It takes about a minute. Seconds are
those of CPU, the least of some starts in new interpreters whose modules are compiled
already. Memory is the resident set of the process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
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


if __name__ == "__main__":
    main()
