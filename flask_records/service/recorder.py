"""Objects that measure the calls of services."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ..context import HookContext
    from .events import EventSender
    from .pipeline import Pipeline


class CheckAccess(t.Protocol):
    """Checks the access of a call: :meth:`.Service.check_access`."""

    def __call__(self, context: HookContext, *, is_counted: bool = True) -> None: ...


class Recorder(t.Protocol):
    """Returns objects that measure calls, and have the effect of others."""

    def sender(self, sender: EventSender) -> EventSender:
        """Return an object in place of the one that sends the events of a service."""

    def pipeline(self, pipeline: Pipeline, sender: EventSender) -> Pipeline:
        """Return an object in place of the one that runs the calls of a service.

        :param sender: Sends its events.
        """

    def access(self, check_access: CheckAccess) -> CheckAccess:
        """Return a function in place of the one that checks access."""
