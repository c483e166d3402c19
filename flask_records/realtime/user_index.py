"""Connections by keys of their logins."""

from __future__ import annotations

import typing as t
from abc import ABC, abstractmethod

from ..query.value_keys import key_of, UNKNOWN

if t.TYPE_CHECKING:
    from collections.abc import Hashable

    from ..query import Field, FromUser
    from .connection import Connection


class Index(ABC):
    """Finds connections by keys that change with their logins."""

    def __init__(self) -> None:
        # Dicts are sets that keep the order.
        self._connections: dict[Hashable, dict[Connection, None]] = {}
        self._keys: dict[Connection, frozenset[Hashable]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, connection: Connection) -> None:
        """Add a connection, or find it by its login of now."""
        before = self._keys.get(connection, frozenset())
        after = self._keys_of(connection)

        if before == after:
            return

        self._drop(connection, before - after)

        for key in after - before:
            self._connections.setdefault(key, {})[connection] = None

        if after:
            self._keys[connection] = after
        else:
            del self._keys[connection]

    def remove(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        self._drop(connection, self._keys.pop(connection, frozenset()))

    def find(self, key: Hashable) -> dict[Connection, None]:
        """Return the connections with a key."""
        return dict(self._connections.get(key, {}))

    @abstractmethod
    def _keys_of(self, connection: Connection) -> frozenset[Hashable]:
        """Return the keys of a connection."""

    def _drop(self, connection: Connection, keys: frozenset[Hashable]) -> None:
        for key in keys:
            connections = self._connections[key]
            del connections[connection]

            if not connections:
                del self._connections[key]


class UserIndex(Index):
    """Finds the connections whose user has a value, as a database compares it with a
    field of records. It may find others, too: rules decide in the end.

    :param field: The field of records.
    :param value: The value of the user, or the list of them.
    """

    def __init__(self, field: Field, value: FromUser) -> None:
        super().__init__()
        self._field = field
        self._value = value

    def find(self, key: Hashable) -> dict[Connection, None]:
        """Return the connections whose user may have a value.

        :param key: The key of the value.
        """
        return {**super().find(key), **self.undecided}

    @property
    def undecided(self) -> dict[Connection, None]:
        """The connections whose user's value can't be found by a key. A rule may also
        fail for these.
        """
        return super().find(UNKNOWN)

    def _keys_of(self, connection: Connection) -> frozenset[Hashable]:
        try:
            values = self._value.values_of(connection.user)
            return frozenset([key_of(self._field.compared(value)) for value in values])
        except Exception:
            # The rule fails for this user, too, and tells why.
            return frozenset({UNKNOWN})


class LoginIndex(Index):
    """Finds the connections of a user, and those of a token: by the identifiers of
    both, as text.
    """

    def _keys_of(self, connection: Connection) -> frozenset[Hashable]:
        ids = connection.login.user_id, connection.payload.get("jti")
        return frozenset([str(id) for id in ids if id is not None])
