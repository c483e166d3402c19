"""The methods of a service that take many records."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping

from ..errors import BadRequest, MethodNotAllowed
from ..names import names_of
from ..query.bounds import current_bounds
from ..settings import is_positive

if t.TYPE_CHECKING:
    from ..context import Params

# No method updates many records, but section 2.4 of the specification lists it.
NAMES: t.Final = ("create", "update", "patch", "remove")


class Multi:
    """The methods that take many records, and how many a client may name in a call.

    :param multi: ``True`` for all methods, or their names, or a mapping from names to
        numbers. The number is ``RECORDS_BOUNDS["multi"]`` by default.
    :param needs_query: Refuse a patch or remove of many by a client whose query has no
        condition. Off by default.
    :raises TypeError: The option is neither of these.
    :raises ValueError: A name is not a method, a number is not a positive integer, or
        a query is needed by no method.
    """

    def __init__(
        self,
        multi: bool | Collection[str] | Mapping[str, int],
        *,
        needs_query: bool = False,
    ) -> None:
        self._needs_query = needs_query

        if isinstance(multi, bool):
            multi = NAMES if multi else ()

        self._numbers: dict[str, int | None] = (
            dict(multi)
            if isinstance(multi, Mapping)
            else dict.fromkeys(names_of("multi", multi))
        )

        for name, number in self._numbers.items():
            if name not in NAMES:
                raise ValueError(
                    f"'multi' names '{name}'. It takes some of these:"
                    " multi=['create', 'patch', 'remove']."
                )

            if isinstance(multi, Mapping) and not is_positive(number):
                raise ValueError(
                    f"'multi' gives '{name}' the number {number!r}, which must be a"
                    " positive integer."
                )

        if needs_query and self._numbers.keys() <= {"create", "update"}:
            raise ValueError(
                "'multi_needs_query' has no effect without methods that write many"
                " records by a query: multi=['patch', 'remove']."
            )

    def __contains__(self, method: str) -> bool:
        """Return ``True`` if a method takes many records."""
        return method in self._numbers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._numbers})"

    def check(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a method on many records, unless it takes as many.

        :raises MethodNotAllowed: The method takes one record only.
        :raises BadRequest: A client may not name as many, or has to name a condition.
        """
        if method not in self:
            raise MethodNotAllowed(f"Can not {method} multiple entries")

        if self._is_unconditional(method, params):
            raise BadRequest(
                f"Can not {method} multiple entries by a query without a condition."
                " An empty list may have been left out of the query string."
            )

        limit = self.limit(method, params)

        if limit is not None and number > limit:
            raise BadRequest(
                f"Can not {method} more than {limit} records in one call."
                f" {CURES.get(method, CURES['patch'])}"
            )

    def _is_unconditional(self, method: str, params: Params) -> bool:
        is_refused = self._needs_query and method != "create"
        is_external = params.provider is not None
        return is_refused and is_external and not params.client_conditions

    def limit(self, method: str, params: Params) -> int | None:
        """Return the number of records that a call may name, or ``None`` for any."""
        if params.provider is None:
            return None

        number = self._numbers.get(method)
        return current_bounds().multi if number is None else number


CURES: t.Final = {
    "create": "Send the list in parts.",
    "patch": "Narrow the query, or send a $limit.",
}
"""The end of the message of an error, by method."""
