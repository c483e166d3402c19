"""The events that a client has got, compared with those that it should get."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Ledger:
    """The records that a client knows, from the begin of a connection to its end.

    :param teams: The teams whose records the client may see.
    """

    teams: tuple[str, ...]
    loaded: dict[int, int] = field(default_factory=dict)
    """The version of each record that the client has found."""

    arrived: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The versions of each record that events had."""

    latest: dict[tuple[int, int], int] = field(default_factory=dict)
    """The last of them for each record and process."""

    faults: list[str] = field(default_factory=list)
    """The rules that were broken."""

    events: int = 0
    """The number of events."""

    def load(self, records):
        """Take the records that the client has found."""
        for each in records:
            self._check_team(each)
            self.loaded[each["id"]] = each["version"]

    def take(self, record):
        """Take an event."""
        self.events += 1
        self._check_team(record)
        id, version = record["id"], record["version"]
        last = self.latest.get((id, record["worker"]), 0)

        if version in self.arrived[id]:
            self.faults.append(f"{id}: event {version} came twice")
        elif version < last:
            self.faults.append(f"{id}: event {version} after event {last}")

        self.latest[id, record["worker"]] = max(version, last)
        self.arrived[id].add(version)

    def compare(self, stored):
        """Compare with the records as they are, once everything has arrived."""
        for each in stored:
            known = self.loaded.get(each["id"], 0)
            expected = set(range(known + 1, each["version"] + 1))

            if missing := expected - self.arrived[each["id"]]:
                self.faults.append(f"{each['id']}: events {missing} did not arrive")

    def _check_team(self, record):
        if record["team"] not in self.teams:
            self.faults.append(f"{record['id']} is of another team")
