"""The methods of a service that take many records."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping

from ..errors import BadRequest, MethodNotAllowed
from ..query.bounds import current_bounds
from ..settings import names_of

if t.TYPE_CHECKING:
    from ..context import Params

# No method updates many records, but section 2.4 of the specification lists it.
NAMES: t.Final = ("create", "update", "patch", "remove")

NO_EFFECT: t.Final = """\
'multi_needs_query' has no effect without methods that write many records by a query: \
multi=['patch', 'remove'].\
"""

NUMBERS: t.Final = """\
'multi' takes a list of methods, such as multi=['create'], not {multi!r}. The number \
of records in a call is RECORDS_BOUNDS['multi'].\
"""


class Multi:
    """The methods that take many records. A client names ``RECORDS_BOUNDS["multi"]`` in
    one call at most.

    :param multi: ``True`` for all methods, or their names.
    :param needs_query: Refuse a patch or remove of many by a client whose query has no
        condition. Off by default.
    :raises TypeError: The option is neither of these.
    :raises ValueError: A name is not a method, or a query is needed by no method.
    """

    def __init__(
        self, multi: bool | Collection[str], *, needs_query: bool = False
    ) -> None:
        if isinstance(multi, bool):
            multi = NAMES if multi else ()

        if isinstance(multi, Mapping):
            raise TypeError(NUMBERS.format(multi=multi))

        self._methods = names_of("multi", multi)
        self._needs_query = needs_query

        for name in self._methods:
            if name not in NAMES:
                raise ValueError(
                    f"'multi' names '{name}'. It takes some of these:"
                    " multi=['create', 'patch', 'remove']."
                )

        if needs_query and {"patch", "remove"}.isdisjoint(self._methods):
            raise ValueError(NO_EFFECT)

    def __contains__(self, method: str) -> bool:
        """Return ``True`` if a method takes many records."""
        return method in self._methods

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._methods})"

    def check(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a method on many records, unless it takes as many.

        :raises MethodNotAllowed: The method takes one record only.
        :raises BadRequest: A client may not name as many, or has to name a condition.
        """
        if method not in self:
            raise MethodNotAllowed(f"Can not {method} multiple entries")

        is_new, is_client = method == "create", params.provider is not None
        has_condition = is_new or bool(params._state.client_conditions)

        if self._needs_query and is_client and not has_condition:
            raise BadRequest(
                f"Can not {method} multiple entries by a query without a condition."
                " An empty list may have been left out of the query string."
            )

        limit = self.limit(params)

        if limit is not None and number > limit:
            cure = "Send the list in parts." if is_new else NARROW
            raise BadRequest(
                f"Can not {method} more than {limit} records in one call. {cure}"
            )

    def limit(self, params: Params) -> int | None:
        """Return the number of records that a call may name, or ``None`` for any."""
        return None if params.provider is None else current_bounds().multi


NARROW: t.Final = "Narrow the query, or send a $limit."
"""The cure for a query that finds too many records."""
