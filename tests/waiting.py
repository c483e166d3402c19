"""Waiting for other threads and processes."""

import time

START = 60
"""The seconds in which a server starts, on a machine that others use as well."""


def wait_until(condition, seconds=30):
    """Wait until a condition is met, which fails the test if that takes too long."""
    start = time.monotonic()

    while not condition():
        assert time.monotonic() - start < seconds, "The condition is not met in time."
        time.sleep(0.02)
