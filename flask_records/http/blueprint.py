"""One blueprint for each service."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from flask import Blueprint, request, Response

from ..context import HookContext, Params
from ..errors import BadRequest, MethodNotAllowed
from ..globals import remember_call, remembered_call
from ..query.bounds import current_bounds
from ..signals import EVENTS, METHODS_BY_NAME
from .body import read_body
from .formatter import empty, weak_etag
from .headers import cache_control_of, complete
from .placeholders import rule_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from flask import Request
    from flask.typing import ResponseReturnValue

    from ..service import Service
    from ..typing import BodyParser, Formatter, QueryParser
    from .error_handler import ErrorHandler

PROVIDER: t.Final = "rest"

PREFIX: t.Final = "records:"
"""The prefix of the names of blueprints."""

ID: t.Final = "record_id_"
"""The placeholder of the identifier in URL rules."""

NAMELESS = re.compile("(?:^|&)=[^&]")

VERBS: t.Final = tuple(dict.fromkeys(each.verb for each in METHODS_BY_NAME.values()))
"""The verbs of the six methods."""


def _methods_of(verb: str) -> tuple[str | None, str | None]:
    """Return the methods of a verb, without and with an identifier. Those that take one
    take all records of a query without it, or refuse that themselves.
    """
    methods = [each for each in METHODS_BY_NAME.values() if each.verb == verb]
    with_id = next((each.name for each in methods if each.has_id), None)
    without_id = next((each.name for each in methods if not each.has_id), with_id)
    return without_id, with_id


BY_VERB: t.Final = {verb: _methods_of(verb) for verb in VERBS} | {
    "HEAD": _methods_of("GET")
}
"""The method of each verb, without and with an identifier."""

CONDITIONS: t.Final = frozenset(
    {
        "HTTP_IF_MATCH",
        "HTTP_IF_MODIFIED_SINCE",
        "HTTP_IF_NONE_MATCH",
        "HTTP_IF_UNMODIFIED_SINCE",
    }
)
"""The headers of conditional requests, as WSGI spells them."""

HAS_NO_BODY: t.Final = frozenset({"find", "get", "remove"})


@dataclass(eq=False, kw_only=True)
class ServiceBlueprint:
    """The HTTP side of one service.

    :param has_callers: Returns whether responses may depend on the caller.
    :param before_request: Functions that run before the view.
    :param after_request: Functions that run after it, last to first.
    """

    service: Service = field(kw_only=False)
    errors: ErrorHandler
    formatter: Formatter
    query_parser: QueryParser
    body_parsers: Mapping[str, BodyParser]
    has_callers: Callable[[], bool]
    before_request: Collection[Callable[[], t.Any]]
    after_request: Collection[Callable[[t.Any], t.Any]]

    def __post_init__(self) -> None:
        verbs = {
            verb for has_id in (False, True) for verb in _verbs(self.service, has_id)
        }
        self._allow = ",".join(verb for verb in VERBS if verb in verbs)

    def make(self) -> Blueprint:
        """Return the blueprint. Its name is ``records:`` and the path."""
        blueprint = Blueprint(
            f"{PREFIX}{self.service.path.replace('.', '%2E')}", __package__
        )

        for before in self.before_request:
            blueprint.before_request(before)

        # Flask runs the last function first: this one sees what others have changed.
        for after in (self._finish, *self.after_request):
            blueprint.after_request(after)

        blueprint.register_error_handler(Exception, self.errors.handle)
        rule = rule_of(self.service.path)

        for url, name in ((rule, "many"), (f"{rule}/<{ID}>", "one")):
            blueprint.add_url_rule(
                url,
                name,
                self._view,
                # The service refuses the verbs of other methods, after its checks.
                methods=[*VERBS, "OPTIONS"],
                strict_slashes=False,
                merge_slashes=False,
                provide_automatic_options=False,
            )

        return blueprint

    def _view(self, **route: t.Any) -> ResponseReturnValue:
        current = current_request()

        if current.method == "OPTIONS":
            return empty()

        try:
            return self._answer(current, route.pop(ID, None), route)
        except Exception as error:
            # The application's handler of a status would precede the handler of all
            # errors of the blueprint.
            return self.errors.handle(error)

    def _answer(
        self, current: Request, id: str | None, route: dict[str, t.Any]
    ) -> ResponseReturnValue:
        context = self._context(current, id, route)
        remember_call(context)
        self.service.check_access(context)
        context.params.query = self._query(current, context)

        if context.method not in HAS_NO_BODY and context.method in self.service.methods:
            context.data = read_body(current, context.method, self.body_parsers)

        self.service.call(context)
        return self.formatter(context)

    def _context(
        self, current: Request, id: str | None, route: dict[str, t.Any]
    ) -> HookContext:
        params = Params(provider=PROVIDER, route=route, headers=current.headers)

        try:
            method = self._method(current, id is not None)
        except MethodNotAllowed:
            # Check access first: do not reveal which methods exist.
            self.service.check_access(HookContext(self.service, "create", params))
            raise

        return HookContext(self.service, method, params, id)

    def _method(self, current: Request, has_id: bool) -> str:
        method = BY_VERB[current.method][has_id]

        if method is None:
            url = current.path.rstrip("/").rpartition("/")[0]
            raise MethodNotAllowed(f"POST is not allowed on a record. Use {url}.")

        if method != "create":
            return method

        # A look-up of a header that is not there costs an exception.
        name = current.environ.get("HTTP_X_SERVICE_METHOD") or method

        if name != method and name not in self.service.custom_methods:
            message = f"Method `{name}` is not supported by this endpoint."
            raise MethodNotAllowed(message)

        return name

    def _query(self, current: Request, context: HookContext) -> dict[str, t.Any]:
        query_string = current.query_string

        if not query_string:
            return {}

        text = query_string.decode("utf-8", "replace")

        # The parser drops a value without a name, as qs does. A write of some records
        # could become a write of all.
        if context.id is None and context.method in EVENTS and NAMELESS.search(text):
            raise BadRequest("A value of the query has no name.")

        query = self.query_parser(text)

        if not isinstance(query, Mapping):
            raise BadRequest("The query is not an object.")

        current_bounds().check_query(query)
        return query

    def _finish(self, response: Response) -> Response:
        current = current_request()
        is_read = current.method in ("GET", "HEAD") and response.status_code == 200
        etag = weak_etag(response) if is_read and response.is_sequence else None
        cache = cache_control_of(remembered_call()) if self.has_callers() else None
        complete(response.headers, allow=self._allow, cache_control=cache, etag=etag)

        if etag is not None and not CONDITIONS.isdisjoint(current.environ):
            response.make_conditional(current)

        return response


def _verbs(service: Service, has_id: bool) -> Iterator[str]:
    """Yield the verbs that a service supports, with or without an identifier."""
    for verb in VERBS:
        is_custom = verb == "POST" and not has_id and service.custom_methods

        if is_custom or BY_VERB[verb][has_id] in service.methods:
            yield verb


def current_request() -> Request:
    """Return the current request itself."""
    # The proxy finds the request anew at each use.
    return t.cast("Request", request._get_current_object())  # type: ignore[attr-defined]  # a proxy has it
