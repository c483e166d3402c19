"""Errors of databases, without the values that were sent to them."""

from __future__ import annotations

import re
import typing as t

SHOWN_STATEMENT = re.compile("near '.*", re.DOTALL)
"""The part of a statement that MariaDB shows."""


def without_parameters(error: BaseException) -> BaseException:
    """Return an error without values sent to a database, in its causes either."""
    seen: set[int] = set()
    causes: list[BaseException | None] = [error]

    while causes:
        cause = causes.pop()

        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            causes += [cause.__cause__, cause.__context__]

            cause.args = tuple(_without_statement(part) for part in cause.args)

            if hasattr(cause, "hide_parameters"):
                cause.hide_parameters = True

    return error


def _without_statement(part: t.Any) -> t.Any:
    return SHOWN_STATEMENT.sub("near ...", part) if isinstance(part, str) else part
