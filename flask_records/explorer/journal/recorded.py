"""Calls with their steps and their statements, as they are recorded."""

from __future__ import annotations

import datetime as dt
import time
import typing as t
from dataclasses import dataclass
from dataclasses import field

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    import sqlalchemy as sa

    from .origins import Origin
    from .plans import Plan

MAX_PARTS: t.Final = 500
"""The number of parts that are kept of one call."""

MAX_STATEMENTS: t.Final = 500
"""The number of statements that are kept of one call."""

MAX_QUESTIONS: t.Final = 50
"""The number of different statements whose plans can be asked for."""


class Question(t.NamedTuple):
    """A statement as it was run, to ask for its plan. It is never shown."""

    sql: str
    """The SQL, which may have values in its text."""

    parameters: t.Any
    """The parameters."""


@dataclass(eq=False, kw_only=True)
class Statement:
    """A statement of a call. Its ``repr`` has no values."""

    sql: str
    """The SQL without values."""

    part: Part = field(repr=False)
    """The part that it was run in."""

    origin: Origin | None
    """The line of the application that it was run for, if there is one."""

    question: Question | None = field(repr=False)
    """The statement as it was run, or ``None`` if it is too large, or not the first
    with this SQL in its call.
    """

    engine: sa.Engine = field(repr=False)
    """The engine that it was run with."""

    milliseconds: float | None = None
    """Its time, or ``None`` if it has failed."""

    rows: int | None = None
    """The number of rows that were found or written, if the driver tells."""

    plan: Plan | None = None
    """The plan of the database, once it was asked for."""


@dataclass(eq=False, kw_only=True)
class Part:
    """A part of a call that takes time: a step, or a call that is made in it."""

    phase: str
    """The kind of step, such as ``before``, or ``call``."""

    name: str
    """The name of the function, or of the service and its method."""

    outer: Part | None = field(default=None, repr=False)
    """The part that it belongs to, or ``None`` for a call that belongs to none."""

    parts: list[Part] = field(default_factory=list, repr=False)
    """The parts that it has itself, in their order."""

    error: str | None = None
    """The name of the error that it has failed with."""

    milliseconds: float | None = None
    """Its time, or ``None`` while it runs."""

    started: float = field(default_factory=time.perf_counter)
    """The beginning, by a clock that has no date."""

    def end(self) -> None:
        """Take the time."""
        self.milliseconds = (time.perf_counter() - self.started) * 1000

    @property
    def call(self) -> Call:
        """The call that all of it belongs to, which belongs to no other."""
        part = self

        while part.outer is not None:
            part = part.outer

        return t.cast("Call", part)

    def add(self, part: Part) -> None:
        """Add a part, unless the call has too many."""
        call = self.call
        call.number_of_parts += 1

        if call.number_of_parts <= MAX_PARTS:
            self.parts.append(part)

    def all_parts(self) -> Iterator[Part]:
        """Yield the parts in it, those inside of each after it."""
        for part in list(self.parts):
            yield part
            yield from part.all_parts()

    def is_within(self, other: Part) -> bool:
        """Return whether it is another part, or belongs to it."""
        part: Part | None = self

        while part is not None and part is not other:
            part = part.outer

        return part is other


@dataclass(eq=False, kw_only=True)
class Call(Part):
    """A call of a service, without the values in it."""

    path: str
    """The path of the service."""

    method: str
    """The name of the method."""

    provider: str | None
    """The transport, or ``None`` for a call in Python."""

    data_fields: list[str] = field(default_factory=list)
    """The names of the fields in the data."""

    query_fields: list[str] = field(default_factory=list)
    """The names in the query."""

    at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    """The time of its beginning."""

    status: int | None = None
    """The HTTP status, or that which an error would have."""

    id: int = 0
    """Its number in the journal. Calls inside of others have none."""

    is_over: bool = False
    """``True`` once nothing is recorded any more."""

    statements: list[Statement] = field(default_factory=list, repr=False)
    """The statements, those of calls inside included, in their order."""

    shown_sql: dict[str, str] = field(default_factory=dict, repr=False)
    """The SQL without values by the SQL of questions."""

    number_of_parts: int = 0
    """The number of parts, those that are not kept included."""

    number_of_statements: int = 0
    """The number of statements, those that are not kept included."""

    def add_statement(self, statement: Statement) -> None:
        """Add a statement, unless the call has too many."""
        self.number_of_statements += 1

        if self.number_of_statements <= MAX_STATEMENTS:
            self.statements.append(statement)
