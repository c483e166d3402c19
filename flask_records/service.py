"""The six methods of a service, each run between its hooks."""

from __future__ import annotations

import logging
import typing as t
from contextlib import contextmanager

from .context import HookContext
from .context import NO_RESULT
from .context import Params
from .errors import BadRequest
from .errors import is_answer
from .errors import MethodNotAllowed
from .errors import NotAuthenticated
from .globals import call_stack
from .pagination import Page
from .signals import call
from .signals import CallSignals
from .signals import EVENTS
from .signals import METHODS
from .transaction import after_commit
from .transaction import Transaction

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator

    from .typing import Id
    from .typing import Record

logger = logging.getLogger(__package__)

REPLACES_MANY = "You can not replace multiple instances. Did you mean 'patch'?"

ARGUMENTS: dict[str, Callable[[HookContext], tuple[t.Any, ...]]] = {
    "find": lambda context: (),
    "get": lambda context: (context.id,),
    "create": lambda context: (context.data,),
    "update": lambda context: (context.id, context.data),
    "patch": lambda context: (context.id, context.data),
    "remove": lambda context: (context.id,),
}
"""What each method is called with, before the params."""


class Service:
    """A named set of records, reached through six methods.

    It is what :meth:`.FlaskRecords.add` returns. Calls made here are internal: they
    run hooks and send events, and may do what a client may not. The methods with a
    leading underscore skip hooks and send no events: see section 4.3.12 of the
    specification.

    :param path: Where the service is found, without slashes around it.
    :param target: The object that has the methods. If it has ``begin``, as an adapter
        has, that is called with the name of the method before any hook, so that what
        hooks write is part of the same transaction.
    :param records: The signals of all services.
    :param public: The methods that need no token: all, none, or those named.
    :param methods: The methods that can be called. All that the object has by default.
    :param events: The names of the custom events of the service.
    :raises TypeError: The object has none of the six methods.
    """

    def __init__(
        self,
        path: str,
        target: t.Any,
        records: CallSignals,
        *,
        public: bool | Collection[str] = False,
        methods: Collection[str] = METHODS,
        events: Collection[str] = (),
    ) -> None:
        self.path = path
        """Where the service is found."""
        self.target = target
        """The object that has the methods."""
        allowed = self._method_names("methods", methods)
        self.methods = tuple(
            name for name in METHODS if name in allowed and _has_method(target, name)
        )
        """The names of the methods that the service has."""
        self.custom_events = tuple(events)
        """The names of the custom events."""

        if not self.methods:
            names = ", ".join(METHODS)
            raise TypeError(f"The service '{path}' has none of the methods {names}.")

        if isinstance(public, bool):
            public = METHODS if public else ()

        self.public = self._method_names("public", public)
        """The names of the methods that need no token."""
        self._hidden = frozenset(getattr(target, "hidden", ()))
        self._begin: Callable[[str], None] = getattr(target, "begin", _nothing)
        self._all = records
        own = CallSignals(METHODS, (*EVENTS.values(), *self.custom_events))
        self.before = own.before
        """Runs hooks before the method."""
        self.after = own.after
        """Runs hooks after the method."""
        self.error = own.error
        """Runs hooks when something went wrong."""
        self.events = own.events
        """Runs receivers after the commit, once for each record."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.path}'>"

    def find(self, params: Params | None = None) -> list[Record] | Page:
        """Return the records that match the query, or a page of them if the service
        has pages.

        :param params: What accompanies the call. No query by default.
        :raises BadRequest: The query names an unknown field or operator.
        """
        return t.cast("list[Record] | Page", self._internal("find", params))

    def get(self, id: Id, params: Params | None = None) -> Record:
        """Return one record.

        :param id: The value of its identifier field.
        :param params: What accompanies the call. The record has to match its query.
        :raises NotFound: There is no such record, or it does not match.
        """
        return t.cast("Record", self._internal("get", params, id))

    def create(
        self, data: Record | list[Record], params: Params | None = None
    ) -> t.Any:
        """Return the record that is made of the data, or a list for a list.

        :param data: The fields of the new record, or a list of such.
        :param params: What accompanies the call.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data contradicts a record that is there.
        """
        return self._internal("create", params, None, data)

    def update(self, id: Id, data: Record, params: Params | None = None) -> Record:
        """Return the record, replaced by the data.

        :param id: The value of its identifier field.
        :param data: All fields. Those that are absent become null or their default.
        :param params: What accompanies the call. The record has to match its query.
        :raises NotFound: There is no such record, or it does not match.
        """
        return t.cast("Record", self._internal("update", params, id, data))

    def patch(self, id: Id, data: Record, params: Params | None = None) -> t.Any:
        """Return the record with the data merged into it, or all that match the query
        if the id is ``None``.

        :param id: The value of its identifier field, or ``None`` for many.
        :param data: The fields that change.
        :param params: What accompanies the call.
        :raises NotFound: There is no such record, or it does not match.
        """
        return self._internal("patch", params, id, data)

    def remove(self, id: Id, params: Params | None = None) -> t.Any:
        """Return the record that is removed, or all that match the query if the id is
        ``None``.

        :param id: The value of its identifier field, or ``None`` for many.
        :param params: What accompanies the call.
        :raises NotFound: There is no such record, or it does not match.
        """
        return self._internal("remove", params, id)

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

    def emit(self, event: str, record: t.Any) -> None:
        """Send an event once the call in progress has been committed, or at once.

        :param event: The name of one of the events of the service.
        :param record: What the receivers get.
        :raises ValueError: The service has no such event.
        """
        if event not in t.cast("tuple[str, ...]", self.events.senders):
            raise ValueError(
                f"'{event}' is not an event of '{self.path}'. Name it in 'events'."
            )

        self._send_later(event, record, call_stack.get())

    def check_access(self, context: HookContext) -> None:
        """Refuse an external call that needs a token and has none that is valid. A
        transport asks this before it looks at the query and the data.

        :param context: The call, with its provider and what is known of the caller.
        :raises NotAuthenticated: The call needs a token.
        """
        params = context.params

        if params.provider is None or context.method in self.public:
            return

        if not params.authenticated:
            raise NotAuthenticated("Not authenticated")

    def call(self, context: HookContext) -> HookContext:
        """Run a call: hooks, the method, hooks, the commit, events. Return its context,
        which has the result.

        :param context: The call.
        :raises RecordsError: What went wrong, unless an error hook has mended it. An
            error that is not one of ours is raised as it is.
        """
        with _in_progress(context):
            try:
                with Transaction():
                    self._run(context)
            except Exception as error:
                self._fail(context, error)

        return context

    def _run(self, context: HookContext) -> None:
        self._check(context)
        self._begin(context.method)

        if context.params.provider is not None:
            context.params.client_fields = _names_in(context.data)

        self._all.before.run(context.method, context)
        self.before.run(context.method, context)

        if context.result is NO_RESULT:
            context.result = self._call_method(context)

        self.after.run(context.method, context)
        self._all.after.run(context.method, context)
        self._hide(context)
        self._send_events(context)

    def _fail(self, context: HookContext, error: Exception) -> None:
        if is_answer(error):
            raise error

        # What the call gave has been undone.
        context.result = context.dispatch = NO_RESULT
        context.error = error
        self.error.run(context.method, context)
        self._all.error.run(context.method, context)

        if context.error is not None:
            raise context.error

        if context.result is NO_RESULT:
            context.result = None

        self._hide(context)

    def _check(self, context: HookContext) -> None:
        if context.method not in self.methods:
            raise MethodNotAllowed(
                f"Method `{context.method}` is not supported by this endpoint."
            )

        if context.method == "update" and (
            context.id is None or isinstance(context.data, list)
        ):
            raise BadRequest(REPLACES_MANY)

    def _call_method(self, context: HookContext) -> t.Any:
        method = getattr(self.target, context.method)
        return call(method, *ARGUMENTS[context.method](context), context.params)

    def _internal(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        params = Params() if params is None else params
        return self.call(HookContext(self, method, params, id, data)).result

    def _bare(
        self, method: str, params: Params | None, id: Id = None, data: t.Any = None
    ) -> t.Any:
        context = HookContext(self, method, params or Params(), id, data)
        self._check(context)

        with Transaction():
            self._begin(method)
            return self._call_method(context)

    def _hide(self, context: HookContext) -> None:
        if self._hidden and context.params.provider is not None:
            context.dispatch = self._without_hidden(context.sent)

    def _without_hidden(self, result: t.Any) -> t.Any:
        if isinstance(result, Page):
            data = [self._without_hidden(record) for record in result.data]
            return Page(result.total, result.limit, result.skip, data)

        if isinstance(result, list):
            return [self._without_hidden(record) for record in result]

        if isinstance(result, dict) and not self._hidden.isdisjoint(result):
            return {k: v for k, v in result.items() if k not in self._hidden}

        return result

    def _send_events(self, context: HookContext) -> None:
        event = EVENTS.get(context.method)

        if event is None:
            return

        sent = context.sent

        for record in sent if isinstance(sent, list) else [sent]:
            self._send_later(event, record, context)

    def _send_later(
        self, event: str, record: t.Any, context: HookContext | None
    ) -> None:
        visible = self._without_hidden(record)
        after_commit(lambda: self._send(event, visible, context))

    def _send(self, event: str, record: t.Any, context: HookContext | None) -> None:
        for signal in (self.events, self._all.events):
            if signal.is_muted:
                continue

            for receiver in signal.receivers_for(event):
                try:
                    call(receiver, event, record, context)
                except Exception:
                    # The call is committed: a receiver can't undo it any more.
                    logger.exception("A receiver of '%s %s' failed.", self.path, event)

    def _method_names(self, option: str, names: Collection[str]) -> frozenset[str]:
        for name in names:
            if name not in METHODS:
                raise ValueError(
                    f"'{option}' of '{self.path}' names '{name}', which is no method."
                )

        return frozenset(names)


def _names_in(data: t.Any) -> frozenset[str]:
    bodies = data if isinstance(data, list) else [data]
    return frozenset(name for body in bodies if isinstance(body, dict) for name in body)


def _nothing(method: str) -> None:
    """Begin a call of a service that has nothing to begin."""


def _has_method(target: t.Any, name: str) -> bool:
    return callable(getattr(target, name, None))


@contextmanager
def _in_progress(context: HookContext) -> Iterator[None]:
    token = call_stack.set(context)

    try:
        yield
    finally:
        call_stack.reset(token)
