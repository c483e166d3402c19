"""The end of a transaction: functions that run after the commit."""

from __future__ import annotations

import typing as t
from contextvars import ContextVar

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

T = t.TypeVar("T")

_current: ContextVar[Ending | None] = ContextVar("records_ending", default=None)


class Ending:
    """Runs functions after a commit, and hands on together what they gather.

    One of the functions may commit something of its own. What was gathered until then
    is handed on first, so that everything is in the order of the commits.
    """

    def __init__(self) -> None:
        self._outer = Ending.current_or_none()
        self._gathered: dict[Callable[[list[t.Any]], None], list[t.Any]] = {}
        self._is_over = False

    @classmethod
    def current_or_none(cls) -> Ending | None:
        """Return the ending whose functions are running, if there is one."""
        ending = _current.get()
        # A thread that a function has started may have a copy of the context.
        return None if ending is None or ending._is_over else ending

    def run(self, functions: Iterable[Callable[[], None]]) -> None:
        """Run functions, then hand on what they have gathered.

        :param functions: They must not raise.
        """
        token = _current.set(self)

        try:
            for function in functions:
                function()
        finally:
            _current.reset(token)
            self._is_over = True
            self._hand_on()

    def gather(self, function: Callable[[list[T]], None], item: T) -> None:
        """Add an item to those that a function is called with.

        :param function: It is called once with all of them. It must not raise.
        :param item: One of them.
        """
        self._gathered.setdefault(function, []).append(item)

    def _hand_on(self) -> None:
        if not self._gathered:
            return

        if self._outer is not None:
            self._outer._hand_on()

        gathered, self._gathered = self._gathered, {}

        for function, items in gathered.items():
            function(items)


def gather(function: Callable[[list[T]], None], item: T) -> None:
    """Call a function with an item, together with all others that are gathered for it
    after the same commit, or at once if no functions are running after one.

    :param function: It is called with a list of items. It must not raise.
    :param item: One of them.
    """
    ending = Ending.current_or_none()

    if ending is None:
        function([item])
    else:
        ending.gather(function, item)
