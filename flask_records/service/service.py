"""A named set of records, reached through six methods."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from functools import cached_property

from ..context import HookContext, Params
from ..errors import NotAuthenticated
from ..globals import call_stack
from ..names import names_of
from ..pagination import Page, without
from ..query import condition_of, names_in, rule_of, UserRule
from ..query.computed_fields import computed_fields
from ..signals import CallSignals, EVENTS, METHODS
from ..validation import schemas_of
from .caller import Caller
from .computed import ComputedAnswers
from .events import EventSender, Publishers, Transports
from .hidden_names import EventParts, Marks
from .methods import methods_of, public_methods
from .pipeline import Pipeline
from .schemas import with_classes
from .target import Capabilities, refuse_class
from .validation import MethodValidation

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..query.field_rules import Permissions
    from ..typing import Computation, Id, Publisher, Readable, ReadableFunction, Record
    from ..validation import MethodSchemas


OWN_COMPUTED: t.Final = """\
The fields of '{path}' are computed by its object. Give it 'computed': \
{name}(..., computed={{...}}).\
"""


class Service:
    """A named set of records, reached through six methods.

    It is what :meth:`.FlaskRecords.add` returns. Calls made here are internal: they
    run hooks and send events, and may do what a client may not. With the params of a
    client's call, they are calls of that client, whose access is checked. The methods
    with a leading underscore skip hooks and send no events: see section 4.3.12 of the
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
    :param count: Counts an external call, or refuses one call too many.
    :param readable: The rule for the records that a user may see: a function of the
        user, or of ``None``, that returns ``True`` for all, ``False`` for none or a
        query, or a query with :class:`.FromUser`. It applies to all calls of clients
        but create, and to events.
    :param schemas: The classes that calls are checked by, as
        :meth:`.FlaskRecords.add` takes them. Those of the object by default.
    :param computed: Functions of a list of records that return the values of a field
        for them, by the name of the field.
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
        count: Callable[[HookContext], None] | None = None,
        readable: Readable | None = None,
        schemas: Mapping[str, t.Any] | None = None,
        computed: Mapping[str, Computation] | None = None,
    ) -> None:
        self.path = path
        """The path of the service."""
        self.target = target
        """The object with the methods."""
        refuse_class(path, target)
        self.methods = methods_of(path, target, names_of("methods", methods))
        """The names of the methods that the service has, custom ones last."""
        self.custom_methods = tuple(n for n in self.methods if n not in METHODS)
        """The names of the methods beyond the six."""
        own_events = getattr(target, "events", ()) if events is None else events
        self.custom_events = names_of("events", own_events)
        """The names of the custom events."""
        self.schemas = self._schemas_of(schemas)
        """The schemas by method."""
        self.validations = {
            method: MethodValidation(method, schemas)
            for method, schemas in self.schemas.items()
        }
        """Checks of calls by the schemas, by method."""
        all_methods = (*METHODS, *self.custom_methods)
        self.public = public_methods(path, public, all_methods)
        """The names of the methods that need no token."""
        if computed and hasattr(target, "computed_fields"):
            raise TypeError(OWN_COMPUTED.format(path=path, name=type(target).__name__))

        self.computed = ComputedAnswers(computed_fields(computed or {}))
        """Computes fields of the records that the object gives."""
        self._guards = tuple(guards)
        self._count = count
        self.readable: ReadableFunction | None = (
            None if readable is None else rule_of(readable, f"'readable' of '{path}'")
        )
        """The query of the records that a user may see, as a function of the user."""
        self._hidden_in_answers: frozenset[str] = frozenset()
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
        self._pipeline = Pipeline(self, own, signals, self._sender)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.path}'>"

    def _schemas_of(
        self, given: Mapping[str, t.Any] | None
    ) -> Mapping[str, MethodSchemas]:
        own = getattr(self.target, "schemas", None)

        # A method of this name is a method of the service.
        if given is None and not callable(own):
            given = own

        if given is None:
            return {}

        is_model = hasattr(self.target, "beside_schema")
        return schemas_of(self.path, given, self.methods, is_model=is_model)

    @cached_property
    def capabilities(self) -> Capabilities:
        """The optional parts of the object."""
        parts = Capabilities.of(self.target)

        if self.schemas:
            is_model = parts.beside_schema is not None
            own = parts.schemas_for
            schemas_for = with_classes(own, self.schemas, is_model=is_model)
            parts = replace(parts, schemas_for=schemas_for)

        return self.computed.schemas_for(parts) if self.computed else parts

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

    def part_of_call(self, params: Params) -> Caller:
        """Return the methods of this service for what a call itself needs. They are
        those of :meth:`as_caller` without pages, and no limit counts their calls.

        :param params: The params of the call.
        """
        return Caller(self, params, paginate=False, is_counted=False)

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

    def check_access(self, context: HookContext, *, is_counted: bool = True) -> None:
        """Refuse an external call that needs a valid token and has none. A transport
        calls this before it looks at the query and the data.

        :param context: The call, with its provider and the caller's credentials.
        :param is_counted: ``False`` for a part of a call, which no limit counts.
        :raises NotAuthenticated: The call needs a token, or has an invalid one.
        :raises TooManyRequests: There were too many calls.
        :raises RecordsError: A guard of the service refuses the call.
        """
        if context.params.provider is None:
            return

        if is_counted and self._count is not None:
            self._count(context)

        for guard in self._guards:
            guard(context)

        if context.method not in self.public and not context.params.authenticated:
            raise NotAuthenticated("Not authenticated")

    def readable_by(self, user: t.Any) -> Record | None:
        """Return the query of the records that a user may see, or ``None`` for all.

        :param user: The user, or ``None``.
        :raises TypeError: The rule returned neither ``True``, ``False`` nor a query.
        """
        if self.readable is None:
            return None

        condition = condition_of(self.readable(user), f"'readable' of '{self.path}'")
        self._note_hidden(condition or {})
        return condition

    def permissions_of(self, user: t.Any) -> Permissions:
        """Return what the rules for fields say for a user.

        :param user: The user, or ``None``.
        """
        permissions = self.capabilities.field_rules.of(user)

        for condition in permissions.shown_if.values():
            self._note_hidden(condition)

        return permissions

    def _note_hidden(self, condition: Record) -> None:
        if condition and self.capabilities.hidden:
            self._hidden_in_answers |= self.capabilities.hidden & names_in(condition)

    @property
    def hidden_in_rule(self) -> frozenset[str]:
        """The hidden fields that rules name: queries, and the answers of functions in
        this process.
        """
        return self._hidden_in_answers | self._hidden_in_queries

    @cached_property
    def _hidden_in_queries(self) -> frozenset[str]:
        rules = [self.readable, *self.capabilities.field_rules.visible.values()]
        names = [names_in(rule.query) for rule in rules if isinstance(rule, UserRule)]
        return self.capabilities.hidden.intersection(frozenset().union(*names))

    @property
    def has_rules(self) -> bool:
        """``True`` if not every user sees every record, or every field."""
        rules = self.capabilities.field_rules
        return self.readable is not None or bool(rules.visible)

    @property
    def finds_by_rules(self) -> bool:
        """``True`` if rules alone decide what ``find`` shows to a caller whom it
        accepts, and neither a hook nor a method of the application.
        """
        return self._pipeline.is_plain("find")

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
        is_final = context.params.provider is not None
        return self._pipeline.run(context, is_final=is_final)

    def _internal(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        params = params or Params()

        if params.provider is not None:
            # The rules of this service are not those of the call that it is made in.
            params = replace(params)

        context = HookContext(self, method, params, id, data)
        self.check_access(context)
        return self.result_of(self._pipeline.run(context))

    def _bare(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        params = params or Params()

        if params.schema_fields is not None:
            # A schema of the call that this one is made in is not about its data.
            params = replace(params, schema_fields=None)

        context = HookContext(self, method, params, id, data)
        self._pipeline.run_bare(context)
        return self.result_of(context)
