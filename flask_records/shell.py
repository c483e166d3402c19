"""The names that ``flask shell`` has."""

from __future__ import annotations

import builtins
import keyword
import typing as t

from .globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .service import Service

RESERVED_NAMES: t.Final = frozenset({*keyword.kwlist, *dir(builtins), "app", "g"})
"""The names of ``flask shell`` that are no services."""


def shell_context(services: Mapping[str, Service]) -> dict[str, t.Any]:
    """Return the extension and services by name. A service is left out if its path is
    no name, or means something else.

    :param services: The services by path.
    """
    named = {
        path: service
        for path, service in services.items()
        if path.isidentifier() and path not in RESERVED_NAMES
    }
    return {"current_records": current_records, **named}
