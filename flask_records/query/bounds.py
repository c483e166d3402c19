"""The bounds on one call of a client."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, fields
from itertools import islice

from flask import current_app, has_app_context

from ..errors import BadRequest
from ..names import READS
from ..settings import COUNT, read_settings

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

    from ..problems import Problem

SETTING: t.Final = "RECORDS_BOUNDS"
"""The key of ``app.config`` that has the bounds of an application."""

EXTENSION: t.Final = "records_bounds"
"""The key of ``app.extensions`` that holds them."""

SCANS: t.Final = frozenset(
    {"$like", "$notLike", "$ilike", "$regex", "$search", "$contains", "$overlap"}
)
"""The operators that look into the value of each record, by no index."""

POPULATE: t.Final = "$populate"
"""The special parameter that names relationships to load."""

INDEX = re.compile("[0-9]{1,18}")
CONTAINERS = (dict, list, tuple)

SCALAR_SIZE: t.Final = 6
"""About the bytes of a number, a time or another short value as JSON."""

MAX_ERRORS: t.Final = 100
"""The number of problems that one error names."""

MAX_SHOWN: t.Final = 5
"""The number of problems in the message of an error. Its ``errors`` has more."""

SHOWN_LENGTH: t.Final = 100
"""The number of characters of a name or a value that an error shows."""


TOO_LARGE: t.Final = """\
The answer has more than {limit} bytes. Narrow the query, populate less, or send a \
$limit or a $select to find.\
"""


@dataclass(frozen=True)
class Bounds:
    """The bounds of an application: the setting ``RECORDS_BOUNDS``.

    They hold for what clients send, not for what hooks, rules and Python add to it.
    """

    conditions: int = 100
    """The number of comparisons, items of groups, and special parameters of a query."""

    list_items: int = 1000
    """The number of items of all lists of a query together."""

    scans: int = 5
    """The number of operators of a query that read all records, such as ``$search``,
    and of its paths over lists.
    """

    paths: int = 10
    """The number of relationships that the names of a query follow, each as often as it
    is in a name.
    """

    multi: int = 1000
    """The number of records that one call creates, patches or removes."""

    answer: int = 16 * 1024 * 1024
    """The bytes of an answer as JSON."""

    uploads: int = 256 * 1024 * 1024
    """The bytes of bodies of more than 1 MiB that a worker with connections holds in
    temporary files at once.
    """

    def check_query(self, query: Mapping[str, t.Any]) -> None:
        """Refuse a query that is too large.

        :raises BadRequest: It has too many conditions, paths, scans or list items.
        """
        conditions, scans, items = 0, 0, 0
        populated = query.get(POPULATE)
        names = populated if isinstance(populated, CONTAINERS) else [populated]
        paths = sum([name.count(".") for name in names if isinstance(name, str)])
        parts: list[t.Any] = [query]

        # The loop visits the parts that it appends, too.
        for part in parts:
            values = part.values() if isinstance(part, dict) else part
            nested = [value for value in values if isinstance(value, CONTAINERS)]
            parts += nested

            if not isinstance(part, dict) or is_indexed(part):
                items += len(part)
                conditions += len(nested) or 1
            else:
                # Conditions below a name are counted instead of the name.
                conditions += len(part) - len(nested)
                scans += len(SCANS.intersection(part))
                paths += sum([name.count(".") for name in part if name[:1] != "$"])

        for number, limit, things in (
            (items, self.list_items, "list items"),
            (scans, self.scans, "operators such as $search"),
            (paths, self.paths, "paths to related records"),
            (conditions, self.conditions, "conditions"),
        ):
            if number > limit:
                raise BadRequest(f"The query has more than {limit} {things}.")


DEFAULTS: t.Final = Bounds()


def is_indexed(value: Mapping[t.Any, t.Any]) -> bool:
    """Return ``True`` for a mapping of indices, which stands for a list."""
    return bool(value) and all(
        [isinstance(key, str) and INDEX.fullmatch(key) for key in value]
    )


def init_app(app: Flask) -> None:
    """Read the setting of an application.

    :raises RuntimeError: It is not valid.
    """
    checks = {each.name: COUNT for each in fields(Bounds)}
    own, example = app.config.get(SETTING), {"conditions": 50}
    settings = read_settings(SETTING, own, checks, example=example)
    app.extensions[EXTENSION] = Bounds(**settings)


@dataclass
class AnswerSize:
    """The size of an answer to a client, counted while it is made."""

    limit: int
    """The maximum number of bytes."""

    _size: int = 0

    def add(self, size: int) -> None:
        """Count bytes of the answer.

        :raises BadRequest: It becomes too large.
        """
        self._size += size

        if self._size > self.limit:
            raise BadRequest(TOO_LARGE.format(limit=self.limit))


def json_size(value: t.Any) -> int:
    """Return about the number of bytes of a value as JSON."""
    if isinstance(value, (str, bytes)):
        return len(value) + 2

    if isinstance(value, dict):
        items = value.items()
        return 2 + sum([len(name) + 4 + json_size(item) for name, item in items])

    if isinstance(value, (list, tuple)):
        return 2 + sum([1 + json_size(item) for item in value])

    return SCALAR_SIZE


def bounds_of(app: Flask) -> Bounds:
    """Return the bounds of an application, or the defaults."""
    return t.cast(Bounds, app.extensions.get(EXTENSION) or DEFAULTS)


def current_bounds() -> Bounds:
    """Return the bounds of the current application, or the defaults."""
    return bounds_of(current_app) if has_app_context() else DEFAULTS


def check_answer(method: str, body: bytes) -> bytes:
    """Return the JSON of a result that a client gets.

    :raises BadRequest: A call that writes nothing gives too much.
    """
    if method in READS:
        AnswerSize(current_bounds().answer).add(len(body))

    return body


def shorten(text: str) -> str:
    """Return the start of a text that a client sent, for an error."""
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


def refused(name: str, problem: Problem) -> BadRequest:
    """Return the error for a name in a call, such as a field.

    :param name: The name, of any length.
    """
    name = shorten(name)
    return BadRequest(f"'{name}' {problem}.", errors={name: problem})


def refuse(problems: Mapping[str, Problem], part: str = "data") -> None:
    """Refuse a body, or another part of a call.

    :param problems: All problems by name. Nothing happens without any.
    :param part: The name of the part.
    :raises BadRequest: There is a problem.
    """
    if not problems:
        return

    errors = dict(islice(problems.items(), MAX_ERRORS))
    texts = [f"'{name}' {problem}" for name, problem in errors.items()]
    text = ", ".join(texts[:MAX_SHOWN])
    text += " and more" if len(texts) > MAX_SHOWN else ""
    raise BadRequest(f"The {part} is not valid: {text}.", errors=errors)
