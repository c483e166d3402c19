"""How much work a call is, on a machine of any speed."""

from __future__ import annotations

import time
from contextlib import contextmanager


@contextmanager
def at_most(units):
    """Fail if a block takes more processor time than a piece of work that is measured
    beside it, some times. On a quiet machine a unit is about 10 ms.

    :param units: How many times.
    """
    before = seconds_of_a_unit()
    start = time.process_time()

    yield

    seconds = time.process_time() - start
    unit = max(before, seconds_of_a_unit())
    assert seconds < units * unit, f"It took {seconds / unit:.0f} units."


def seconds_of_a_unit():
    start = time.process_time()
    sum(number % 7 for number in range(200_000))
    return time.process_time() - start
