"""The functions of a program that events are given to."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import suppress

Function: t.TypeAlias = Callable[..., object]

Reader: t.TypeAlias = Callable[[t.Any], t.Any]
"""A function that makes the data of an event of JSON."""


class Receivers:
    """Calls functions at events, and as connections begin and end.

    :param deliver: Calls functions of the program, one after the other.
    """

    def __init__(self, deliver: Callable[..., None]) -> None:
        self._deliver = deliver
        self._by_event: dict[str, list[tuple[Function, Reader]]] = {}
        self._of_connections: list[Function] = []
        self._of_ends: list[Function] = []

    def on(self, name: str, function: Function, read: Reader) -> Callable[[], None]:
        """Call a function at an event.

        :param name: The name of the event on the wire.
        :returns: Ends it.
        """
        receiver = (function, read)
        receivers = self._by_event.setdefault(name, [])
        receivers.append(receiver)

        def end() -> None:
            with suppress(ValueError):
                receivers.remove(receiver)

        return end

    def on_connect(self, function: Function) -> None:
        """Call a function after each connection, once it has the login of the client.
        It gets ``True`` if no event was missed since the last time.
        """
        self._of_connections.append(function)

    def on_end(self, function: Function) -> None:
        """Call a function with the reason if events end until the program acts."""
        self._of_ends.append(function)

    def send(self, name: str, values: Sequence[t.Any]) -> None:
        """Call the functions of an event.

        :param values: Its arguments.
        """
        for function, read in tuple(self._by_event.get(name, ())):
            # An offset may follow the record.
            self._deliver(function, read(values[0]) if values else None)

    def begin(self, *, is_complete: bool) -> None:
        """Call the functions of connections."""
        for function in self._of_connections:
            self._deliver(function, is_complete)

    def end(self, reason: str) -> None:
        """Call the functions of ends."""
        for function in self._of_ends:
            self._deliver(function, reason)
