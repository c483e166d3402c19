"""The connections of one worker, and where they are found."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Mapping

from .user_index import LoginIndex, UserIndex

if t.TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Hashable,
        Iterable,
        Iterator,
        Sequence,
        ValuesView,
    )

    from ..query import Field, FromUser
    from .connection import Connection
    from .user_index import Index

    Names: t.TypeAlias = frozenset[str]


class Connections(Mapping[str, "Connection"]):
    """The connections of one worker, by id, by channel, and by values of their users
    and logins. All threads may change them.

    A connection is found from :meth:`add` to :meth:`remove`.
    """

    def __init__(self) -> None:
        self._by_id: dict[str, Connection] = {}
        # Dicts are sets that keep the order.
        self._members: dict[str, dict[Connection, None]] = {}
        self._logins = LoginIndex()
        self._by_value: dict[tuple[Field, FromUser], UserIndex] = {}
        # Nothing that takes another lock, and nothing of the application, runs in it.
        self._lock = threading.Lock()

    def __getitem__(self, id: str) -> Connection:
        return self._by_id[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def values(self) -> ValuesView[Connection]:
        """Return the connections. A list of them is as they are at one moment."""
        return self._by_id.values()

    def members(self, *channels: str) -> list[Connection]:
        """Return the connections in a channel, or each one in any of several."""
        with self._lock:
            groups = [self._members[name] for name in channels if name in self._members]

            if len(groups) == 1:
                return list(groups[0])

            return list({each: None for group in groups for each in group})

    def add(self, connection: Connection) -> None:
        """Add a connection that was made for these."""
        with self._lock:
            self._by_id[connection.id] = connection
            self._enter(connection, connection.channels)

            for index in self._indexes:
                index.put(connection)

    def remove(self, id: str) -> Connection | None:
        """Remove a connection, and return it if it was there."""
        with self._lock:
            connection = self._by_id.pop(id, None)

            if connection is not None:
                self._leave(connection, connection.channels)

                for index in self._indexes:
                    index.remove(connection)

        return connection

    def move(
        self, connection: Connection, change: Callable[[Names], Iterable[str]]
    ) -> None:
        """Change the channels of a connection.

        :param change: Returns the new channels for the present ones.
        """
        with self._lock:
            before = connection.channels
            after = connection._channels = frozenset(change(before))

            if self._by_id.get(connection.id) is connection:
                self._leave(connection, before - after)
                self._enter(connection, after - before)

    @property
    def channels(self) -> list[str]:
        """The names of all channels that have members."""
        with self._lock:
            return list(self._members)

    def renew(self, connection: Connection) -> None:
        """Find a connection by the values of its present user and login."""
        with self._lock:
            if self._by_id.get(connection.id) is connection:
                for index in self._indexes:
                    index.put(connection)

    def with_login(self, id: t.Any) -> list[Connection]:
        """Return the connections of a user or of a token.

        :param id: The identifier of either.
        """
        with self._lock:
            return list(self._logins.find(str(id)))

    def owners(
        self, field: Field, value: FromUser, key: Hashable
    ) -> dict[Connection, None]:
        """Return the connections whose user may have a value, among others for which a
        rule has to decide.

        :param field: The field of records that has the value.
        :param value: The value of users, or the list of them.
        :param key: The key of the value.
        """
        with self._lock:
            return self._index(field, value).find(key)

    def undecided(self, field: Field, value: FromUser) -> dict[Connection, None]:
        """Return the connections for which a rule has to decide, whatever the record.

        :param field: The field of records.
        :param value: The value of users, or the list of them.
        """
        with self._lock:
            return dict(self._index(field, value).undecided)

    def _index(self, field: Field, value: FromUser) -> UserIndex:
        index = self._by_value.get((field, value))

        if index is None:
            index = self._by_value[field, value] = UserIndex(field, value)

            for connection in self._by_id.values():
                index.put(connection)

        return index

    @property
    def _indexes(self) -> Sequence[Index]:
        return [self._logins, *self._by_value.values()]

    def _enter(self, connection: Connection, channels: Names) -> None:
        for name in channels:
            self._members.setdefault(name, {})[connection] = None

    def _leave(self, connection: Connection, channels: Names) -> None:
        for name in channels:
            members = self._members[name]
            del members[connection]

            if not members:
                del self._members[name]
