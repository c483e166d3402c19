"""Fields of bodies that a client may write to some records only."""

from __future__ import annotations

import typing as t

from ..problems import Problem
from .bodies import refuse

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    from ..typing import Record

CHANGED: t.Final = Problem("can't be changed", "read_only")


class Guards(t.NamedTuple):
    """The guarded fields that the body of a client names. A record has to be looked at
    before it is written.
    """

    write_once: Collection[str] = ()
    """The fields that keep the value that the record was created with."""

    def check_changes(self, instances: Sequence[t.Any], values: Record) -> None:
        """Refuse to change records, if a client may not.

        :param instances: The instances of the records, as they are stored.
        :param values: The new values.
        :raises BadRequest: The client may not write a value to one of the records. The
            value that a record has already is no problem.
        """
        problems = {
            name: CHANGED
            for name in self.write_once
            if name in values and not _have_all(instances, name, values[name])
        }
        refuse(problems)


UNGUARDED: t.Final = Guards()
"""The guards of a body without such fields."""


def _have_all(instances: Sequence[t.Any], name: str, value: t.Any) -> bool:
    """Return ``True`` if all instances have a value already."""
    return all([getattr(instance, name) == value for instance in instances])
