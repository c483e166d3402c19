"""The bounds on one call of a client."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, fields
from itertools import islice

from flask import current_app

from ..errors import BadRequest
from ..settings import COUNT, read_settings

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

SETTING: t.Final = "RECORDS_BOUNDS"
"""The key of ``app.config`` that has the bounds of an application."""

EXTENSION: t.Final = "records_bounds"
"""The key of ``app.extensions`` that holds them."""

UNCOUNTED: t.Final = frozenset({"$limit", "$skip", "$select", "$sort", "$populate"})
"""The names in a query that are not conditions. The fields of a sort are counted."""

INDEX = re.compile("[0-9]{1,18}")
CONTAINERS = (dict, list, tuple)

MAX_ERRORS: t.Final = 100
"""The number of problems that one error names."""

MORE_ERRORS: t.Final = "..."
"""The name in ``errors`` that stands for the problems beyond :data:`MAX_ERRORS`."""

SHOWN_LENGTH: t.Final = 100
"""The number of characters of a name or a value that an error shows."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of an application: the setting ``RECORDS_BOUNDS``.

    They hold for what clients send, not for what hooks, rules and Python add to it.
    """

    conditions: int = 100
    """The number of comparisons, groups and sort fields of a query."""

    list_items: int = 1000
    """The number of items of all lists of a query together."""

    name_length: int = 1000
    """The number of characters of a name in a query or a form."""

    multi: int = 1000
    """The number of records that one call creates, patches or removes, unless the
    ``multi`` option of the service has its own.
    """

    @classmethod
    def of(cls, settings: t.Any) -> Bounds:
        """Return the bounds of a setting.

        :param settings: A mapping from names to positive integers, or ``None`` for the
            defaults.
        :raises RuntimeError: A name is unknown, or a value is not a positive integer.
        """
        checks = {field.name: COUNT for field in fields(cls)}
        example = {"conditions": 50}
        return cls(**read_settings(SETTING, settings, checks, example=example))

    def check_query(self, query: Mapping[str, t.Any]) -> None:
        """Refuse a query that is too large. The check stops at the first excess.

        :raises BadRequest: It has too many conditions or list items, or a name that is
            too long.
        """
        items, conditions = 0, -len(UNCOUNTED.intersection(query))
        parts: list[t.Any] = [query]

        # The loop visits the parts that it appends, too.
        for part in parts:
            if self._is_list(part):
                items += len(part)

                if items > self.list_items:
                    raise self._too_many("list items", self.list_items)

                values = part.values() if isinstance(part, dict) else part
                nested = [value for value in values if isinstance(value, CONTAINERS)]
                parts += nested
                conditions += len(nested) or 1
            else:
                # Each of the names comes to one condition at least.
                if len(part) > self.conditions + len(UNCOUNTED):
                    raise self._too_many("conditions", self.conditions)

                for name, value in part.items():
                    if len(name) > self.name_length:
                        raise self.long_name()

                    if not isinstance(value, CONTAINERS):
                        conditions += 1
                        continue

                    parts.append(value)

                    # Below a field, the operators are counted instead.
                    if not self._is_list(value) and (name[:1] == "$" or not value):
                        conditions += 1

            if conditions > self.conditions:
                raise self._too_many("conditions", self.conditions)

    def long_name(self) -> BadRequest:
        """Return the error for a name that is too long."""
        return BadRequest(f"A name has more than {self.name_length} characters.")

    def _is_list(self, part: t.Any) -> bool:
        """Return ``True`` for a list, or a mapping of indices that stands for one."""
        if not isinstance(part, dict):
            return True

        # Most names are no index, which the first character tells.
        if not next(iter(part), "")[:1].isdecimal():
            return False

        return all(map(INDEX.fullmatch, islice(part, self.list_items + 1)))

    def _too_many(self, things: str, limit: int) -> BadRequest:
        return BadRequest(f"The query has more than {limit} {things}.")


DEFAULTS: t.Final = Bounds()
"""The bounds of an application that sets none."""


def init_app(app: Flask) -> None:
    """Read the setting of an application.

    :raises RuntimeError: It is not valid.
    """
    app.extensions[EXTENSION] = Bounds.of(app.config.get(SETTING))


def current_bounds() -> Bounds:
    """Return the bounds of the current application, or the defaults."""
    try:
        return t.cast(Bounds, current_app.extensions.get(EXTENSION, DEFAULTS))
    except RuntimeError:
        # There is no current application.
        return DEFAULTS


def shortened(text: str) -> str:
    """Return the start of a text that a client sent, for an error."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."
