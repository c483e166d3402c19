"""The signals that hooks connect to."""

from __future__ import annotations

import typing as t
from inspect import isawaitable

from blinker import ANY, Signal
from flask import current_app

from .names import METHODS

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

F = t.TypeVar("F", bound="Callable[..., t.Any]")


class OrderedSet(dict[t.Any, None]):
    """A set that keeps the order in which its members were added.

    Blinker iterates a merge of two such sets. The merge of two dicts is atomic, so
    that connecting while another thread sends is safe.
    """

    def add(self, member: t.Any) -> None:
        """Add a member at the end, or leave it where it is."""
        self[member] = None

    def discard(self, member: t.Any) -> None:
        """Remove a member if it is there."""
        self.pop(member, None)


class OrderedSignal(Signal):
    """A signal whose receivers are called in the order in which they were connected,
    receivers for all senders first, and are kept alive.

    The sender is a name: of a method, or of an event.

    :param senders: The names that may be connected to. Any by default.
    """

    set_class = OrderedSet  # type: ignore[assignment]  # the part of a set in use

    def __init__(self, senders: Collection[str] | None = None) -> None:
        super().__init__()
        self.senders = senders
        self._orders: dict[str, tuple[Callable[..., t.Any], ...]] = {}

    def __call__(self, *senders: str) -> Callable[[F], F]:
        """Connect the decorated function.

        :param senders: The names to connect it to. Every name by default.
        :raises ValueError: There is no such name.
        :raises TypeError: There is a function in place of the names.
        """

        def decorator(receiver: F) -> F:
            for sender in senders or (ANY,):
                self.connect(receiver, sender)

            return receiver

        # A misspelt name raises where it is written.
        for sender in senders:
            self._check(sender)

        return decorator

    def connect(self, receiver: F, sender: t.Any = ANY, weak: bool = False) -> F:
        """Connect a receiver, which is kept alive whatever ``weak`` says.

        :param sender: The name to connect it to. Every name by default.
        :raises ValueError: There is no such name.
        """
        if sender is not ANY:
            self._check(sender)

        super().connect(receiver, sender, weak=False)
        self._orders = {}
        return receiver

    def disconnect(self, receiver: Callable[..., t.Any], sender: t.Any = ANY) -> None:
        """Disconnect a receiver from a name. From every name by default."""
        super().disconnect(receiver, sender)
        self._orders = {}

    def order(self, sender: str) -> tuple[Callable[..., t.Any], ...]:
        """Return the receivers of a name in order. A muted signal has none."""
        if self.is_muted or not self.receivers:
            return ()

        # An order that another thread finds out meanwhile ends up in the old mapping.
        orders = self._orders
        order = orders.get(sender)

        if order is None:
            order = orders[sender] = tuple(self.receivers_for(sender))

        return order

    def run(self, sender: str, *args: t.Any) -> None:
        """Call the receivers of a name with the name and the arguments, in order.
        Return values are ignored, exceptions are raised.
        """
        for receiver in self.order(sender):
            call(receiver, sender, *args)

    def _check(self, sender: t.Any) -> None:
        # The function of a decorator without parentheses.
        if callable(sender):
            raise TypeError(
                f"'{getattr(sender, '__name__', sender)}' is not a name. Write the"
                " decorator with parentheses, as in '@messages.before()' or"
                " '@messages.before(\"create\")'."
            )

        if self.senders is not None and sender not in self.senders:
            names = ", ".join(self.senders) or "none"
            raise ValueError(
                f"'{sender}' is not a method or an event here. Choose from: {names}."
            )


class CallSignals:
    """The signals of a service, or of all services of an extension.

    :param methods: The methods that hooks can be connected to.
    :param events: The events that receivers can be connected to. Any by default.
    """

    def __init__(
        self, methods: Collection[str] = METHODS, events: Collection[str] | None = None
    ) -> None:
        self.before = OrderedSignal(methods)
        """Runs hooks before the method."""
        self.after = OrderedSignal(methods)
        """Runs hooks after the method."""
        self.error = OrderedSignal(methods)
        """Runs hooks when a call has failed."""
        self.events = OrderedSignal(events)
        """Runs receivers after the commit, once for each record."""
        self.publish = OrderedSignal(events)
        """Decides who gets an event: a function of the event's name, the record and the
        context that returns the names of channels. The last that is connected to the
        event, or else to every event, decides. Members who may see the record get it
        once, without the fields that they may not see. The functions of the extension
        are for services that have none of their own.
        """


def receivers_of(
    sender: str, first: OrderedSignal, second: OrderedSignal
) -> tuple[Callable[..., t.Any], ...]:
    """Return the receivers of a name in order, the ones of the first signal first."""
    return first.order(sender) + second.order(sender)


def call(function: Callable[..., t.Any], *args: t.Any) -> t.Any:
    """Call a function and return its result. Wait for a function that is ``async def``,
    for which Flask needs its ``async`` extra.
    """
    result = function(*args)
    is_plain = result is None or type(result) is dict

    if is_plain or not isawaitable(result):
        return result

    async def wait() -> t.Any:
        return await result

    return current_app.ensure_sync(wait)()
