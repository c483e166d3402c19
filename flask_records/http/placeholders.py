"""Placeholders in the paths of services and in URL rules."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable

PLACEHOLDER = re.compile(r"<(?:(?P<converter>\w+)(?:\([^<>]*\))?:)?(?P<name>\w+)>")
"""A placeholder of a URL rule."""

COLON_PLACEHOLDER = re.compile(r"(^|/):(\w+)")
"""A placeholder of a path as FeathersJS has it."""


def rule_of(path: str) -> str:
    """Return the URL rule of a service, without a prefix."""
    return "/" + COLON_PLACEHOLDER.sub(r"\1<\2>", path)


def placeholders_of(rule: str) -> list[str]:
    """Return the names of the placeholders in a URL rule, in their order."""
    return [match["name"] for match in PLACEHOLDER.finditer(rule)]


def fill_placeholders(rule: str, value_of: Callable[[str], str]) -> str:
    """Return a URL rule with values in place of its placeholders.

    :param value_of: Returns the value of a placeholder by its name.
    """
    return PLACEHOLDER.sub(lambda match: value_of(match["name"]), rule)
