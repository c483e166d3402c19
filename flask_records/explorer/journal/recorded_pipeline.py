"""Pipelines of calls whose hooks are measured."""

from __future__ import annotations

import typing as t
from functools import partial

from ...service.events import EventSender
from ...service.pipeline import Pipeline
from ...signals import call
from ...signals import READS
from .origins import name_of
from .recording import begin_end
from .recording import recorded_access
from .recording import recorded_call
from .recording import recorded_end
from .recording import recorded_step

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from contextlib import ExitStack

    from ...context import HookContext
    from ...service.events import Event
    from ...service.recorder import CheckAccess
    from ...service.validation import MethodValidation
    from ...signals import CallSignals
    from ...signals import OrderedSignal

PHASES: t.Final = ("around", "before", "after", "error")
"""The signals of hooks."""


class RecordedSignal:
    """A signal whose receivers are measured. In all else it is another signal.

    :param phase: The name of the signal.
    :param signal: The signal.
    """

    def __init__(self, phase: str, signal: OrderedSignal) -> None:
        self._phase = phase
        self._signal = signal

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self._signal, name)

    def run(self, sender: str, *args: t.Any) -> None:
        """Call the receivers of a name: see :meth:`.OrderedSignal.run`."""
        for receiver in self._signal.ordered(sender):
            with recorded_step(self._phase, name_of(receiver)):
                call(receiver, sender, *args)

    def enter(self, stack: ExitStack, sender: str, *args: t.Any) -> None:
        """Enter context managers of receivers: see :meth:`.AroundSignal.enter`."""
        for receiver in self._signal.ordered(sender):
            manager = partial(receiver, sender, *args)
            step = partial(recorded_step, name=name_of(receiver))
            stack.enter_context(RecordedManager(manager, step))


class RecordedManager:
    """A context manager that is measured as it is entered and left.

    :param make: Returns it.
    :param step: Records a step of a phase.
    """

    def __init__(
        self,
        make: Callable[[], AbstractContextManager[t.Any]],
        step: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self._make = make
        self._step = step

    def __enter__(self) -> t.Any:
        with self._step("around"):
            self._manager = self._make()
            return self._manager.__enter__()

    def __exit__(self, *error: t.Any) -> bool | None:
        with self._step("around end"):
            return self._manager.__exit__(*error)


class RecordedSignals:
    """Signals whose receivers are measured."""

    def __init__(self, signals: CallSignals) -> None:
        self.around, self.before, self.after, self.error = [
            RecordedSignal(phase, getattr(signals, phase)) for phase in PHASES
        ]


class RecordedSender(EventSender):
    """Sends events, and measures their receivers.

    :param sender: The sender of a service.
    """

    def __init__(self, sender: EventSender) -> None:
        super().__init__(sender._service, sender._signals[1], sender._transports)

    def _run(self, receiver: Callable[..., t.Any], event: Event) -> None:
        with recorded_step("event", name_of(receiver)):
            super()._run(receiver, event)


class RecordedPipeline(Pipeline):
    """Runs the calls of a service, and records them.

    :param pipeline: The pipeline of the service.
    :param sender: Sends the events of the service.
    """

    def __init__(self, pipeline: Pipeline, sender: EventSender) -> None:
        signals = [RecordedSignals(each) for each in (pipeline._own, pipeline._all)]
        own, of_all = t.cast("list[CallSignals]", signals)
        super().__init__(pipeline._service, own, of_all, sender)

    def run(self, context: HookContext, *, is_final: bool = False) -> HookContext:
        """Run a call: see :meth:`.Pipeline.run`."""
        with recorded_call(context):
            return super().run(context, is_final=is_final)

    def run_bare(self, context: HookContext) -> None:
        """Run the method of a call: see :meth:`.Pipeline.run_bare`."""
        with recorded_call(context, is_bare=True):
            super().run_bare(context)

    def _run_or_fail(self, context: HookContext, *, is_final: bool) -> None:
        with recorded_end():
            super()._run_or_fail(context, is_final=is_final)

    def _run(self, context: HookContext) -> None:
        super()._run(context)

        if context.method not in READS:
            begin_end("commit", context.path)

    def _validate(self, context: HookContext, validation: MethodValidation) -> None:
        with recorded_step("validation", context.path):
            super()._validate(context, validation)

    def _limit(self, context: HookContext) -> None:
        rule = self._service.readable

        if rule is None:
            super()._limit(context)
            return

        with recorded_step("readable", name_of(rule)):
            super()._limit(context)

    def _call_method(
        self, context: HookContext, validation: MethodValidation | None = None
    ) -> t.Any:
        method = getattr(self._service.target, context.method)

        with recorded_step("method", name_of(method)):
            return super()._call_method(context, validation)


class RecordedAccess:
    """Checks the access of a call, and records that.

    :param check_access: Checks it.
    """

    def __init__(self, check_access: CheckAccess) -> None:
        self._check_access = check_access

    def __call__(self, context: HookContext, *, is_counted: bool = True) -> None:
        if context.params.provider is None:
            return

        with recorded_access(context):
            self._check_access(context, is_counted=is_counted)


RUNNING: t.Final = frozenset(
    each.__code__
    for each in (
        RecordedPipeline.run,
        RecordedPipeline.run_bare,
        RecordedAccess.__call__,
    )
)
"""The code of the functions that run calls."""
