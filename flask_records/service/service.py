"""The six methods of a service, each run between its hooks."""

from __future__ import annotations

import typing as t
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from ..context import HookContext
from ..context import NO_RESULT
from ..context import Params
from ..errors import BadRequest
from ..errors import is_answer
from ..errors import MethodNotAllowed
from ..errors import NotAuthenticated
from ..globals import call_stack
from ..names import names_of
from ..pagination import Page
from ..pagination import without
from ..query import names_in
from ..query import restrict
from ..signals import call
from ..signals import CallSignals
from ..signals import EVENTS
from ..signals import METHODS
from ..signals import READS
from ..transaction import Transaction
from .big_integers import as_text
from .caller import Caller
from .events import EventSender
from .events import Publishers
from .events import Transports
from .hidden_names import EventParts
from .hidden_names import Marks
from .hidden_names import without_hidden
from .plain_records import plain
from .target import Capabilities
from .target import refuse_class

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection

    from ..query.field_rules import Permissions
    from ..typing import Id
    from ..typing import Publisher
    from ..typing import Readable
    from ..typing import Record

SUPPRESSED: t.Final = """\
A context manager of 'around' has suppressed an error, so that the call has no result. \
Connect an error hook to handle errors.\
"""

REPLACES_MANY = "You can not replace multiple instances. Did you mean 'patch'?"

MANY: t.Final = frozenset({"patch", "remove"})
"""The methods that write all records of a query if they have no identifier."""

ARGUMENTS: dict[str, Callable[[HookContext], tuple[t.Any, ...]]] = {
    "find": lambda context: (),
    "get": lambda context: (context.id,),
    "create": lambda context: (context.data,),
    "update": lambda context: (context.id, context.data),
    "patch": lambda context: (context.id, context.data),
    "remove": lambda context: (context.id,),
}
"""The arguments of each method before the params. A custom method gets the data."""


class Service:
    """A named set of records, reached through six methods.

    It is what :meth:`.FlaskRecords.add` returns. Calls made here are internal: they
    run hooks and send events, and may do what a client may not. The methods with a
    leading underscore skip hooks and send no events: see section 4.3.12 of the
    specification.

    :param path: The path of the service, without slashes around it.
    :param target: The object with the methods, and with the optional parts that
        :class:`.Target` describes.
    :param signals: The signals of all services.
    :param transports: The transports of the events of all services.
    :param public: The methods that need no token: all, none, or those named.
    :param methods: The methods that can be called, custom ones of the object included.
        Those of the six that it has by default.
    :param events: The names of the custom events of the service. Those of the object by
        default.
    :param guards: Functions of the context of an external call that identify the
        caller, or refuse the call. A transport runs them before the call.
    :param readable: The rule for the records that a user may see: a function of the
        user, or of ``None``, that returns a query, or ``None`` for all. It applies to
        all calls of clients but create, and to events.
    :raises TypeError: The object has none of the six methods, or an option that takes
        several names is text.
    :raises ValueError: A custom method is not there.
    """

    def __init__(
        self,
        path: str,
        target: t.Any,
        signals: CallSignals,
        transports: Transports,
        *,
        public: bool | Collection[str] = False,
        methods: Collection[str] = METHODS,
        events: Collection[str] | None = None,
        guards: Collection[Callable[[HookContext], None]] = (),
        readable: Readable | None = None,
    ) -> None:
        self.path = path
        """The path of the service."""
        self.target = target
        """The object with the methods."""
        refuse_class(path, target)
        methods = names_of("methods", methods)
        self.custom_methods = tuple(name for name in methods if name not in METHODS)
        """The names of the methods beyond the six."""
        missing = [name for name in self.custom_methods if not _has(target, name)]
        _refuse("methods", path, missing)
        self.methods = (
            *(name for name in METHODS if name in methods and _has(target, name)),
            *self.custom_methods,
        )
        """The names of the methods that the service has."""
        own_events = getattr(target, "events", ()) if events is None else events
        self.custom_events = names_of("events", own_events)
        """The names of the custom events."""

        if not self.methods:
            names = ", ".join(METHODS)
            raise TypeError(f"The service '{path}' has none of the methods {names}.")

        all_methods = (*METHODS, *self.custom_methods)

        if isinstance(public, bool):
            public = all_methods if public else ()

        self.public = frozenset(names_of("public", public))
        """The names of the methods that need no token."""
        _refuse("public", path, sorted(self.public.difference(all_methods)))
        self._guards = tuple(guards)
        self.readable = readable
        """The query of the records that a user may see, as a function of the user."""
        self.hidden_in_rule: frozenset[str] = frozenset()
        """The hidden fields that the query has named in this process."""
        self._all = signals
        event_names = (*EVENTS.values(), *self.custom_events)
        own = CallSignals(all_methods, event_names)
        self.around = own.around
        """Enters context managers before the call, and leaves them after the commit."""
        self.before = own.before
        """Runs hooks before the method."""
        self.after = own.after
        """Runs hooks after the method."""
        self.error = own.error
        """Runs hooks when a call has failed."""
        self.events = own.events
        """Runs receivers after the commit, once for each record."""
        self.publishers = Publishers(event_names)
        """The functions that decide who gets an event."""
        self._sender = EventSender(self, signals.events, transports)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.path}'>"

    @cached_property
    def capabilities(self) -> Capabilities:
        """The optional parts of the object."""
        return Capabilities.of(self.target)

    @property
    def sends_events(self) -> bool:
        """``False`` to send an event to clients only if a function publishes it."""
        return self.capabilities.sends_events

    def find(self, params: Params | None = None) -> list[Record] | Page:
        """Return the records that match the query, or a page of them if the service
        has pages.

        :param params: The params of the call. No query by default.
        :raises BadRequest: The query names an unknown field or operator.
        """
        return t.cast("list[Record] | Page", self._internal("find", params))

    def get(self, id: Id, params: Params | None = None) -> Record:
        """Return one record.

        :param id: The value of its identifier field.
        :param params: The params of the call. The record has to match its query.
        :raises NotFound: There is no such record, or it does not match.
        """
        return t.cast("Record", self._internal("get", params, id))

    def create(
        self, data: Record | list[Record], params: Params | None = None
    ) -> t.Any:
        """Create a record from the data, or a list of records from a list, and return
        it.

        :param data: The fields of the new record, or a list of such.
        :param params: The params of the call.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data conflicts with an existing record.
        """
        return self._internal("create", params, None, data)

    def update(self, id: Id, data: Record, params: Params | None = None) -> Record:
        """Replace a record by the data, and return it.

        :param id: The value of its identifier field.
        :param data: All fields. Absent ones become null or their default.
        :param params: The params of the call. The record has to match its query.
        :raises NotFound: There is no such record, or it does not match.
        """
        return t.cast("Record", self._internal("update", params, id, data))

    def patch(self, id: Id, data: Record, params: Params | None = None) -> t.Any:
        """Merge the data into a record, or into all that match the query if the id is
        ``None``, and return the result.

        :param id: The value of its identifier field, or ``None`` for many.
        :param data: The fields that change.
        :param params: The params of the call.
        :raises NotFound: There is no such record, or it does not match.
        """
        return self._internal("patch", params, id, data)

    def remove(self, id: Id, params: Params | None = None) -> t.Any:
        """Remove a record, or all that match the query if the id is ``None``, and
        return what was removed.

        :param id: The value of its identifier field, or ``None`` for many.
        :param params: The params of the call.
        :raises NotFound: There is no such record, or it does not match.
        """
        return self._internal("remove", params, id)

    def custom(self, method: str, data: t.Any, params: Params | None = None) -> t.Any:
        """Return the result of a custom method.

        :param method: The name of the method.
        :param data: The data of the call.
        :param params: The params of the call.
        :raises MethodNotAllowed: The service has no such method.
        """
        return self._internal(method, params, None, data)

    def _find(self, params: Params | None = None) -> list[Record] | Page:
        """:meth:`find` without hooks and events."""
        return t.cast("list[Record] | Page", self._bare("find", params))

    def _get(self, id: Id, params: Params | None = None) -> Record:
        """:meth:`get` without hooks and events."""
        return t.cast("Record", self._bare("get", params, id))

    def _create(
        self, data: Record | list[Record], params: Params | None = None
    ) -> t.Any:
        """:meth:`create` without hooks and events."""
        return self._bare("create", params, None, data)

    def _update(self, id: Id, data: Record, params: Params | None = None) -> Record:
        """:meth:`update` without hooks and events."""
        return t.cast("Record", self._bare("update", params, id, data))

    def _patch(self, id: Id, data: Record, params: Params | None = None) -> t.Any:
        """:meth:`patch` without hooks and events."""
        return self._bare("patch", params, id, data)

    def _remove(self, id: Id, params: Params | None = None) -> t.Any:
        """:meth:`remove` without hooks and events."""
        return self._bare("remove", params, id)

    def as_caller(self, params: Params, *, paginate: bool = True) -> Caller:
        """Return the methods of this service as the caller of another call may use
        them: with the access, the limits, the rules and the view that it has there. For
        a call in Python, they are those of Python.

        :param params: The params of the other call.
        :param paginate: ``False`` for a list instead of a page.
        """
        return Caller(self, params, paginate)

    def emit(self, event: str, record: t.Any) -> None:
        """Send an event once the call in progress has been committed, or at once.

        :param event: The name of one of the events of the service.
        :param record: The record that receivers get.
        :raises ValueError: The service has no such event.
        """
        if event not in EVENTS.values() and event not in self.custom_events:
            raise ValueError(
                f"'{event}' is not an event of '{self.path}'. Name it in 'events'."
            )

        self._sender.send(event, record, call_stack.get())

    @property
    def has_events(self) -> bool:
        """``True`` if somebody may get events of its records."""
        return self.sends_events and self._sender.is_connected

    def announce(self, event: str, record: t.Any, stored: t.Any) -> None:
        """Send an event of a record that no call of the service has written.

        :param event: The name of the event.
        :param record: The record as a call shows it.
        :param stored: The record as it is stored.
        """
        self._sender.send(event, record, call_stack.get(), stored)

    def publish(self, *events: str) -> Callable[[Publisher], Publisher]:
        """Let the decorated function decide who gets an event: a function of the
        event's name, the record and the context that returns the names of channels, or
        a mapping from names to what their members get instead of the record. Members
        who may not see the record get nothing, and no one gets a field that they may
        not see. Members of several channels get the event once, with the data of the
        first.

        :param events: The events. All that have no function of their own by default.
        :raises ValueError: The service has no such event.
        """
        return self.publishers.connect(*events)

    def check_access(self, context: HookContext) -> None:
        """Refuse an external call that needs a valid token and has none. A transport
        calls this before it looks at the query and the data.

        :param context: The call, with its provider and the caller's credentials.
        :raises NotAuthenticated: The call needs a token, or has an invalid one.
        :raises RecordsError: A guard of the service refuses the call.
        """
        if context.params.provider is None:
            return

        for guard in self._guards:
            guard(context)

        if context.method not in self.public and not context.params.authenticated:
            raise NotAuthenticated("Not authenticated")

    def readable_by(self, user: t.Any) -> Record | None:
        """Return the query of the records that a user may see, or ``None`` for all.

        :param user: The user, or ``None``.
        """
        condition = self.readable(user) if self.readable else None
        self._note_hidden(condition or {})
        return condition or None

    def permissions_of(self, user: t.Any) -> Permissions:
        """Return what the rules for fields say for a user.

        :param user: The user, or ``None``.
        """
        permissions = self.capabilities.field_rules.of(user)

        for condition in permissions.shown_if.values():
            self._note_hidden(condition)

        return permissions

    @property
    def has_rules(self) -> bool:
        """``True`` if not every user sees every record, or every field."""
        rules = self.capabilities.field_rules
        return self.readable is not None or bool(rules.visible)

    @cached_property
    def event_parts(self) -> EventParts:
        """The parts of records that events have."""
        # A relationship shows what the caller may see, other users may not.
        parts = self.capabilities
        return EventParts(parts.hidden | parts.relationships, parts.field_rules)

    def result_of(self, context: HookContext) -> t.Any:
        """Return the result of a call that was made in Python: what the caller may see,
        if it is a client.
        """
        user = context.params.user

        if context.params.provider is None:
            return context.result

        marks = Marks(rules=self.capabilities.field_rules, user=user)
        return marks.mark(context.sent, context.sent) if marks else context.sent

    def _note_hidden(self, condition: Record) -> None:
        if condition and self.capabilities.hidden:
            self.hidden_in_rule |= self.capabilities.hidden & names_in(condition)

    def visible(self, result: t.Any) -> t.Any:
        """Return a result without the hidden fields.

        :param result: A record, a list of records, a page, or anything else.
        """
        return without(result, self.capabilities.hidden)

    def call(self, context: HookContext) -> HookContext:
        """Run a call: hooks, the method, hooks, the commit, events. Return its context,
        which has the result.

        A call with a provider commits what the application has in progress, too, since
        nobody would after the transport.

        :param context: The call.
        :raises RecordsError: The call has failed, and no error hook has handled that.
            An error of another class is raised as it is.
        """
        return self._call(context, is_final=context.params.provider is not None)

    def _call(self, context: HookContext, *, is_final: bool = False) -> HookContext:
        token = call_stack.set(context)

        try:
            if self._all.around.receivers or self.around.receivers:
                self._run_surrounded(context, is_final=is_final)
                # A context manager may have changed the result.
                self._hide(context, is_own=False)
                self._hide_others(context)
            else:
                self._run_or_fail(context, is_final=is_final)
        finally:
            call_stack.reset(token)

        return context

    def _run_surrounded(self, context: HookContext, *, is_final: bool) -> None:
        with ExitStack() as stack:
            self._all.around.enter(stack, context.method, context)
            self.around.enter(stack, context.method, context)
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
        self._begin(context.method)

        if context.params.provider is not None:
            self._limit(context)

        self._all.before.run(context.method, context)
        self.before.run(context.method, context)
        is_own = False

        if context.result is NO_RESULT:
            context.result = self._call_method(context)
            is_own = self._is_own(context.method)

            if not is_own:
                self._make_plain(context)

            if context.keeps_stored or self._sender.keeps_stored(context.method):
                context.stored = _copied(context.result)

        self.after.run(context.method, context)
        self._all.after.run(context.method, context)
        is_own = is_own and not self._has_after_hooks(context)
        self._hide(context, is_own=is_own)
        # The receivers of events may see less than the caller.
        self._sender.send_result(context)

        if not is_own:
            self._hide_others(context)

    def _begin(self, method: str) -> None:
        # Others would wait for a lock, or for a connection, as long as a hook is slow.
        if self._all.before.is_slow(method) or self.before.is_slow(method):
            self.capabilities.begin_later(method)
        else:
            self.capabilities.begin(method)

    def _limit(self, context: HookContext) -> None:
        """Limit a call of a client to what the client may name and see."""
        if context.data is not None:
            context.params.client_fields = _names_in(context.data)

        if context.id is None and context.method in MANY:
            context.params.client_conditions = names_in(context.params.query)

        if self.readable is None or context.method == "create":
            return

        condition = self.readable_by(context.params.user)

        if condition:
            restrict(context.params, condition)

    def _fail(self, context: HookContext, error: Exception, *, is_final: bool) -> None:
        if is_answer(error):
            raise error

        # The result has been rolled back.
        context.result = context.dispatch = NO_RESULT
        context.error = error

        if self.error.receivers or self._all.error.receivers:
            with Transaction(is_final=is_final):
                self.error.run(context.method, context)
                self._all.error.run(context.method, context)

        if context.error is not None:
            raise context.error

        if context.result is NO_RESULT:
            context.result = None

        self._hide(context, is_own=False)
        self._hide_others(context)

    def _check(self, context: HookContext) -> None:
        if context.method not in self.methods:
            raise MethodNotAllowed(
                f"Method `{context.method}` is not supported by this endpoint."
            )

        if context.method == "update" and (
            context.id is None or isinstance(context.data, list)
        ):
            raise BadRequest(REPLACES_MANY)

        # Before hooks would do work for each record of a call that is then refused.
        if context.method == "create" and isinstance(context.data, list):
            self.capabilities.check_multi("create", context.params, len(context.data))

    def _call_method(self, context: HookContext) -> t.Any:
        # Tests of an application may replace a method once the service is added.
        method = getattr(self.target, context.method)
        arguments = ARGUMENTS.get(context.method, ARGUMENTS["create"])
        return call(method, *arguments(context), context.params)

    def _internal(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        params = params or Params()

        if params.provider is not None:
            # The rules of this service are not those of the call that it is made in.
            params = replace(params)

        context = self._call(HookContext(self, method, params, id, data))
        return self.result_of(context)

    def _bare(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        context = HookContext(self, method, params or Params(), id, data)
        self._check(context)

        with Transaction(writes=method not in READS):
            self.capabilities.begin(method)
            context.result = self._call_method(context)

        is_own = self._is_own(method)
        self._hide(context, is_own=is_own)

        if not is_own:
            self._hide_others(context)

        return self.result_of(context)

    def _hide(self, context: HookContext, *, is_own: bool) -> None:
        """Hide the fields of this service that clients may not see from a client. A
        call in Python keeps them, under names that remember it.

        :param is_own: ``True`` if no hook or object has made the result.
        """
        hidden = self.capabilities.hidden

        if not is_own:
            self._make_plain(context)

        if context.params.provider is None:
            marks = Marks(hidden, self.capabilities.field_rules)

            if marks or context.dispatch is not NO_RESULT:
                context.result = marks.mark(context.result, context.sent)

            return

        if hidden:
            context.dispatch = self.visible(context.sent)

        if self.capabilities.text_fields:
            context.dispatch = as_text(context.sent, self.capabilities.text_fields)

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
        parts = self.capabilities

        if context.params.provider is None and not (parts.hidden or parts.field_rules):
            return

        place = f"The result of '{self.path}.{context.method}'"
        context.result = plain(context.result, place)

        if context.dispatch is not NO_RESULT:
            context.dispatch = plain(context.dispatch, place)

    def _is_own(self, method: str) -> bool:
        """Return ``True`` if a method gives records of this service and no others."""
        # Tests of an application may replace a method once the service is added.
        function = getattr(getattr(self.target, method), "__func__", None)
        return function in self.capabilities.own_methods

    def _has_after_hooks(self, context: HookContext) -> bool:
        """Return ``True`` if a hook may have changed the result."""
        signals = (self.after, self._all.after)
        return any([each.ordered(context.method) for each in signals])


def _names_in(data: t.Any) -> frozenset[str]:
    bodies = data if isinstance(data, list) else [data]
    return frozenset().union(*[body for body in bodies if isinstance(body, dict)])


def _copied(result: t.Any) -> t.Any:
    if isinstance(result, list):
        return [_copied(record) for record in result]

    return dict(result) if isinstance(result, dict) else result


def _has(target: t.Any, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(target, name, None))


def _refuse(option: str, path: str, names: Collection[str]) -> None:
    """Refuse names of an option that are not methods."""
    for name in names:
        raise ValueError(
            f"'{option}' of '{path}' names '{name}', which is not a method. The methods"
            f" are: {', '.join(METHODS)}, and those of the object that 'methods' names."
        )
