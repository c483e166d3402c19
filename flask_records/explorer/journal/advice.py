"""Warnings about a recorded call, with what to do."""

from __future__ import annotations

import typing as t
from collections import defaultdict

from .plans import BEGINNING

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .recorded import Call
    from .recorded import Part
    from .recorded import Statement

REPEATS: t.Final = 3
"""The number of times from which on a statement of one function is a warning."""

SLOW: t.Final = 50
"""The milliseconds from which on a function is slow."""

OWN: t.Final = __package__.partition(".")[0] + "."
"""The beginning of the names of hooks that an application can't change."""

FUNCTIONS: t.Final = {
    "around": "The around hook",
    "around end": "The end of the around hook",
    "before": "The before hook",
    "after": "The after hook",
    "error": "The error hook",
    "event": "The receiver of events",
    "readable": "The rule 'readable'",
}
"""The words for the functions of an application, by phase."""

READ_AT_ONCE: t.Final = """\
{name} runs the same statement {number} times{line}. Read all records at once, for \
example with find and {{"id": {{"$in": ids}}}}.\
"""

WRITE_AT_ONCE: t.Final = """\
{name} runs the same statement {number} times{line}. Write all records at once: create \
takes a list, and patch and remove take None for all records of a query.\
"""

TAKES: t.Final = "{function} {name} takes {milliseconds:.0f} ms{statements}. {cure}"

LATER: t.Final = "Let a job do what the answer does not need."

REMEMBER: t.Final = "Each call of a client waits for it: return a query, or FromUser."


class Warning(t.NamedTuple):
    """A warning about a call."""

    kind: str
    """Its kind: ``repeated``, ``slow`` or ``index``."""

    text: str
    """A sentence that says what is wrong, and what to do."""

    statements: tuple[int, ...] = ()
    """The places of its statements among those of the call."""


def warnings_of(call: Call) -> list[Warning]:
    """Return the warnings about a call. Those about indexes need its plans."""
    return [*_repeated(call), *_slow(call), *_indexes(call)]


def _repeated(call: Call) -> Iterator[Warning]:
    places: dict[tuple[str, str], list[int]] = defaultdict(list)

    for place, statement in enumerate(call.statements):
        name = _function(statement)

        if name is not None and BEGINNING.match(statement.sql):
            places[name, statement.sql].append(place)

    for (name, sql), found in places.items():
        if len(found) >= REPEATS:
            origin = call.statements[found[0]].origin
            line = f" (line {origin.line})" if origin else ""
            is_read = sql.lstrip().upper().startswith(("SELECT", "WITH"))
            text = READ_AT_ONCE if is_read else WRITE_AT_ONCE
            sentence = text.format(name=name, number=len(found), line=line)
            yield Warning("repeated", sentence, tuple(found))


def _function(statement: Statement) -> str | None:
    """Return the function of the application that a statement is run for."""
    if statement.origin is not None:
        return statement.origin.name

    # An asynchronous hook runs in another thread, whose lines tell nothing.
    part: Part | None = statement.part

    while part is not None and part.phase not in FUNCTIONS:
        part = part.outer

    return None if part is None else part.name


def _slow(call: Call) -> Iterator[Warning]:
    for part in call.all_parts():
        function = FUNCTIONS.get(part.phase)
        is_own = part.name.startswith(OWN)

        if function is None or is_own or (part.milliseconds or 0) <= SLOW:
            continue

        places = [
            place
            for place, statement in enumerate(call.statements)
            if statement.part.is_within(part)
        ]
        yield Warning("slow", _slow_text(call, part, function, places), tuple(places))


def _slow_text(call: Call, part: Part, function: str, places: list[int]) -> str:
    times = [call.statements[place].milliseconds or 0 for place in places]
    statements = f", {sum(times):.0f} of them in {len(times)} statements"
    return TAKES.format(
        function=function,
        name=part.name,
        milliseconds=part.milliseconds or 0,
        statements=statements if times else "",
        cure=REMEMBER if part.phase == "readable" else LATER,
    )


def _indexes(call: Call) -> Iterator[Warning]:
    places: dict[str, list[int]] = defaultdict(list)

    for place, statement in enumerate(call.statements):
        for sentence in statement.plan.advice if statement.plan else ():
            places[sentence].append(place)

    for sentence, found in places.items():
        yield Warning("index", sentence, tuple(found))
