"""Threads for calls, of which a few run at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

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


def test_jobs_that_wait_for_later_ones_get_more_threads():
    all_run = threading.Barrier(10)

    assert sorted(run_all(10, *[lambda: all_run.wait(60)] * 10)) == list(range(10))


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
