"""A named set of records, reached through six methods."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from functools import cached_property

from ..errors import NotAuthenticated
from ..names import EVENTS, METHODS, READS
from ..settings import names_of
from ..signals import CallSignals
from .capabilities import capabilities_of, check_methods, methods_of
from .context import CallState, HookContext, Params
from .events import EventSender, Transports
from .globals import call_stack
from .pipeline import Pipeline
from .results import private
from .rights import AccessRules, NO_FIELDS
from .validation import read_schemas

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import sqlalchemy as sa

    from ..pagination import Page
    from ..query import Change
    from ..typing import Id, Record, Rule
    from .context import AnyParams


Answer = t.TypeVar("Answer")


class Methods:
    """The methods of a service. Each takes the params of the call last, or a mapping
    that is their query. The ``id`` is the value of the identifier field.

    :param call: Makes a call, and returns its result.
    """

    def __init__(self, call: Callable[..., t.Any]) -> None:
        self._call = call

    def find(
        self, params: AnyParams = None, *, lock: bool = False
    ) -> list[Record] | Page:
        """Return the records that match the query, or a page of them if the service
        has pages.

        :param lock: Let nobody else write the records until the commit.
        :raises BadRequest: The query names an unknown field or operator.
        """
        params = replace(Params.of(params), lock=True) if lock else params
        return t.cast("list[Record] | Page", self._call("find", params))

    def get(self, id: Id, params: AnyParams = None, *, lock: bool = False) -> Record:
        """Return one record.

        :param lock: Let nobody else write the record until the commit.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        params = replace(Params.of(params), lock=True) if lock else params
        return t.cast("Record", self._call("get", params, id))

    def create(self, data: Record | list[Record], params: AnyParams = None) -> t.Any:
        """Create a record from the data, or a list of records from a list, and return
        it.

        :param data: The fields of the new record, or a list of such.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data conflicts with an existing record.
        """
        return self._call("create", params, None, data)

    def update(self, id: Id, data: Record, params: AnyParams = None) -> Record:
        """Replace a record by the data, and return it.

        :param data: All fields. Absent ones become null or their default.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        return t.cast("Record", self._call("update", params, id, data))

    def patch(self, id: Id, data: Record, params: AnyParams = None) -> t.Any:
        """Merge the data into a record, or into all that match the query if the id is
        ``None``, and return the result.

        :param data: The fields that change.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        return self._call("patch", params, id, data)

    def remove(self, id: Id, params: AnyParams = None) -> t.Any:
        """Remove a record, or all that match the query if the id is ``None``, and
        return what was removed.

        :raises NotFound: There is no such record, or it does not match the query.
        """
        return self._call("remove", params, id)

    def custom(self, method: str, data: t.Any, params: AnyParams = None) -> t.Any:
        """Return the result of a custom method.

        :param method: The name of the method.
        :raises MethodNotAllowed: The service has no such method.
        """
        return self._call(method, params, None, data)


class Service(CallSignals, Methods):
    """A named set of records, reached through six methods.

    It is what :meth:`.FlaskRecords.add` returns. Calls made here are internal: they
    run hooks and send events, and may do what a client may not. With the params of a
    client's call, they are calls of that client, whose access is checked. The methods
    with a leading underscore skip hooks and send no events: see section 4.3.12 of the
    specification.

    :param target: The object with the methods, and with the optional parts that
        :class:`.Capabilities` describes.
    :param signals: The signals of all services.
    :param transports: The transports of the events of all services.
    :param guards: Functions of the context of an external call that identify the
        caller, or refuse the call. A transport runs them before the call.
    :param count: Counts an external call, or refuses one call too many.

    The other parameters are options of :meth:`.FlaskRecords.add`.
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
        readable: Rule | None = None,
        allow: Mapping[str, Rule | Change] | None = None,
        schemas: Mapping[str, t.Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.path = path
        """The path of the service."""
        self.name = name
        """The name of its types in documents, if it is not made of the path."""
        self.target = target
        """The object whose methods the service calls, as it was added."""
        self.methods = methods_of(path, target, names_of("methods", methods))
        """The names of the methods that the service has, custom ones last."""
        self.capabilities = capabilities_of(target)
        """The optional parts of the object."""
        self.custom_methods = tuple(n for n in self.methods if n not in METHODS)
        """The names of the methods beyond the six."""
        own_events = getattr(target, "events", ()) if events is None else events
        self.custom_events = names_of("events", own_events)
        """The names of the custom events."""
        is_model = self.capabilities.model is not None
        self.schemas = read_schemas(
            path, schemas or {}, self.methods, is_model=is_model
        )
        """The schemas by method."""
        all_methods = (*METHODS, *self.custom_methods)
        public = public or self.capabilities.public_by_default
        names = all_methods if public is True else public or ()
        self.public = frozenset(names_of("public", names))
        """The names of the methods that need no token."""
        check_methods("public", path, self.public, all_methods)
        self.rules = AccessRules(self, readable, allow)
        """The rules for who may call the service, and which records they reach."""
        self.readable = self.rules.readable
        """The query of the records that a user may see, as a function of the user."""
        self.sends_events = self.capabilities.sends_events
        """``False`` to send an event to clients only if a function publishes it."""
        self._guards = tuple(guards)
        self._count = count
        super().__init__(all_methods, (*EVENTS.values(), *self.custom_events))
        self._sender = EventSender(self, signals.events, transports)
        self.pipeline = Pipeline(self, signals, self._sender)
        """Runs the calls."""
        bare = Methods(self._call_bare)
        # These skip hooks and events.
        self._find, self._get, self._create = bare.find, bare.get, bare.create
        self._update, self._patch, self._remove = bare.update, bare.patch, bare.remove

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.path}'>"

    def as_caller(
        self, params: Params, *, paginate: bool = True, is_counted: bool = True
    ) -> Methods:
        """Return the methods of this service as the caller of another call, with these
        params, may use them: with the caller's access, limits and rules; unrestricted
        for calls made in Python.

        :param paginate: ``False`` for a list instead of a page.
        :param is_counted: ``False`` for parts of the other call, which no limit counts.
        """

        def call(
            method: str, own: AnyParams, id: Id = None, data: t.Any = None
        ) -> t.Any:
            own = Params.of(own)
            joint = replace(params, query=own.query, lock=own.lock, paginate=paginate)
            joint.route, joint.extra = {}, {}
            context = HookContext(self, method, joint, id, data)
            self.check_access(context, is_counted=is_counted)
            return self.result_of(self.call(context), params)

        return Methods(call)

    def statement(self, params: AnyParams = None) -> sa.Select[t.Any]:
        """Return the ``select`` of SQLAlchemy for the records of a model that a find of
        the same params gives, with a column for each field, for a report of your own.
        For the params of a client, the rules of the service hold; its hooks do not run,
        and there are no pages. A field is null in a record that does not show it.

        :raises RecordsError: The caller may not find records by this query.
        """
        statement = self.target.statement(self.params_of_find(Params.of(params)))
        return t.cast("sa.Select[t.Any]", statement)

    def params_of_find(self, params: Params) -> Params:
        """Return params for a find of the same caller, limited to the records that it
        may find. Its hooks do not run.
        """
        own = params._state.rules if params._state.service is self else None
        state = CallState(self, rules=[*(own or ())])
        params = replace(params, route={}, extra={}, _state=state)
        context = HookContext(self, "find", params)
        self.check_access(context, is_counted=False)

        if params.provider is not None:
            self.rules.limit(context)

        return params

    def emit(self, event: str, record: t.Any) -> None:
        """Send an event once the call in progress has been committed, or at once.

        :raises ValueError: The service has no event of the name.
        """
        if event not in EVENTS.values() and event not in self.custom_events:
            raise ValueError(
                f"'{event}' is not an event of '{self.path}'. Name it in 'events'."
            )

        self._sender.send(event, [record], call_stack.get())

    @property
    def has_events(self) -> bool:
        """``True`` if somebody may get events of its records."""
        return self.sends_events and self._sender.is_connected

    @cached_property
    def has_rules(self) -> bool:
        """``True`` if not every user sees every record, or every field."""
        reads = [method for method in READS if method in self.rules.allow]
        visible = self.capabilities.field_rules.visible
        return bool(self.readable or reads or visible)

    @cached_property
    def limits_find(self) -> bool:
        """``True`` if not every user finds every record."""
        is_limited = self.readable is not None or "find" in self.rules.allow
        return is_limited and "find" in self.methods

    @cached_property
    def has_private_fields(self) -> bool:
        """``True`` if there are fields that not every client may see."""
        parts = self.capabilities
        return bool(parts.hidden or parts.field_rules.visible)

    def check_access(self, context: HookContext, *, is_counted: bool = True) -> None:
        """Refuse an external call that needs a valid token and has none. A transport
        calls this before it looks at the query and the data.

        :param is_counted: ``False`` for a part of a call, which no limit counts.
        """
        if context.params.provider is None:
            return

        if is_counted and self._count is not None:
            self._count(context)

        for guard in self._guards:
            guard(context)

        if context.method not in self.public and not context.params.authenticated:
            raise NotAuthenticated("Not authenticated")

    def answer(
        self, context: HookContext, encode: Callable[[HookContext], Answer]
    ) -> Answer:
        """Run a call of a client as :meth:`call` does, and return its answer. Nothing
        is committed if a value that a hook or an object has made can't be encoded.

        :param encode: Returns the answer of the transport.
        """
        self.pipeline.run(context, is_final=True, encode=encode)
        answer: Answer | None = context.params._state.answer
        return encode(context) if answer is None else answer

    def call(self, context: HookContext) -> HookContext:
        """Run a call: hooks, the method, hooks, the commit, events. Return its context,
        which has the result. A call with a provider commits what the application has in
        progress, too, since nobody would after the transport.

        :raises RecordsError: The call has failed, and no error hook has handled that.
            An error of another class is raised as it is.
        """
        is_final = context.params.provider is not None
        return self.pipeline.run(context, is_final=is_final)

    def result_of(self, context: HookContext, caller: Params | None = None) -> t.Any:
        """Return the result of a call made in Python: what a client may see if its
        caller is one.
        """
        if context.params.provider is None:
            return context.result

        viewer = (caller or context.params).user
        return private(self, context.sent, NO_FIELDS, viewer)

    def _call(
        self, method: str, params: AnyParams, id: Id = None, data: t.Any = None
    ) -> t.Any:
        context = HookContext(self, method, Params.of(params), id, data)
        self.check_access(context)
        return self.result_of(self.pipeline.run(context))

    def _call_bare(
        self, method: str, params: AnyParams, id: Id = None, data: t.Any = None
    ) -> t.Any:
        context = HookContext(self, method, Params.of(params), id, data)
        self.pipeline.run_bare(context)
        return self.result_of(context)
