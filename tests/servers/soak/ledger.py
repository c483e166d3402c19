"""The events that a client has got, compared with those that it should get."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Record:
    """A record as a client knows it."""

    version: int
    """The version that the client has found, or that the last event had."""

    event: int = 0
    """The version of the last event."""

    time: float = field(default_factory=time.monotonic)
    """When the client heard of it."""


@dataclass
class Ledger:
    """The records that one client knows, from one loading to the next.

    :param teams: The teams whose records the client may see.
    :param is_excused: Tells whether events may be lost between two times.
    """

    teams: tuple[str, ...]
    is_excused: object
    records: dict[int, Record] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """The rules that were broken."""

    events: int = 0
    """The number of events."""

    excused: int = 0
    """The number of events that were lost while the log of the workers was away."""

    loaded_at: float = field(default_factory=time.monotonic)

    def forget(self):
        """The client loads anew."""
        self.records.clear()
        self.is_loaded = False
        self.loaded_at = time.monotonic()

    def load(self, records):
        """Take the records that the client has found."""
        for each in records:
            self._check_team(each)
            known = self.records.setdefault(each["id"], Record(0))
            known.version = max(known.version, each["version"])

    def take(self, record):
        """Take an event."""
        self.events += 1
        self._check_team(record)
        id, version = record["id"], record["version"]
        known = self.records.get(id)

        if known is None:
            known = self.records[id] = Record(0, time=self.loaded_at)

        if version <= known.event:
            self.faults.append(f"{id}: event {version} after event {known.event}")
        elif version > known.version + 1 and self.is_loaded:
            self._miss(id, known, version - 1)

        known.event, known.time = version, time.monotonic()
        known.version = max(known.version, version)

    is_loaded = False
    """``False`` while events may be about changes before the loading."""

    def compare(self, stored):
        """Compare with the records as they are, once everything has arrived."""
        for each in stored:
            known = self.records.get(each["id"])

            if known is None or known.version < each["version"]:
                known = known or Record(0, time=self.loaded_at)
                self._miss(each["id"], known, each["version"])

    def _miss(self, id, known, version):
        if self.is_excused(known.time, time.monotonic()):
            self.excused += version - known.version
        else:
            lost = f"{known.version + 1} to {version}"
            self.faults.append(f"{id}: events {lost} did not arrive")

    def _check_team(self, record):
        if record["team"] not in self.teams:
            self.faults.append(f"{record['id']} is of another team")
