"""The events of a service, on their way to receivers and transports."""

from __future__ import annotations

import logging
import os
import typing as t
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import Context
from functools import cache, partial
from itertools import product

from flask import current_app, has_app_context

from ..database.transaction import Transaction
from ..errors import without_parameters
from ..names import EVENTS
from ..signals import call
from .results import comes_in_pieces, event_records, records_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from ..signals import EventSignal
    from .context import HookContext
    from .service import Service

    Delivery: t.TypeAlias = tuple[Callable[..., t.Any], "Event"]

logger = logging.getLogger(__package__)

MAX_THREADS: t.Final = 4
"""The number of threads of a process that run receivers in the background."""


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
        """Return what keeps the place of a transaction's events, from before its commit
        until they are delivered.

        :param events: The events of one call.
        :raises TypeError: The record of one can't be encoded.
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

    def deliver(self, sent: Sequence[tuple[EventSender, Sequence[Event]]]) -> None:
        """Hand the events of one transaction, in their order, to the transports, then
        to the receivers.
        """
        events = [event for _, each in sent for event in each]

        for transport in self.listening():
            try:
                transport.deliver(events)
            except Exception:
                # The calls are committed.
                logger.exception("%d events could not be sent.", len(events))

        for sender, each in sent:
            sender.run_receivers(each)


class EventSender:
    """Sends the events of one service. They are made only if there are listeners."""

    def __init__(
        self, service: Service, events_of_all: EventSignal, transports: Transports
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
        """Run the receivers of events in Python, in order."""
        pending: list[Delivery] = []

        for event, signal in product(events, self._signals):
            for receiver in signal.ordered(event.name):
                if receiver in signal.in_background:
                    run_in_background(partial(_run, iter([(receiver, event)])))
                else:
                    pending.append((receiver, event))

        _run(iter(pending))

    def send_result(self, context: HookContext) -> None:
        """Send the event of a call, once for each record, if its method has one."""
        name = EVENTS.get(context.method)

        sent = context.sent

        if (
            name is not None
            and self._service.sends_events
            and not comes_in_pieces(sent)
        ):
            self.send(name, sent if isinstance(sent, list) else [sent], context)

    def send(
        self, name: str, records: Sequence[t.Any], context: HookContext | None
    ) -> None:
        """Send the events of records once the call in progress has been committed, or
        at once.
        """
        if not self.is_connected:
            return

        service = self._service
        place = f"The record of '{service.path} {name}'"
        shown = event_records(service, records_of(records, place))

        events = [Event(service, name, record, context) for record in shown]

        if transaction := Transaction.current_or_none():
            for transport in self._transports.listening():
                transaction.hold(f"events {id(transport)}", transport.reserve(events))

        Transaction.collect(self._transports.deliver, (self, events))


def _run(pending: Iterator[Delivery]) -> None:
    """Run receivers, each in a transaction of its own: the next one takes over a
    transaction that nobody has used.
    """
    for receiver, event in pending:
        try:
            with Transaction() as transaction:
                call(receiver, event.name, event.record, event.context)

                while not transaction.is_used and (following := next(pending, None)):
                    receiver, event = following
                    call(receiver, event.name, event.record, event.context)
        except Exception as error:
            # The call is committed: a receiver can't undo it any more.
            without_parameters(error)
            path = event.service.path
            logger.exception("A receiver of '%s %s' failed.", path, event.name)


def run_in_background(function: Callable[[], None]) -> None:
    """Run a function in one of a few threads, with a context of the application and
    outside of any transaction. A process that ends waits for it.

    :param function: It must not raise.
    """
    # The proxy belongs to this thread.
    proxy: t.Any = current_app
    app = proxy._get_current_object() if has_app_context() else None

    def run() -> None:
        with nullcontext() if app is None else app.app_context():
            function()

    # Nothing of the call that has ended is in progress there.
    context = Context()

    try:
        _threads().submit(context.run, run)
    except RuntimeError:
        # The process is about to end.
        context.run(run)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="records-events")


# A forked process has no threads of its parent.
os.register_at_fork(after_in_child=_threads.cache_clear)
