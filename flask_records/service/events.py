"""The events of a service, on their way to receivers and transports."""

from __future__ import annotations

import logging
import typing as t

from ..database.transaction import Transaction
from ..errors import without_parameters
from ..names import EVENTS
from ..signals import call, receivers_of
from .results import comes_in_pieces, event_records, records_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from ..signals import OrderedSignal
    from .context import HookContext
    from .service import Service

logger = logging.getLogger(__package__)


class Event(t.NamedTuple):
    """An event of one record, as transports get it."""

    service: Service
    """The service that sends it."""

    name: str
    """Its name, such as ``created``."""

    record: t.Any
    """The record as receivers in Python get it: whole, but for hidden fields."""

    context: HookContext | None
    """The call that caused it, if there was one."""


class EventTransport(t.Protocol):
    """Carries events to clients."""

    def is_listened_to(self) -> bool:
        """Return whether there may be listeners. If not, no event is delivered."""

    def reserve(self, events: Sequence[Event]) -> AbstractContextManager[None]:
        """Return what keeps the place of the events of a call, from before the commit
        until they are delivered.

        :raises TypeError: The record of one can't be encoded.
        """

    def deliver(self, events: Sequence[Event]) -> None:
        """Send the events of a transaction, in order, to those who may have them."""


class Transports(list[EventTransport]):
    """The transports that carry the events of all services."""

    def listening(self) -> list[EventTransport]:
        """Return the transports that have listeners, or may have some."""
        return [transport for transport in self if transport.is_listened_to()]

    def deliver(self, batches: Sequence[tuple[EventSender, Sequence[Event]]]) -> None:
        """Hand the events of a transaction to the transports, then to the receivers."""
        events = [event for _, each in batches for event in each]

        for transport in self.listening():
            try:
                transport.deliver(events)
            except Exception:
                # The calls are committed.
                logger.exception("%d events could not be sent.", len(events))

        for sender, each in batches:
            sender.run_receivers(each)


class EventSender:
    """Sends the events of one service. They are made only if there are listeners."""

    def __init__(
        self, service: Service, events_of_all: OrderedSignal, transports: Transports
    ) -> None:
        self._service = service
        self._signals = (service.events, events_of_all)
        self._transports = transports

    @property
    def is_connected(self) -> bool:
        """``True`` if there is a receiver, or a transport that may get listeners."""
        own, of_all = self._signals
        return bool(self._transports or own.receivers or of_all.receivers)

    def run_receivers(self, events: Sequence[Event]) -> None:
        """Run the receivers of events of one name in Python, in order."""
        receivers = receivers_of(events[0].name, *self._signals) if events else ()

        for event in events:
            for receiver in receivers:
                self._run(receiver, event)

    def _run(self, receiver: Callable[..., t.Any], event: Event) -> None:
        """Run a receiver in a transaction of its own."""
        try:
            with Transaction():
                call(receiver, event.name, event.record, event.context)
        except Exception as error:
            # The call is committed: a receiver can't undo it any more.
            without_parameters(error)
            path = self._service.path
            logger.exception("A receiver of '%s %s' failed.", path, event.name)

    def send_result(self, context: HookContext) -> None:
        """Send the event of a call, once for each record, if its method has one."""
        name, result = EVENTS.get(context.method), context.sent

        if name and self._service.sends_events and not comes_in_pieces(result):
            self.send(name, result if isinstance(result, list) else [result], context)

    def send(
        self, name: str, records: Sequence[t.Any], context: HookContext | None
    ) -> None:
        """Send the events of records after the commit of the call in progress."""
        if not self.is_connected:
            return

        service = self._service
        place = f"The record of '{service.path} {name}'"
        copies = event_records(service, records_of(records, place))
        events = [Event(service, name, record, context) for record in copies]

        if transaction := Transaction.current_or_none():
            for transport in self._transports.listening():
                transaction.hold(f"events {id(transport)}", transport.reserve(events))

        Transaction.collect(self._transports.deliver, (self, events))
