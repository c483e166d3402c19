"""The CPU and the memory of a server, with all processes that it has started."""

from __future__ import annotations

import os
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")


class Processes:
    """The processes of a server.

    :param id: The id of the first one.
    """

    def __init__(self, id):
        self._id = id

    @property
    def ids(self):
        """The ids of those that run."""
        parents = {}

        for path in Path("/proc").glob("[0-9]*/stat"):
            if fields := fields_of(path):
                parents[int(path.parent.name)] = int(fields[1])

        ids = [self._id]

        for id in ids:
            ids += [child for child, parent in parents.items() if parent == id]

        return ids

    @property
    def cpu(self):
        """The seconds of CPU that they have taken."""
        paths = [Path(f"/proc/{id}/stat") for id in self.ids]
        times = [fields[11:13] for path in paths if (fields := fields_of(path))]
        return sum(int(ticks) for pair in times for ticks in pair) * TICK

    @property
    def memory(self):
        """The memory that they hold, in KiB. A page that they share counts once."""
        return sum(self._sum_of("smaps_rollup", "Pss:"))

    @property
    def threads(self):
        """The number of their threads."""
        return sum(self._sum_of("status", "Threads:"))

    def _sum_of(self, file, name):
        for id in self.ids:
            for line in lines_of(Path(f"/proc/{id}/{file}")):
                if line.startswith(name):
                    yield int(line.split()[1])


def fields_of(path):
    """The fields after the name of a process, or nothing if it has ended."""
    return "".join(lines_of(path)).rpartition(")")[2].split()


def lines_of(path):
    try:
        return path.read_text(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
