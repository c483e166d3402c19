"""The events of a service, on their way to receivers and transports."""

from __future__ import annotations

import logging
import typing as t
from functools import partial
from itertools import product

from ..context import NO_RESULT
from ..query.redaction import without_parameters
from ..query.syntax import names_of_populate, POPULATE
from ..signals import call, EVENTS, refuse_function
from ..transaction import collect, Transaction
from .big_integers import as_text
from .plain_records import plain

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from ..context import HookContext
    from ..signals import OrderedSignal
    from ..typing import Publisher, Record
    from .service import Service

    SentAndStored: t.TypeAlias = tuple[t.Any, t.Any]

logger = logging.getLogger(__package__)


class Event(t.NamedTuple):
    """An event of one record, as transports get it."""

    service: Service
    """The service that sends it."""

    name: str
    """Its name, such as ``created``."""

    record: t.Any
    """The record as it is sent."""

    stored: t.Any
    """The record as it is stored, which decides who may see it, and no client gets."""

    context: HookContext | None
    """The call that caused it, if there was one."""

    populate: Sequence[str] = ()
    """The relationships that hooks of the call have asked for. The record has none:
    each receiver gets those that it may see.
    """


class AskedRelationships:
    """The relationships that a query asks for before any hook changes it."""

    def __init__(self, query: Record) -> None:
        self._value = query.get(POPULATE)
        self._names = names_of_populate(self._value) if self._value else ()

    def added_by_hooks(self, query: Record) -> Sequence[str]:
        """Return the relationships that hooks have asked for since. They are the same
        whoever calls, so that events may have them.
        """
        value = query.get(POPULATE)

        if value is None:
            return ()

        names, is_replaced = names_of_populate(value), value is not self._value
        return [name for name in names if is_replaced or name not in self._names]


class EventTransport(t.Protocol):
    """Carries events to clients."""

    def is_listened_to(self) -> bool:
        """Return whether there may be listeners. If not, no event is delivered."""

    def prepare(self, service: Service, records: Sequence[t.Any]) -> None:
        """Prepare for events of the transaction in progress.

        :param records: The records as they will be sent.
        """

    def deliver(self, events: Sequence[Event]) -> None:
        """Send the events of one transaction, in their order, after its commit, to the
        clients that may have them.
        """


class Transports(list[EventTransport]):
    """The transports that carry the events of all services."""

    def listening(self) -> list[EventTransport]:
        """Return the transports that have listeners, or may have some."""
        return [transport for transport in self if transport.is_listened_to()]

    def deliver(self, sent: Sequence[SentEvents]) -> None:
        """Hand the events of one transaction, in their order, to the transports, then
        to the receivers.
        """
        listening = self.listening()
        all_receivers = [each.receivers() for each in sent]
        all_events = [
            list(each.events) if listening or receivers else []
            for each, receivers in zip(sent, all_receivers, strict=True)
        ]
        events = [event for each in all_events for event in each]

        for transport in listening if events else ():
            try:
                transport.deliver(events)
            except Exception:
                # The calls are committed.
                logger.exception("%d events could not be sent.", len(events))

        for each, receivers in zip(all_events, all_receivers, strict=True):
            for event, receiver in product(each, receivers):
                _run(receiver, event)


class SentEvents(t.NamedTuple):
    """The events of one call."""

    events: Iterable[Event]
    """The events, which may be made when they are needed."""

    receivers: Callable[[], Sequence[Callable[..., t.Any]]]
    """Returns the receivers of the application."""


class Publishers:
    """The functions that decide who gets an event.

    :param events: The names of the events. Any by default.
    """

    def __init__(self, events: Collection[str] | None = None) -> None:
        self._events = events
        self._publishers: dict[str | None, Publisher] = {}

    def connect(self, *events: str) -> Callable[[Publisher], Publisher]:
        """Let the decorated function decide who gets events: all if none is named.

        :raises ValueError: There is no such event.
        :raises TypeError: There is a function in place of the names.
        """
        refuse_function(events)

        for event in events:
            if self._events is not None and event not in self._events:
                raise ValueError(
                    f"There is no event '{event}'. There is: {', '.join(self._events)}."
                )

        def decorator(publisher: Publisher) -> Publisher:
            for event in events or (None,):
                self._publishers[event] = publisher

            return publisher

        return decorator

    def of(self, event: str) -> Publisher | None:
        """Return the function for an event, if there is one."""
        return self._publishers.get(event) or self._publishers.get(None)


class EventSender:
    """Sends the events of one service. They are made only if there are listeners."""

    def __init__(
        self, service: Service, events_of_all: OrderedSignal, transports: Transports
    ) -> None:
        self._service = service
        self._signals = (service.events, events_of_all)
        self._transports = transports

    def keeps_stored(self, method: str) -> bool:
        """Return whether the event of a method needs its result as it is stored."""
        service = self._service
        is_sent = method in EVENTS and service.sends_events
        return is_sent and service.has_rules and bool(self._transports)

    def send_result(self, context: HookContext, populate: Sequence[str] = ()) -> None:
        """Send the event of a call, once for each record, if its method has one.

        :param populate: The relationships that hooks have asked for.
        """
        name = EVENTS.get(context.method)

        if name is None or not self._service.sends_events or not self.is_connected:
            return

        sent, stored = _listed(context.sent), _listed(context.stored)

        # A hook may have made another result.
        if context.stored is NO_RESULT or len(stored) != len(sent):
            stored = sent

        records = list(zip(sent, stored, strict=True))
        self._send(name, records, context, populate)

    def send(
        self,
        name: str,
        record: t.Any,
        context: HookContext | None,
        stored: t.Any = NO_RESULT,
    ) -> None:
        """Send an event once the call in progress has been committed, or at once.

        :param stored: The record as it is stored. The same by default.
        """
        if self.is_connected:
            stored = record if stored is NO_RESULT else stored
            self._send(name, [(record, stored)], context)

    @property
    def is_connected(self) -> bool:
        """``True`` if there is a receiver, or a transport that may get listeners."""
        own, of_all = self._signals
        return bool(self._transports or own.receivers or of_all.receivers)

    def _send(
        self,
        name: str,
        records: list[SentAndStored],
        context: HookContext | None,
        populate: Sequence[str] = (),
    ) -> None:
        events: Iterable[Event] = self._events(name, records, context, populate)
        listening = self._transports.listening()

        # Otherwise they are made after the commit, if there are listeners by then.
        if listening or self._receivers(name):
            events = list(events)
            visible = [event.record for event in events]

            for transport in listening:
                transport.prepare(self._service, visible)

        receivers = partial(self._receivers, name)
        collect(self._transports.deliver, SentEvents(events, receivers))

    def _events(
        self,
        name: str,
        records: list[SentAndStored],
        context: HookContext | None,
        populate: Sequence[str],
    ) -> Iterator[Event]:
        text_fields = self._service.capabilities.text_fields
        place = f"The record of '{self._service.path} {name}'"

        for sent, stored in records:
            visible = self._service.event_parts.for_events(plain(sent, place))
            visible = as_text(visible, text_fields) if text_fields else visible
            stored = visible if stored is sent else plain(stored, place)
            yield Event(self._service, name, visible, stored, context, populate)

    def _receivers(self, name: str) -> list[Callable[..., t.Any]]:
        own, of_all = self._signals
        return [*own.ordered(name), *of_all.ordered(name)]


def _run(receiver: Callable[..., t.Any], event: Event) -> None:
    try:
        with Transaction():
            call(receiver, event.name, event.record, event.context)
    except Exception as error:
        # The call is committed: a receiver can't undo it any more.
        without_parameters(error)
        path = event.service.path
        logger.exception("A receiver of '%s %s' failed.", path, event.name)


def _listed(result: t.Any) -> list[t.Any]:
    return result if isinstance(result, list) else [result]
