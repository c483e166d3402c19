"""The pipeline of a call: hooks, the method, hooks, the commit, events."""

from __future__ import annotations

import typing as t
from contextlib import ExitStack
from functools import partial
from itertools import takewhile

from ..context import NO_RESULT
from ..errors import BadRequest, is_answer, MethodNotAllowed
from ..globals import call_stack
from ..query import names_in, restrict
from ..signals import call, method_named, READS
from ..transaction import Transaction
from .big_integers import as_text
from .events import AskedRelationships
from .hidden_names import Marks, without_hidden
from .named_hooks import validate
from .plain_records import plain

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..context import HookContext, Params
    from ..signals import CallSignals
    from .events import EventSender
    from .service import Service
    from .validation import MethodValidation

SUPPRESSED: t.Final = """\
A context manager of 'around' has suppressed an error, so that the call has no result. \
Connect an error hook to handle errors.\
"""

REPLACES_MANY = "You can not replace multiple instances. Did you mean 'patch'?"

MANY: t.Final = frozenset({"patch", "remove"})
"""The methods that write all records of a query if they have no identifier."""


class Pipeline:
    """Runs the calls of a service.

    :param service: The service.
    :param own: The signals of the service.
    :param of_all: The signals of all services.
    :param sender: Sends the events of the service.
    """

    def __init__(
        self,
        service: Service,
        own: CallSignals,
        of_all: CallSignals,
        sender: EventSender,
    ) -> None:
        self._service = service
        self._own = own
        self._all = of_all
        self._sender = sender

    def is_plain(self, method: str) -> bool:
        """Return ``True`` if neither a hook nor a method of the application decides
        what a method gives.
        """
        signals = [
            signal
            for each in (self._own, self._all)
            for signal in (each.around, each.before, each.after, each.error)
        ]
        has_hooks = any([each.ordered(method) for each in signals])
        return not has_hooks and self.is_own(method)

    def run(self, context: HookContext, *, is_final: bool = False) -> HookContext:
        """Run a call, and return its context, which has the result.

        :param is_final: ``True`` to commit what the application has in progress, too.
        :raises RecordsError: The call has failed, and no error hook has handled that.
            An error of another class is raised as it is.
        """
        token = call_stack.set(context)

        try:
            if self._all.around.receivers or self._own.around.receivers:
                self._run_surrounded(context, is_final=is_final)
                # A context manager may have changed the result.
                self._hide(context, is_own=False)
                self._hide_others(context)
            else:
                self._run_or_fail(context, is_final=is_final)
        finally:
            call_stack.reset(token)

        return context

    def run_bare(self, context: HookContext) -> None:
        """Run the method of a call without hooks and events."""
        self._check(context)

        with Transaction(writes=context.method not in READS):
            self._service.capabilities.begin(context.method)
            context.result = self._call_method(context)

        is_own = self._has_own_values(context.method)
        self._hide(context, is_own=is_own)

        if not is_own:
            self._hide_others(context)

    def _run_surrounded(self, context: HookContext, *, is_final: bool) -> None:
        with ExitStack() as stack:
            self._all.around.enter(stack, context.method, context)
            self._own.around.enter(stack, context.method, context)
            self._run_or_fail(context, is_final=is_final)
            return

        raise RuntimeError(SUPPRESSED) from context.error

    def _run_or_fail(self, context: HookContext, *, is_final: bool) -> None:
        try:
            with Transaction(writes=context.method not in READS, is_final=is_final):
                self._run(context)
        except Exception as error:
            self._fail(context, error, is_final=is_final)

    def _run(self, context: HookContext) -> None:
        self._check(context)

        if context.params.provider is not None and context.data is not None:
            context.params.client_fields = _names_in(context.data)

        # A schema of the call that this one is made in is not about its data.
        context.params.schema_fields = None
        validation = self._service.validations.get(context.method)

        if validation is not None:
            self._validate(context, validation)

        relationships = self._run_before(context)
        is_own = False

        if context.result is NO_RESULT:
            context.result = self._call_method(context, validation)
            is_own = self._has_own_values(context.method)

            if not is_own:
                self._make_plain(context)

            if context.keeps_stored or self._sender.keeps_stored(context.method):
                context.stored = _copied(context.result)

        for signal in (self._own.after, self._all.after):
            signal.run(context.method, context)
            # A hook may have changed the result.
            is_own = is_own and not signal.ordered(context.method)

        self._hide(context, is_own=is_own)
        # The receivers of events may see less than the caller.
        populate = relationships.added_by_hooks(context.params.query)
        self._sender.send_result(context, populate)

        if not is_own:
            self._hide_others(context)

    def _validate(self, context: HookContext, validation: MethodValidation) -> None:
        method = context.method
        validation.check_query(context)
        own, of_all = self._own.before.ordered(method), self._all.before.ordered(method)

        if validate not in own and validate not in of_all:
            validation.check_data(context)

    def _run_before(self, context: HookContext) -> AskedRelationships:
        """Begin, run the before hooks, and return the relationships that were asked for
        before them.
        """
        method, begin = context.method, self._service.capabilities.begin
        hooks = [*self._all.before.ordered(method), *self._own.before.ordered(method)]
        # Others would wait for a lock, or for a connection, as long as these run.
        slow = list(takewhile(_is_slow, hooks))

        if not slow:
            begin(method)

        if context.params.provider is not None:
            self._limit(context)

        relationships = AskedRelationships(context.params.query)

        for hook in slow:
            call(hook, method, context)

        if slow:
            begin(method)

        for hook in hooks[len(slow) :]:
            call(hook, method, context)

        return relationships

    def _limit(self, context: HookContext) -> None:
        """Limit a call of a client to what the client may name and see."""
        if context.id is None and context.method in MANY:
            context.params.client_conditions = names_in(context.params.query)

        if self._service.readable is None or context.method == "create":
            return

        condition = self._service.readable_by(context.params.user)

        if condition:
            restrict(context.params, condition)

    def _fail(self, context: HookContext, error: Exception, *, is_final: bool) -> None:
        if is_answer(error):
            raise error

        # The result has been rolled back.
        context.result = context.dispatch = NO_RESULT
        context.error = error

        if self._own.error.receivers or self._all.error.receivers:
            with Transaction(is_final=is_final):
                self._own.error.run(context.method, context)
                self._all.error.run(context.method, context)

        if context.error is not None:
            raise context.error

        if context.result is NO_RESULT:
            context.result = None

        self._hide(context, is_own=False)
        self._hide_others(context)

    def _check(self, context: HookContext) -> None:
        if context.method not in self._service.methods:
            raise MethodNotAllowed(
                f"Method `{context.method}` is not supported by this endpoint."
            )

        if context.method == "update" and (
            context.id is None or isinstance(context.data, list)
        ):
            raise BadRequest(REPLACES_MANY)

        # Before hooks would do work for each record of a call that is then refused.
        if context.method == "create" and isinstance(context.data, list):
            self._service.capabilities.check_multi(
                "create", context.params, len(context.data)
            )

    def _call_method(
        self, context: HookContext, validation: MethodValidation | None = None
    ) -> t.Any:
        computed = self._service.computed

        if computed:
            # The schema of a result is that of the object, which does not compute them.
            return computed.run(context, partial(self._call_target, validation))

        return self._call_target(validation, context, context.params)

    def _call_target(
        self, validation: MethodValidation | None, context: HookContext, params: Params
    ) -> t.Any:
        # Tests of an application may replace a method once the service is added.
        method = getattr(self._service.target, context.method)
        names = method_named(context.method).arguments
        result = call(method, *[getattr(context, name) for name in names], params)

        if validation is None:
            return result

        return validation.checked_result(context, result)

    def _hide(self, context: HookContext, *, is_own: bool) -> None:
        """Hide the fields of this service that clients may not see from a client. A
        call in Python keeps them, under names that remember it.

        :param is_own: ``True`` if no hook or object has made the result.
        """
        parts = self._service.capabilities

        if not is_own:
            self._make_plain(context)

        if context.params.provider is None:
            marks = Marks(parts.hidden, parts.field_rules)

            if marks or context.dispatch is not NO_RESULT:
                context.result = marks.mark(context.result, context.sent)

            return

        if parts.hidden:
            context.dispatch = self._service.visible(context.sent)

        if parts.text_fields:
            context.dispatch = as_text(context.sent, parts.text_fields)

    def _hide_others(self, context: HookContext) -> None:
        """Hide the fields of other services in a result that the client may not see."""
        if context.params.provider is None:
            return

        shown = without_hidden(context.sent, context.params.user)

        if shown is not context.sent:
            context.dispatch = shown

    def _make_plain(self, context: HookContext) -> None:
        """Turn the records of a result into dicts, so that fields can be hidden. A call
        in Python that hides none gets the objects themselves.
        """
        parts = self._service.capabilities

        if context.params.provider is None and not (parts.hidden or parts.field_rules):
            return

        place = f"The result of '{self._service.path}.{context.method}'"
        context.result = plain(context.result, place)

        if context.dispatch is not NO_RESULT:
            context.dispatch = plain(context.dispatch, place)

    def is_own(self, method: str) -> bool:
        """Return ``True`` if a method gives records of this service and no others."""
        # Tests of an application may replace a method once the service is added.
        function = getattr(getattr(self._service.target, method), "__func__", None)
        return function in self._service.capabilities.own_methods

    def _has_own_values(self, method: str) -> bool:
        """Return ``True`` if a method gives records of this service with values that no
        function of the application has computed.
        """
        return not self._service.capabilities.computed_fields and self.is_own(method)


def _is_slow(hook: Callable[..., t.Any]) -> bool:
    """Return ``True`` for a hook that says that it does not use a database."""
    return getattr(hook, "is_slow", False)


def _names_in(data: t.Any) -> frozenset[str]:
    bodies = data if isinstance(data, list) else [data]
    return frozenset().union(*[body for body in bodies if isinstance(body, dict)])


def _copied(result: t.Any) -> t.Any:
    if isinstance(result, list):
        return [_copied(record) for record in result]

    return dict(result) if isinstance(result, dict) else result
