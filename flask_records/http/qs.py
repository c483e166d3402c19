"""Query strings, parsed as ``qs`` for JavaScript does. See sections 4.2 and 4.3.9."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from ..errors import BadRequest
from ..problems import too_deep
from ..query.bounds import current_bounds, shortened

ARRAY_LIMIT: t.Final = 20
"""The number of items beyond which a list becomes a mapping of indices."""

DEPTH_LIMIT: t.Final = 20
"""The maximum number of brackets of a name."""

PARAMETER_LIMIT: t.Final = 1000
"""The maximum number of parameters of a query string."""

INDEX = re.compile("0|[1-9][0-9]{0,8}")
DIGITS = re.compile("[0-9]{1,4000}")
"""A key that counts as an index. Python reads no more than 4,300 digits."""

BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
OPENING = re.compile("%5B", re.IGNORECASE)
CLOSING = re.compile("%5D", re.IGNORECASE)


class Array(dict[int, t.Any]):
    """A list under construction: items by index, with gaps."""


class Overflow(dict[str, t.Any]):
    """A list with too many items, as a mapping of indices."""


def parse(text: str, array_limit: int = ARRAY_LIMIT) -> dict[str, t.Any]:
    """Return the nested mapping of a query string. All values are text.

    :param array_limit: The number of items beyond which a list becomes a mapping of
        indices. To raise it for an application, give ``FlaskRecords`` the query parser
        ``functools.partial(parse, array_limit=100)``.
    :raises BadRequest: There are too many parameters, they nest too deep, or a name is
        too long.
    """
    if text.count("&") >= PARAMETER_LIMIT:
        raise BadRequest(f"A query string has at most {PARAMETER_LIMIT} parameters.")

    if "%5" in text:
        text = CLOSING.sub("]", OPENING.sub("[", text))

    return parse_pairs(map(_split, filter(None, text.split("&"))), array_limit)


def parse_pairs(
    pairs: Iterable[tuple[str, t.Any]], array_limit: int
) -> dict[str, t.Any]:
    """Return the nested mapping of names with brackets, as :func:`parse` does.

    :param pairs: The names, each with a text or a file.
    :raises BadRequest: Names nest too deep, or one is too long.
    """
    flat = _flat(pairs, array_limit)

    if not any("[" in name for name in flat):
        return {name: _compact(value) for name, value in flat.items() if name}

    return _nested(flat, array_limit)


def _flat(pairs: Iterable[tuple[str, t.Any]], limit: int) -> dict[str, t.Any]:
    """Return values by name. A repeated name has an array."""
    flat: dict[str, t.Any] = {}
    repeated = set()
    bounds = current_bounds()

    for name, value in pairs:
        if len(name) > bounds.name_length:
            # The error of a name that also nests too deep comes first.
            _segments.__wrapped__(name)
            raise bounds.long_name()

        if name not in flat:
            flat[name] = value
        elif name in repeated:
            flat[name][len(flat[name])] = value
        else:
            flat[name] = Array({0: flat[name], 1: value})
            repeated.add(name)

    for name in repeated:
        flat[name] = _limited(flat[name], limit)

    return flat


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


def _nested(flat: dict[str, t.Any], limit: int) -> dict[str, t.Any]:
    result: dict[str, t.Any] = {}

    for name, value in flat.items():
        segments = _segments(name)

        if segments:
            _put(result, segments, value, limit)

    return {name: _compact(value) for name, value in result.items()}


@lru_cache(maxsize=1024)
def _segments(name: str) -> tuple[str | int | None, ...]:
    """Return the steps of a name: keys, indices, and ``None`` for the next index."""
    opening = name.find("[")

    if opening < 0:
        return (name,) if name else ()

    segments: list[str | int | None] = [name[:opening]] if opening else []

    while opening >= 0:
        closing = _closing(name, opening)
        content = name[opening + 1 : closing] if closing else name[opening:]
        segments.append(_step(content))
        opening = name.find("[", closing) if closing else -1

        if len(segments) > DEPTH_LIMIT + 1:
            raise BadRequest(
                f"A query nests at most {DEPTH_LIMIT} levels deep.",
                errors={shortened(str(segments[0])): too_deep(DEPTH_LIMIT)},
            )

    return tuple(segments)


def _closing(name: str, opening: int) -> int | None:
    """Return the position of the bracket that closes an opening one, if it exists."""
    level = 0

    for place in range(opening, len(name)):
        if name[place] == "[":
            level += 1
        elif name[place] == "]":
            level -= 1

            if level == 0:
                return place

    return None


def _step(content: str) -> str | int | None:
    if content == "":
        return None

    return int(content) if INDEX.fullmatch(content) else content


def _put(
    result: dict[str, t.Any],
    segments: tuple[str | int | None, ...],
    value: t.Any,
    limit: int,
) -> None:
    """Merge a value into the result at the position that the segments name."""
    if not isinstance(segments[0], str):
        chain = _chain(segments, value, limit)
        segments, value = (str(next(iter(chain))),), next(iter(chain.values()))

    node: t.Any = result

    # Walking down mappings needs no merge.
    for place, segment in enumerate(segments, 1):
        rest = segments[place:]

        if segment not in node:
            node[segment] = _chain(rest, value, limit)
            return

        if not rest or type(node[segment]) is not dict or type(rest[0]) is not str:
            node[segment] = _merge(node[segment], _chain(rest, value, limit), limit)
            return

        node = node[segment]


def _chain(segments: tuple[str | int | None, ...], value: t.Any, limit: int) -> t.Any:
    """Return the nested structure that has a value at the end of the segments."""
    for segment in reversed(segments):
        if segment is None:
            value = value if isinstance(value, (Array, Overflow)) else Array({0: value})
        elif isinstance(segment, str):
            value = {segment: value}
        elif segment < limit:
            value = Array({segment: value})
        else:
            value = Overflow({str(segment): value})

    return value


def _merge(target: t.Any, source: t.Any, limit: int) -> t.Any:
    """Merge two structures at the same position."""
    if not isinstance(source, dict):
        return _append(target, source, limit)

    if not isinstance(target, dict):
        return _prepend(target, source, limit)

    if isinstance(target, Array) and isinstance(source, Array):
        return _merge_arrays(target, source, limit)

    if isinstance(target, Array):
        target = {str(index): target[index] for index in sorted(target)}

    if isinstance(source, Overflow) and not isinstance(target, Overflow):
        target = Overflow(target)

    if isinstance(source, Array):
        source = {str(index): source[index] for index in sorted(source)}

    for key, value in source.items():
        target[key] = _merge(target[key], value, limit) if key in target else value

    return target


def _prepend(target: t.Any, source: dict[t.Any, t.Any], limit: int) -> t.Any:
    if isinstance(source, Overflow):
        shifted = {_next_index([key]): value for key, value in source.items()}
        return Overflow({"0": target, **shifted})

    if not isinstance(source, Array):
        return _limited(Array({0: target, 1: source}), limit)

    array = Array({0: target, **{1 + index: source[index] for index in source}})
    return _overflow(array) if max(array) >= limit else array


def _append(target: t.Any, source: t.Any, limit: int) -> t.Any:
    if isinstance(target, Overflow):
        target[_next_index(target)] = source
        return target

    if isinstance(target, Array):
        target[1 + max(target, default=-1)] = source
        return _limited(target, limit)

    return _limited(Array({0: target, 1: source}), limit)


def _merge_arrays(target: Array, source: Array, limit: int) -> t.Any:
    for index in sorted(source):
        item = source[index]

        if index not in target:
            target[index] = item
        elif isinstance(target[index], dict) and isinstance(item, dict):
            target[index] = _merge(target[index], item, limit)
        else:
            target[1 + max(target)] = item

    return _limited(target, limit)


def _limited(array: Array, limit: int) -> Array | Overflow:
    return array if len(array) <= limit else _overflow(array)


def _overflow(array: Array) -> Overflow:
    return Overflow({str(index): array[index] for index in sorted(array)})


def _next_index(keys: Iterable[str]) -> str:
    """Return the index after the greatest one."""
    return str(1 + max(map(int, filter(DIGITS.fullmatch, keys)), default=-1))


def _compact(value: t.Any) -> t.Any:
    """Return a structure as plain lists and mappings."""
    if not isinstance(value, dict):
        return value

    if isinstance(value, Array):
        return [_compact(value[index]) for index in sorted(value)]

    return {key: _compact(item) for key, item in value.items()}
