"""The pipeline of a call: hooks, the method, hooks, the commit, events."""

from __future__ import annotations

import typing as t
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import takewhile

from ..database.transaction import Transaction
from ..errors import BadRequest, is_answer, MethodNotAllowed
from ..names import CUSTOM, EVENTS, METHODS, METHODS_BY_NAME, READS
from ..signals import call, receivers_of
from .context import CallState, names_of_bodies, NO_RESULT
from .globals import call_stack
from .results import comes_in_pieces, cut_for_caller, draw, private, records_of, select
from .validation import check_depth, check_types

if t.TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ..signals import CallSignals
    from ..typing import Record
    from .context import HookContext
    from .events import EventSender
    from .service import Service
    from .validation import MethodSchemas

ANSWERED: t.Final = """\
The hook '{hook}' answers for '{method}' of '{path}', whose rules limit the caller. \
Call context.load() in it: the record as the caller may reach it, or a 404.\
"""

IN_PIECES: t.Final = "The result comes in pieces. Call the method over HTTP."

REPLACES_MANY = "You can not replace multiple instances. Did you mean 'patch'?"


class Pipeline:
    """Runs the calls of a service."""

    def __init__(
        self, service: Service, signals: CallSignals, sender: EventSender
    ) -> None:
        self._service = service
        self._all = signals
        self._sender = sender

    def run(
        self,
        context: HookContext,
        *,
        is_final: bool = False,
        encode: Callable[[HookContext], t.Any] | None = None,
    ) -> HookContext:
        """Run a call, and return its context, which has the result.

        :param is_final: ``True`` to commit what the application has in progress, too.
        :param encode: Returns the answer to a client, before the commit of a write.
        """
        self._begin_state(context)
        context.outer = call_stack.get()
        token = call_stack.set(context)

        try:
            try:
                with Transaction(writes=context.method not in READS, is_final=is_final):
                    self._run(context)
                    is_cut = encode is not None and self._encode(context, encode)
            except Exception as error:
                self._fail(context, error, is_final=is_final)
                is_cut = False

            if not is_cut:
                self._cut(context)
        finally:
            call_stack.reset(token)

        return context

    def run_bare(self, context: HookContext) -> None:
        """Run the method of a call without hooks and events."""
        self._check(context)
        state, writes = context.params._state, context.method not in READS
        is_own = self._service.capabilities.is_own(context.method)
        # A schema and rules of the call that this one is made in are not about it.
        context.params._state = CallState(
            self._service, is_whole=not is_own, client_fields=state.client_fields
        )

        with Transaction(writes=writes):
            self._service.capabilities.begin(writes=writes)
            context.result = self._call_method(context, is_own=is_own)

        self._cut(context)

    def load(self, context: HookContext) -> t.Any:
        """Return the record of a call as its caller may reach it, or its records."""
        service, method, id = self._service, context.method, context.id
        capabilities = service.capabilities

        if method not in METHODS or method == "create":
            raise RuntimeError(f"A '{method}' has no record to load.")

        is_written, params = method not in READS, context.params
        is_many = is_written and id is None
        state = replace(params._state, is_whole=True)
        own = replace(params, lock=is_written, _state=state)

        if is_many:
            capabilities.check_multi(method, own)
            own.paginate = False

        target: t.Any = service.target
        result = target.find(own) if id is None else target.get(id, own)
        result = self._as_records(context, result)

        if is_many:
            capabilities.check_multi(method, own, len(result))

        params._state.is_limited = False
        return private(service, result)

    def _run(self, context: HookContext) -> None:
        method, service = context.method, self._service
        self._check(context)
        schemas = service.schemas.get(method)
        before = receivers_of(method, self._all.before, service.before)
        after = receivers_of(method, service.after, self._all.after)
        is_own = service.capabilities.is_own(method)
        has_code = bool(before or after) or not is_own

        if schemas is not None:
            schemas.check_query(context)
            schemas.check_data(context)

        # A schema says itself which values hooks and methods meet.
        if context.data is not None and (schemas is None or schemas.data is None):
            if not is_own:
                check_depth(context)

            if before:
                check_types(context)

        conditions = self._run_before(context, before, has_code=has_code)

        # A method of the application may write anything.
        if conditions and is_own and method != "create":
            conditions = service.rules.pick_dependent(context, conditions)

        is_missing = context.result is NO_RESULT
        has_receivers = method in EVENTS and service.has_events
        # Nobody but the caller gets the records of the adapter otherwise.
        context.params._state.is_whole = (
            not (is_missing and is_own) or has_receivers or bool(after)
        )

        if is_missing:
            context.result = self._call_method(context, schemas, is_own=is_own)

        if conditions:
            service.rules.check_written(context, conditions)

        for hook in after:
            call(hook, method, context)

        self._sender.send_result(context)

    def _encode(
        self, context: HookContext, encode: Callable[[HookContext], t.Any]
    ) -> bool:
        """Cut the result of a write, and encode its answer, unless that has to wait for
        the commit. Return whether it is done.
        """
        if comes_in_pieces(context.sent):
            if context.params.provider != "rest":
                raise BadRequest(IN_PIECES)

            return False

        if context.method in READS:
            return False

        self._cut(context)
        context.params._state.answer = encode(context)
        return True

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

    def _begin_state(self, context: HookContext) -> None:
        """Note what a client has sent, before hooks change it."""
        params = context.params
        state = CallState(self._service, checked_value=params._state.checked_value)
        params._state = state

        if self._service.capabilities.model is not None:
            state.rules = []

        if params.provider is not None and context.data is not None:
            state.client_fields = names_of_bodies(context.data)

    def _run_before(
        self,
        context: HookContext,
        hooks: Sequence[Callable[..., t.Any]],
        *,
        has_code: bool,
    ) -> Sequence[Record]:
        """Begin, and run the before hooks. Return the queries for written records."""
        method, rules = context.method, self._service.rules
        # Nothing else decides before a write by what it has read.
        writes = has_code and method not in READS
        # Slow hooks run first: nothing should hold a lock or a connection meanwhile.
        slow = list(takewhile(lambda hook: getattr(hook, "is_slow", False), hooks))
        is_limited = context.params.provider is not None and bool(
            rules.readable or rules.allow
        )

        if has_code and not slow:
            self._service.capabilities.begin(writes=writes)

        conditions = rules.limit(context) if is_limited else ()
        # A hook may set other params.
        state = context.params._state

        for hook in slow:
            _run_before_hook(hook, context, state)

        if slow:
            self._service.capabilities.begin(writes=writes)

        for hook in hooks[len(slow) :]:
            _run_before_hook(hook, context, state)

        return conditions

    def _call_method(
        self,
        context: HookContext,
        schemas: MethodSchemas | None = None,
        *,
        is_own: bool,
    ) -> t.Any:
        """Return the result of the method as hooks get it."""
        service, method = self._service, context.method
        # Tests of an application may replace a method once the service is added.
        function = getattr(service.target, method)
        arguments = METHODS_BY_NAME.get(method, CUSTOM).arguments
        values = [getattr(context, name) for name in arguments]
        result = call(function, *values, context.params)

        if comes_in_pieces(result):
            return result

        result = schemas.check_result(context, result) if schemas else result
        is_private = context.params.provider is None

        if not is_own:
            result = self._as_records(context, result)
            is_private = is_private or method in METHODS

        return private(service, result) if is_private else result

    def _fail(self, context: HookContext, error: Exception, *, is_final: bool) -> None:
        if is_answer(error):
            raise error

        # The result has been rolled back. A hook may make another one.
        context.params._state.is_whole, context.params._state.answer = True, None
        context.result = context.dispatch = NO_RESULT
        context.error = error

        if self._service.error.receivers or self._all.error.receivers:
            with Transaction(is_final=is_final):
                self._service.error.run(context.method, context)
                self._all.error.run(context.method, context)

        if context.error is not None:
            raise context.error

        if context.result is NO_RESULT:
            context.result = None

    def _cut(self, context: HookContext) -> None:
        """Cut the result of a call for its caller."""
        service, is_whole = self._service, context.params._state.is_whole

        if is_whole and comes_in_pieces(context.sent):
            self._cut_pieces(context)
            return

        if is_whole:
            context.result = self._as_records(context, context.result)

            if context.dispatch is not NO_RESULT:
                context.dispatch = self._as_records(context, context.dispatch)

        if context.params.provider is None:
            if is_whole:
                result = private(service, context.result)
                context.result = select(service, context, result)
        else:
            dispatch = cut_for_caller(service, context)

            if dispatch is not context.sent:
                context.dispatch = dispatch

    def _cut_pieces(self, context: HookContext) -> None:
        """Cut each piece of a result as if it were the result, once it is drawn."""
        if context.params.provider is not None:
            context.dispatch = self._pieces_of(context, context.sent)
        elif self._service.has_private_fields:
            context.result = self._pieces_of(context, context.result)

    def _pieces_of(
        self, context: HookContext, result: t.Any
    ) -> Generator[t.Any, None, None]:
        schemas, part = self._service.schemas.get(context.method), copy(context)

        with closing(draw(result)) as pieces:
            for piece in pieces:
                part.result, part.dispatch = piece, NO_RESULT

                if schemas is not None:
                    part.result = schemas.check_result(context, piece)

                self._cut(part)
                yield part.sent

    def _as_records(self, context: HookContext, result: t.Any) -> t.Any:
        """Return a result of the application with dicts in the place of other records,
        unless the call is in Python and no fields are hidden.
        """
        if context.params.provider is None and not self._service.has_private_fields:
            return result

        return records_of(result, f"The result of '{context.path}.{context.method}'")


def _run_before_hook(
    hook: Callable[..., t.Any], context: HookContext, state: CallState
) -> None:
    """Run a before hook, which answers for the method only if rules have been asked."""
    method = context.method
    call(hook, method, context)

    if context.result is not NO_RESULT and state.is_limited:
        name = getattr(hook, "__qualname__", repr(hook))
        place = {"method": method, "path": context.path}
        raise RuntimeError(ANSWERED.format(hook=name, **place))
