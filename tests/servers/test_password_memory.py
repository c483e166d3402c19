"""Checks of passwords take a bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = 16 * 1024
"""The memory of a check in KiB, where it is measured."""

PEAK = f"""
import sys
from pathlib import Path
from threading import Thread

from flask_records.authentication.passwords import Passwords

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

call, several, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
services = [Passwords(memory={MEMORY}, passes=3) for _ in range(several)]
hash = "$argon2id$v=19$m={MEMORY},t=3,p=1$c29tZXNhbHQ${"A" * 43}"
calls = {{
    "hash": lambda passwords: passwords.hash("x"),
    "verify": lambda passwords: passwords.verify("x", hash),
    "verify without a hash": lambda passwords: passwords.verify("x", None),
}}
checks = [
    Thread(target=calls[call], args=[services[number % several]])
    for number in range(threads)
]
before = peak()
[check.start() for check in checks]
[check.join() for check in checks]
print(peak() - before)
"""
"""Prints how many KiB it takes to check passwords on so many threads."""

PROCESSORS = os.cpu_count() or 1

measured = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="There is no /proc."
)


def memory_of_checks(call, *, several=1, **environment):
    """The peak memory in KiB of a process with six checks a processor at once."""
    process = subprocess.run(
        [sys.executable, "-c", PEAK, call, str(several), str(6 * PROCESSORS)],
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
        text=True,
    )
    return int(process.stdout)


@measured
@pytest.mark.parametrize("call", ["hash", "verify", "verify without a hash"])
def test_no_more_checks_run_at_once_than_there_are_processors(call):
    taken = memory_of_checks(call, MALLOC_MMAP_THRESHOLD_="131072")

    assert (PROCESSORS - 1) * MEMORY < taken < (PROCESSORS + 1) * MEMORY


@measured
def test_checks_of_several_services_share_the_processors():
    taken = memory_of_checks("verify", several=4, MALLOC_MMAP_THRESHOLD_="131072")

    assert taken < (PROCESSORS + 1) * MEMORY


@measured
def test_memory_of_a_check_is_used_again_whatever_the_thread():
    """Even though an allocator keeps what is freed to the thread that had it."""
    assert memory_of_checks("verify") < (PROCESSORS + 1) * MEMORY
