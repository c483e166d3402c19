"""Calls, described without the values in them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ...errors import RecordsError

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from ...context import HookContext
    from .recorded import Call

MAX_NAMES: t.Final = 50
"""The number of names that are kept, and of bodies that they are taken from."""

NAME: t.Final = re.compile(r"\$?[A-Za-z_][\w.-]{0,63}")
"""A name that may be shown. Others may be a whole body, sent in the wrong form."""

UNSHOWN: t.Final = "…"


def describe(call: Call, context: HookContext) -> None:
    """Keep the names of the fields that a call has."""
    bodies = context.data if isinstance(context.data, list) else [context.data]
    call.data_fields = _names(bodies[:MAX_NAMES])
    call.query_fields = _names([context.params.query])


def succeed(call: Call, context: HookContext) -> None:
    """Keep the status of a call that has a result."""
    default = 201 if context.method == "create" else 200
    call.status = context.status_code or (204 if context.sent is None else default)


def fail(call: Call, error: BaseException) -> None:
    """Keep the status of a call that has failed, and the name of the error, whose
    message may have values.
    """
    kind = type(error).__name__
    call.error = error.name if isinstance(error, RecordsError) else kind
    code = getattr(error, "code", None)
    call.status = code if isinstance(code, int) else 500


def _names(mappings: Iterable[t.Any]) -> list[str]:
    """Return the names in mappings, each once."""
    names = [name for each in mappings if isinstance(each, Mapping) for name in each]
    shown = [str(n) if NAME.fullmatch(str(n)) else UNSHOWN for n in names]
    return list(dict.fromkeys(shown))[:MAX_NAMES]
