"""The service that shows who is in channels."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import partial

from flask import current_app

from ..errors import NotFound
from ..pagination import Page
from ..pagination import Pagination
from ..query.in_memory import InMemory
from ..query.matching import key_of_query
from ..query.syntax import Comparison
from ..service.schemas import Schemas

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Hashable
    from collections.abc import Sequence

    from ..context import Params
    from ..query.syntax import Query
    from ..service.schemas import Schema
    from ..typing import Record

    IndexTest: t.TypeAlias = Callable[[int], bool]
    from .presence import Presence
    from .server import Server

FIELDS: t.Final = ("id", "channel", "userId", "since")
"""The fields that queries may use."""

TEXT: t.Final[Schema] = {"type": "string"}
COUNT: t.Final[Schema] = {"type": "integer", "minimum": 0}

RECORD: t.Final[Schema] = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "channel": TEXT,
        "userId": {},
        "since": {"type": "string", "format": "date-time"},
    },
    "required": ["id"],
}
"""The schema of a record, which may have more fields."""

ORDER: t.Final[Schema] = {"enum": [1, -1]}

QUERY: t.Final[Schema] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(FIELDS, {}),
        "$limit": COUNT,
        "$skip": COUNT,
        "$sort": {"type": "object", "properties": dict.fromkeys(FIELDS, ORDER)},
        "$select": {"type": "array", "items": {"enum": list(FIELDS)}},
    },
}
"""The schema of a query."""


class PresenceService:
    """Shows who is in channels: one record for each user in each channel, however many
    connections there are. Records are created and removed by the connections.

    :param path: The path of the service.
    :param paginate: The sizes of a page.
    :param is_open: ``True`` if clients may see all channels, or a ``readable`` rule
        tells which. By default they see the channels that they are in.
    """

    id = "id"

    def __init__(
        self, path: str, *, paginate: t.Any = None, is_open: bool = False
    ) -> None:
        self._path = path
        self.pagination = Pagination.of(paginate)
        """The sizes of a page."""
        self._is_open = is_open
        self._in_memory = InMemory(path, FIELDS)

    def find(self, params: Params) -> list[Record] | Page:
        """Return the users who are in channels."""
        query = self._in_memory.parse(params.query)
        records = self._in_memory.sorted(self._matching(params, query), query)
        limit = self.pagination.limit(query.limit)
        end = None if limit is None else query.skip + limit
        names = query.select
        data = [_selected(record, names) for record in records[query.skip : end]]

        if not self.pagination.is_on or not params.paginate:
            return data

        return Page(len(records), t.cast(int, limit), query.skip, data)

    def get(self, id: t.Any, params: Params) -> Record:
        """Return the presence of a user in a channel."""
        query = self._in_memory.parse(params.query)

        for record in self._matching(params, query, str(id)):
            return _selected(record, query.select)

        raise NotFound(f"No record found for id '{id}'")

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of the service."""
        return Schemas(
            RECORD,
            query=QUERY,
            is_paged=self.pagination.is_on,
            events={"created": RECORD, "removed": RECORD},
        )

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return what decides which records meet a query."""
        return Matching(self._in_memory, records)

    def _matching(
        self, params: Params, query: Query, id: str | None = None
    ) -> list[Record]:
        """Return the records that meet a query and that the caller may see."""
        test = self._in_memory.test(query)
        server: Server | None = current_app.extensions.get("records_realtime")

        if server is None or self._path not in server.presences:
            raise RuntimeError(
                f"The service '{self._path}' needs real time. Call"
                " realtime.init_app(app) after realtime.presence(...)."
            )

        presence = server.presences[self._path]
        presence.wait_until_ready()

        with presence.lock:
            if id is not None:
                found = presence.roster.get(id)
                records = [] if found is None else [found]
            else:
                records = _candidates(presence, query)

            channels = self._visible(presence, params)

        return [
            record
            for record in records
            if (channels is None or record["channel"] in channels) and test(record)
        ]

    def _visible(self, presence: Presence, params: Params) -> Collection[str] | None:
        """Return the channels that a caller may see, or ``None`` for all."""
        if self._is_open or params.provider is None:
            return None

        if params.connection is not None:
            return t.cast("Collection[str]", params.connection.channels)

        return presence.channels_of(params)


@dataclass(frozen=True)
class Matching:
    """Decides which of some records meet queries."""

    in_memory: InMemory
    """Parses the queries."""

    records: Sequence[t.Any]
    """The records."""

    def test(self, query: Record) -> IndexTest:
        """Return a function of the index of a record that tells whether it meets a
        query.
        """
        test = self.in_memory.test(self.in_memory.parse(query))
        return lambda index: test(self.records[index])

    def keyed(self, query: Record) -> tuple[Hashable, Callable[[], IndexTest]]:
        """Return a key that equal queries have in common, and a function that makes the
        test of the query.
        """
        return key_of_query(query), partial(self.test, query)

    def field(self, name: str) -> None:
        """Return ``None``: each record is compared by itself."""


def _candidates(presence: Presence, query: Query) -> list[Record]:
    """Return the records that may meet a query."""
    for condition in query.where:
        if isinstance(condition, Comparison) and condition.field == "channel":
            if condition.operator == "$eq":
                return presence.roster.of(str(condition.value))

    return list(presence.roster)


def _selected(record: Record, names: Collection[str] | None) -> Record:
    if names is None:
        return dict(record)

    return {name: record[name] for name in record if name == "id" or name in names}
