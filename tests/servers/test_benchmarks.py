"""The load generator against real servers. Figures are not compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from ..processes import ROOT

pytestmark = pytest.mark.slow


def test_realtime_measures_connections_events_and_calls(tmp_path):
    load = "--connections 20 --writes 5 --seconds 0.5".split()
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path}/realtime.db"}

    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.realtime", *load],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.sub(r"[\d,.]+(?= ms| µs| KiB|%| threads)", "N", done.stdout) == REPORT


RATE = "N ms of CPU, median N ms, p99 N ms"
CONNECTIONS = "connect N ms of CPU, N KiB, idle N% of a core, N threads"
EVENTS = "N ms of CPU for a write, N µs for each event, median N ms, p99 N ms"
REPORT = f"""\
calls
  get nothing: socket {RATE}; HTTP {RATE}
  get nothing, with a login: socket {RATE}; HTTP {RATE}
  get messages: socket {RATE}; HTTP {RATE}
  get secured, with a login: socket {RATE}; HTTP {RATE}
20 connections: {CONNECTIONS}
20 with a login: {CONNECTIONS}
  events of secured to 20: {EVENTS}
  events of owned to 1: {EVENTS}
"""
