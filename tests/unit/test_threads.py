"""Threads for calls, of which a few run at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from flask_records.realtime.asgi import threads as module
from flask_records.realtime.asgi.threads import FEW
from flask_records.realtime.asgi.threads import Threads


def future_of(threads, job):
    """The result of a job."""
    future = Future()
    threads.run(lambda: future.set_result(job()))
    return asyncio.wrap_future(future)


def run_all(limit, *jobs):
    """The results of jobs, all given at once."""

    async def run():
        threads = Threads(limit)

        try:
            futures = [future_of(threads, job) for job in jobs]
            return await asyncio.gather(*futures)
        finally:
            threads.shutdown()

    return asyncio.run(run())


@pytest.fixture
def busy(monkeypatch):
    """The process uses the processor, and no job waits."""
    monkeypatch.setattr(module, "BUSY", -1)
    monkeypatch.setattr(module, "SLOW", 1000)


def test_few_threads_run_while_the_processor_is_busy(busy):
    seen = set()
    waits = threading.Event()

    def job():
        seen.add(threading.get_ident())
        # Others get their turn, if there are any.
        waits.wait(0.001)

    run_all(16, *[job] * 100)

    assert len(seen) <= FEW


def test_jobs_that_wait_for_later_ones_get_more_threads():
    all_run = threading.Barrier(10)

    assert sorted(run_all(10, *[lambda: all_run.wait(60)] * 10)) == list(range(10))


def test_jobs_that_wait_long_do_not_count(monkeypatch, busy):
    """They may compute outside of Python, as hashing a password does."""
    monkeypatch.setattr(module, "SLOW", 0.01)
    all_run = threading.Barrier(10)

    assert sorted(run_all(10, *[lambda: all_run.wait(60)] * 10)) == list(range(10))


def test_no_more_threads_than_the_limit():
    numbers, running, lock = [], set(), threading.Lock()
    waits = threading.Event()

    def job():
        with lock:
            running.add(threading.get_ident())
            numbers.append(len(running))

        waits.wait(0.02)

        with lock:
            running.discard(threading.get_ident())

    run_all(5, *[job] * 40)

    assert len(numbers) == 40
    assert max(numbers) <= 5


def test_one_thread_runs_jobs_in_order():
    done = []

    run_all(1, *[lambda number=number: done.append(number) for number in range(100)])

    assert done == list(range(100))


def test_error_of_a_job_is_logged(caplog):
    async def run():
        threads, done = Threads(1), threading.Event()
        threads.run(lambda: 1 / 0)
        threads.run(done.set)
        assert await asyncio.to_thread(done.wait, 60)
        threads.shutdown()

    asyncio.run(run())

    assert "A call failed." in caplog.text


def test_no_jobs_after_the_end():
    threads = Threads(1)
    threads.shutdown()

    with pytest.raises(RuntimeError, match="have ended"):
        threads.run(print)
