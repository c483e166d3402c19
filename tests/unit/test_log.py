"""The order of events in the log of a process."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from flask_records.realtime import log as module
from flask_records.realtime.log import LOST, MAX_ENTRIES, MemoryLog


@pytest.fixture
def log():
    return MemoryLog()


@pytest.fixture
def threads():
    with ThreadPoolExecutor(3) as pool:
        yield pool


class Transaction:
    """A transaction in a thread, which begins to commit at once."""

    def __init__(self, log, pool):
        self._log = log
        self._entries = None
        self._has_begun, self._may_end = threading.Event(), threading.Event()
        self._running = pool.submit(self._run)
        assert self._has_begun.wait(30)

    def end(self, *entries):
        """Commit, and append entries. Roll back if there are none."""
        self._entries = entries
        self._may_end.set()
        self._running.result()

    def _run(self):
        with self._log.reserve():
            self._has_begun.set()
            assert self._may_end.wait(30)

            if self._entries:
                self._log.append(self._entries)


def test_entries_are_in_the_order_of_their_reservations(log, threads):
    first, second, third = [Transaction(log, threads) for _ in range(3)]

    third.end(b"3")
    second.end(b"2", b"also 2")
    early = log.read(0)
    first.end(b"1")

    assert early == []
    assert log.read(0) == [b"1", b"2", b"also 2", b"3"]


def test_transaction_that_is_rolled_back_lets_others_go_on(log, threads):
    first, second = [Transaction(log, threads) for _ in range(2)]

    second.end(b"2")
    first.end()

    assert log.read(0) == [b"2"]


def test_commit_that_takes_too_long_is_passed(log, threads, monkeypatch):
    """Its entries may be older than those that were sent."""
    monkeypatch.setattr(module, "COMMIT_TIMEOUT", -1)
    first, second, third = [Transaction(log, threads) for _ in range(3)]

    third.end(b"3")
    early = log.read(0)
    second.end()
    first.end(b"1")

    assert (early, log.read(0)) == ([b"3"], [LOST])


def test_log_that_nobody_reads_in_time_is_lost(log):
    log.append([b"{}"] * MAX_ENTRIES)
    kept = len(log.read(0))

    log.append([b"{}"] * MAX_ENTRIES)
    log.append([b"{}"])
    log.append([b"last"])

    assert (kept, log.read(0)) == (MAX_ENTRIES, [LOST, b"last"])


def test_log_that_is_not_read_has_a_bound_of_bytes(log):
    log.append([b"x" * 1_000_000] * 60)
    kept = len(log.read(0))
    log.append([b"x" * 1_000_000] * 70)

    assert (kept, log.read(0)) == (60, [LOST])
