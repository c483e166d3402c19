"""Query strings, parsed as ``qs`` for JavaScript does. See sections 4.2 and 4.3.9."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from ..errors import BadRequest
from ..problems import too_deep
from ..query.bounds import shorten

ARRAY_LIMIT: t.Final = 20
"""The number of items beyond which a list becomes a mapping of indices."""

DEPTH_LIMIT: t.Final = 20
"""The maximum number of brackets of a name."""

NAME_LENGTH: t.Final = 1000
"""The maximum number of characters of a name."""

PARAMETER_LIMIT: t.Final = 1000
"""The maximum number of parameters of a query string."""

INDEX = re.compile("0|[1-9][0-9]{0,8}")

NESTED = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\])+")
"""A name with brackets. Others, whose brackets do not pair, are taken as they are."""

UNNUMBERED: t.Final = "Give the items of '{0}' numbers, such as {0}[0][a]=1."

BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
OPENING = re.compile("%5B", re.IGNORECASE)
CLOSING = re.compile("%5D", re.IGNORECASE)


Step: t.TypeAlias = "str | int | None"


class Node(dict[str | int, t.Any]):
    """A mapping or a list under construction: parts by their names or indices."""

    end = 0
    """The index after the last one."""

    def put(self, key: Step, value: t.Any) -> None:
        """Set a part, ``None`` at the end of a list. If there is one already, both
        become items of a list.
        """
        key = self.end if key is None else key

        if key in self:
            self.inner(key).put(None, value)
        else:
            self._set(key, value)

    def inner(self, key: Step) -> Node:
        """Return the mapping or list at a name or index, ``None`` for the first. A
        value that is there becomes its first item.
        """
        key = 0 if key is None else key
        part = self.get(key)

        if type(part) is Node:
            return part

        node = Node()
        self._set(key, node)

        if part is not None:
            node.put(None, part)

        return node

    def _set(self, key: str | int, part: t.Any) -> None:
        self[key] = part

        if isinstance(key, int):
            self.end = max(self.end, key + 1)

    def build(self, limit: int) -> dict[str, t.Any] | list[t.Any]:
        """Return a list if the indices of all parts are below a limit, or a mapping."""
        parts = {
            key: part.build(limit) if type(part) is Node else part
            for key, part in self.items()
        }

        if any(isinstance(key, str) for key in parts):
            return {str(key): part for key, part in parts.items()}

        items = {key: parts[key] for key in sorted(parts)}
        is_list = self.end <= limit
        return [*items.values()] if is_list else {str(k): v for k, v in items.items()}


def parse(text: str, array_limit: int = ARRAY_LIMIT) -> dict[str, t.Any]:
    """Return the nested mapping of a query string. All values are text.

    :param array_limit: The number of items beyond which a list becomes a mapping of
        indices. To raise it for an application, give ``FlaskRecords`` the query parser
        ``functools.partial(parse, array_limit=100)``.
    :raises BadRequest: There are too many parameters, they nest too deep, or a name is
        too long, or empty, or leaves open which item of a group is meant.
    """
    if text.count("&") >= PARAMETER_LIMIT:
        raise BadRequest(f"A query string has at most {PARAMETER_LIMIT} parameters.")

    if "%5" in text:
        text = CLOSING.sub("]", OPENING.sub("[", text))

    return parse_pairs(map(_split, filter(None, text.split("&"))), array_limit)


def parse_pairs(
    pairs: Iterable[tuple[str, t.Any]], array_limit: int
) -> dict[str, t.Any]:
    """Return the nested mapping of names with brackets and their texts or files."""
    root = Node()

    for name, value in pairs:
        if not name:
            raise BadRequest("A value has no name.")

        if len(name) > NAME_LENGTH:
            raise BadRequest(f"A name has more than {NAME_LENGTH} characters.")

        node, (outer, last) = root, _steps(name)

        for step in outer:
            # Both conditions of $or[][a]=1&$or[][b]=2 would be of one item, as in qs.
            if step is None and node and str(outer[0]).startswith("$"):
                raise BadRequest(UNNUMBERED.format(shorten(str(outer[0]))))

            node = node.inner(step)

        node.put(last, value)

    return {
        str(name): part.build(array_limit) if type(part) is Node else part
        for name, part in root.items()
    }


def _split(part: str) -> tuple[str, str]:
    bracket = part.find("]=")

    if bracket >= 0:
        name, value = part[: bracket + 1], part[bracket + 2 :]
    else:
        name, _, value = part.partition("=")

    if "%" in part or "+" in part:
        return _decode(name), _decode(value)

    return name, value


def _decode(text: str) -> str:
    text = text.replace("+", " ")

    if "%" not in text or BAD_PERCENT.search(text):
        return text

    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text


@lru_cache(maxsize=1024)
def _steps(name: str) -> tuple[tuple[Step, ...], Step]:
    """Return the keys of a name, and the last one: ``None`` for empty brackets."""
    if not NESTED.fullmatch(name):
        return (), name

    first, *rest = name.replace("]", "").split("[")

    if len(rest) > DEPTH_LIMIT:
        raise BadRequest(
            f"A query nests at most {DEPTH_LIMIT} levels deep.",
            errors={shorten(first): too_deep(DEPTH_LIMIT)},
        )

    inner = [int(step) if INDEX.fullmatch(step) else step or None for step in rest]
    *outer, last = [first, *inner] if first else inner
    return tuple(outer), last
