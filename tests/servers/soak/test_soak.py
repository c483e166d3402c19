"""Some seconds of what runs for ten by hand: ``python -m tests.servers.soak.run``."""

from __future__ import annotations

import shutil

import pytest

from .run import Plan, show, soak

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("redis-server") is None, reason="It starts a Redis of its own."
    ),
]


def test_each_event_arrives_once_whatever_breaks(tmp_path):
    plan = Plan(
        seconds=18,
        steady=10,
        churning=20,
        slow=4,
        frozen=6,
        writes_per_second=10,
        kill_every=4,
        redis_every=6,
    )

    run = soak(plan, tmp_path)

    show(run)
    assert run.faults == []
    assert run.counts["compared"] > 0
    assert run.counts["killed workers"] > 0
    assert run.counts["restarts of Redis"] > 0
    assert max(figures.memory for figures in run.figures[run.server.workers[0]]) < 256
