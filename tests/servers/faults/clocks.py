"""Processes whose clocks are wrong."""

from __future__ import annotations

import os
from pathlib import Path


class Clock:
    """The clock of the processes that are started with its environment.

    :param folder: A folder for the file that tells them how wrong it is.
    :param seconds: How far it is ahead.
    """

    def __init__(self, folder, seconds=0):
        self._file = folder / f"clock{seconds}"
        self.set(seconds)
        self.environment = {
            "CLOCK": str(self._file),
            "PYTHONPATH": str(Path(__file__).parent / "clock"),
        }

    def set(self, seconds):
        """Move the clock, that of running processes, too."""
        new = self._file.with_suffix(".new")
        new.write_text(str(seconds))
        os.replace(new, self._file)
