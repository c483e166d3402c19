"""Checks of passwords take a bounded memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = 16 * 1024
"""The memory of a check in KiB, where it is measured."""

PROCESSORS = os.cpu_count() or 1

PEAK = f"""
from pathlib import Path
from threading import Thread

from flask_records.authentication.passwords import Passwords

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

services = [Passwords(memory={MEMORY}, passes=3) for _ in range(2)]
hash = "$argon2id$v=19$m={MEMORY},t=3,p=1$c29tZXNhbHQ${"A" * 43}"
checks = [
    Thread(target=services[number % 2].verify, args=["x", hash])
    for number in range({6 * PROCESSORS})
]
before = peak()
[check.start() for check in checks]
[check.join() for check in checks]
print(peak() - before)
"""
"""Prints how many KiB it takes to check six passwords a processor at once."""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="There is no /proc.")
@pytest.mark.parametrize("environment", [{}, {"MALLOC_MMAP_THRESHOLD_": "131072"}])
def test_no_more_checks_run_at_once_than_there_are_processors(environment):
    """Even though an allocator keeps what is freed to the thread that had it."""
    process = subprocess.run(
        [sys.executable, "-c", PEAK],
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
        text=True,
    )

    assert int(process.stdout) < (PROCESSORS + 1) * MEMORY
