"""Bodies that are refused with all their problems."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from itertools import islice

from ..errors import BadRequest
from ..problems import AND_MORE
from .bounds import MAX_ERRORS, MORE_ERRORS

if t.TYPE_CHECKING:
    from ..problems import Problem

MAX_SHOWN: t.Final = 5
"""The number of problems in the message of an error. Its ``errors`` has more."""


def refuse(problems: Mapping[str, Problem], part: str = "data") -> None:
    """Refuse a body, or another part of a call.

    :param problems: All problems by name. Nothing happens if there are none.
    :param part: The name of the part.
    :raises BadRequest: There is a problem.
    """
    if not problems:
        return

    errors = dict(islice(problems.items(), MAX_ERRORS))
    shown = [f"'{name}' {problem}" for name, problem in errors.items()]
    text, more = ", ".join(shown[:MAX_SHOWN]), len(shown) - MAX_SHOWN

    if len(problems) > MAX_ERRORS:
        errors[MORE_ERRORS] = AND_MORE
        text += " and more"
    elif more > 0:
        text += f" and {more} more"

    raise BadRequest(f"The {part} is not valid: {text}.", errors=errors)
