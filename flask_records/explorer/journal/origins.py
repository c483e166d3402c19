"""Names of functions, and the line of an application that a statement is run for."""

from __future__ import annotations

import sys
import sysconfig
import typing as t
from functools import lru_cache
from functools import partial

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType
    from types import FrameType

PACKAGE: t.Final = __package__.partition(".")[0]

LIBRARIES: t.Final = (sysconfig.get_path("stdlib"), "site-packages", "dist-packages")
"""The folders whose code is not that of the application."""

LOCALS: t.Final = "<locals>."


class Origin(t.NamedTuple):
    """A line of the application."""

    name: str
    """The module and the function, such as ``app:add_author``."""

    line: int
    """The number of the line."""


def name_of(function: t.Any) -> str:
    """Return the module and the name of a function, such as ``app:add_author``."""
    while isinstance(function, partial):
        function = function.func

    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__.replace(LOCALS, '')}"


def origin(calls: Collection[CodeType]) -> Origin | None:
    """Return the innermost line of the application that runs in a call, if there is
    one. The line that has made the outermost call does not count.

    :param calls: The code of the functions that run calls.
    """
    frame: FrameType | None = sys._getframe(1)
    innermost: FrameType | None = None

    while frame is not None:
        if innermost is not None and frame.f_code in calls:
            name = innermost.f_code.co_qualname.replace(LOCALS, "")
            module = innermost.f_globals.get("__name__")
            return Origin(f"{module}:{name}", innermost.f_lineno)

        if innermost is None and _is_of_application(frame):
            innermost = frame

        frame = frame.f_back

    return None


def _is_of_application(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__")).partition(".")[0]
    return module != PACKAGE and _is_file_of_application(frame.f_code.co_filename)


@lru_cache(maxsize=1000)
def _is_file_of_application(name: str) -> bool:
    # Code without a file, such as that of dataclasses, has a name in such brackets.
    return name[:1] != "<" and not any(folder in name for folder in LIBRARIES)
