"""Examples of a strategy, the same in each run unless more are asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import Phase
from hypothesis import settings


class Examples:
    """Tries a check with examples.

    :param number: The number of examples, or ``None`` for that of each test.
    """

    def __init__(self, number=None):
        self._number = number

    def check(self, check, strategy, number):
        """Call a function with examples of a strategy.

        :param number: The number of examples unless the command line tells another.
        """
        limits = settings(
            max_examples=self._number or number,
            # A run that nobody asked more of fails for a change of the code only.
            derandomize=self._number is None,
            # To look for the smallest example that fails takes minutes.
            phases=[Phase.generate] if self._number is None else list(Phase),
            database=None,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        limits(given(strategy)(check))()
