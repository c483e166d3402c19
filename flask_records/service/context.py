"""One call, as data."""

from __future__ import annotations

import enum
import typing as t
from dataclasses import dataclass, field, replace

from werkzeug.datastructures import Headers

from ..errors import not_an_object
from ..query.rules import both

if t.TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from flask.typing import ResponseReturnValue

    from ..database.database import CheckedValue
    from ..typing import Record
    from .service import Service

AnyParams: t.TypeAlias = "Params | Mapping[str, t.Any] | None"
"""Params, or their query alone. No query by default."""

Hook: t.TypeAlias = "Callable[[str, HookContext], Awaitable[None] | None]"
"""A function of the method's name and the context of the call."""

Formatter: t.TypeAlias = "Callable[[HookContext], ResponseReturnValue]"
"""Makes the response of a call. See section 4.3.11 of the specification."""


class Missing(enum.Enum):
    """The type of :data:`NO_RESULT`."""

    NO_RESULT = "no result"

    def __bool__(self) -> bool:
        return False


NO_RESULT: t.Final = Missing.NO_RESULT
"""The value of a result that is not there yet. ``None`` is a result."""


@dataclass
class CallState:
    """The notes of the pipeline about a call, which an adapter reads, too."""

    service: Service | None = None
    """The service, for whose results the pipeline cares."""

    is_whole: bool = False
    """``True`` if the pipeline cuts the records: hooks and receivers get them whole."""

    rules: list[dict[str, t.Any]] | None = None
    """The queries of the application that records have to meet, for a model. Other
    objects have them in the query of the params.
    """

    is_limited: bool = False
    """``True`` if rules limit the records, until a hook has loaded them."""

    client_fields: Collection[str] = ()
    """The names in the data that came from a client, before any hook changed it."""

    schema_fields: Collection[str] | None = None
    """The fields that a schema lets the client write, or ``None`` without a schema."""

    answer: t.Any = None
    """The answer of the transport, if it was encoded before the commit."""

    checked_value: CheckedValue | None = None
    """A value that a ``get`` of a model reads with its record, if it is called."""


@dataclass
class Params:
    """The params of a call: everything but its method, identifier and data. A client
    sets the query, and through its request the route and the headers, and nothing else:
    see section 4.3.8 of the specification.

    Its ``repr`` has no values of clients and users: reports of errors contain it.
    """

    query: dict[str, t.Any] = field(default_factory=dict, repr=False)
    """The query: text, nested, over HTTP; values of any type in Python."""

    provider: str | None = None
    """The transport of the call, ``"rest"`` over HTTP, or ``None`` in Python."""

    route: dict[str, t.Any] = field(default_factory=dict)
    """The values of the placeholders in the path of the service."""

    headers: Headers = field(default_factory=Headers, repr=False)
    """The headers of the request, by names in any case."""

    authentication: dict[str, t.Any] | None = field(default=None, repr=False)
    """The credentials that the request carries, not yet checked."""

    authenticated: bool = False
    """``True`` once a strategy has accepted :attr:`authentication`."""

    authenticator: t.Any = None
    """The authentication service that has accepted :attr:`authentication`."""

    user: t.Any = field(default=None, repr=False)
    """The record of the user that is logged in."""

    user_id: t.Any = None
    """The identifier of the user that is logged in."""

    connection: t.Any = None
    """The connection of a transport that keeps one open, such as Socket.IO."""

    paginate: bool = True
    """``True`` for pages if the service has pages, ``False`` for a list of all records
    that match.
    """

    lock: bool = False
    """``True`` to let nobody else write the records that are read until the commit. No
    client can ask for that.
    """

    extra: dict[str, t.Any] = field(default_factory=dict, repr=False)
    """Values that hooks pass on to other hooks and to the method."""

    _state: CallState = field(default_factory=CallState, repr=False, compare=False)

    @classmethod
    def of(cls, value: AnyParams) -> Params:
        """Return params for another call, with the same query."""
        if isinstance(value, Params):
            return replace(value)

        return cls(dict(value or {}))


@dataclass
class HookContext:
    """One call. Hooks read and change it. Its ``repr`` has no data and no results."""

    service: Service
    """The service that is called."""

    method: str
    """The name of the method."""

    params: Params
    """The params of the call."""

    id: t.Any = None
    """The identifier of the record, or ``None`` for calls on many and on none."""

    data: t.Any = field(default=None, repr=False)
    """The data of create, update and patch."""

    result: t.Any = field(default=NO_RESULT, repr=False)
    """The result of the call. A before hook that sets it skips the method."""

    dispatch: t.Any = field(default=NO_RESULT, repr=False)
    """The result that the client sees, if it differs from :attr:`result`."""

    status_code: int | None = None
    """The HTTP status, if it is not the default."""

    error: Exception | None = None
    """The error of a call that failed. An error hook may replace it, or set it to
    ``None`` and set a result.
    """

    outer: HookContext | None = field(default=None, repr=False, compare=False)
    """The call during which this one was made, if there is one."""

    @property
    def outermost(self) -> HookContext:
        """The call that everything began with: the one of a client, also for the calls
        in Python that hooks and methods make during it.
        """
        return self if self.outer is None else self.outer.outermost

    def load(self) -> t.Any:
        """Return the record of the call as its caller may reach it, by ``readable``,
        ``allow`` and the query; the records or the page for a call without an
        identifier. Nobody else writes a writing call's records until the commit. A
        before hook that answers for the method in :attr:`result` calls it first.

        :raises NotFound: The caller does not reach such a record.
        :raises MethodNotAllowed: The service does not allow to write many records.
        :raises RuntimeError: The call is a create, or of a custom method.
        """
        return self.service.pipeline.load(self)

    @property
    def bodies(self) -> list[dict[str, t.Any]]:
        """The data as a list: one body, the bodies of a create of many, or an empty
        list. Hooks that look at fields need not care how many there are.

        :raises BadRequest: The data is neither an object nor a list of objects.
        """
        if self.data is None:
            return []

        bodies = self.data if isinstance(self.data, list) else [self.data]

        if not all(isinstance(body, dict) for body in bodies):
            raise not_an_object(self.method)

        return bodies

    @property
    def records(self) -> list[dict[str, t.Any]]:
        """The records of the result as a list: one, a list's or a page's, or an
        empty list for another result. After hooks may change them.
        """
        # A page has its records as data.
        result = getattr(self.result, "data", self.result)
        records = result if isinstance(result, list) else [result]
        return [record for record in records if isinstance(record, dict)]

    @property
    def path(self) -> str:
        """The path of the service."""
        return self.service.path

    @property
    def sent(self) -> t.Any:
        """The result for the client: the dispatch if there is one, else the result."""
        return self.result if self.dispatch is NO_RESULT else self.dispatch


def names_of_bodies(data: t.Any) -> frozenset[str]:
    """Return the names in data, which is a body or a list of bodies."""
    bodies = data if isinstance(data, list) else [data]
    return frozenset().union(*[body for body in bodies if isinstance(body, dict)])


def restrict(params: Params, condition: Record) -> None:
    """Let a call reach only records that meet a condition, besides its query.

    :param condition: A query of fields, ``$or`` and ``$and``. The fields of a model may
        be hidden. A client can't remove it, nor can a hook that sets another query.
    """
    rules = params._state.rules

    if rules is None:
        params.query = both(params.query, condition)
    else:
        rules.append(condition)
