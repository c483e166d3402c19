"""One blueprint for each service."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from flask import Blueprint
from flask import current_app
from flask import request
from flask import Response
from werkzeug.exceptions import HTTPException

from ..context import HookContext
from ..context import Params
from ..errors import BadRequest
from ..errors import MethodNotAllowed
from ..globals import remember_call
from ..globals import remembered_call
from ..query.bounds import current_bounds
from ..signals import EVENTS
from .body import read_body
from .formatter import empty
from .formatter import weak_etag
from .headers import cache_control_of
from .headers import complete

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterator

    from flask import Request
    from flask.typing import ResponseReturnValue

    from ..service import Service
    from ..typing import BodyParser
    from ..typing import Formatter
    from ..typing import QueryParser
    from .error_handler import ErrorHandler

PROVIDER: t.Final = "rest"

PREFIX: t.Final = "records:"
"""The prefix of the names of blueprints."""

ID: t.Final = "record_id_"
"""The placeholder of the identifier in URL rules."""

NAMELESS = re.compile("(?:^|&)=[^&]")

COLON_PLACEHOLDER = re.compile(r"(^|/):(\w+)")

METHODS: t.Final = {
    ("GET", False): "find",
    ("GET", True): "get",
    ("HEAD", False): "find",
    ("HEAD", True): "get",
    ("POST", False): "create",
    ("PUT", False): "update",
    ("PUT", True): "update",
    ("PATCH", False): "patch",
    ("PATCH", True): "patch",
    ("DELETE", False): "remove",
    ("DELETE", True): "remove",
}
"""The method of each HTTP verb, without and with an identifier. See section 4.1."""

VERBS: t.Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

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

METHOD_HEADER: t.Final = "HTTP_X_SERVICE_METHOD"
"""The header ``X-Service-Method`` of a POST, which names a custom method, as WSGI
spells it.
"""


class ServiceBlueprint:
    """The HTTP side of one service.

    :param has_callers: Returns whether responses may depend on the caller.
    :param before_request: Functions that run before the view.
    :param after_request: Functions that run after it, last to first.
    """

    def __init__(
        self,
        service: Service,
        *,
        errors: ErrorHandler,
        formatter: Formatter,
        query_parser: QueryParser,
        body_parsers: Mapping[str, BodyParser],
        has_callers: Callable[[], bool],
        before_request: Collection[Callable[[], t.Any]],
        after_request: Collection[Callable[[t.Any], t.Any]],
    ) -> None:
        self._service = service
        self._errors = errors
        self._formatter = formatter
        self._query_parser = query_parser
        self._body_parsers = body_parsers
        self._has_callers = has_callers
        self._before_request = before_request
        self._after_request = after_request
        self._allow = ",".join(_verbs(service))

    def make(self) -> Blueprint:
        """Return the blueprint. Its name is ``records:`` and the path."""
        blueprint = Blueprint(blueprint_name(self._service.path), __package__)

        for before in self._before_request:
            blueprint.before_request(before)

        # Flask runs the last function first: this one sees what others have changed.
        for after in (self._finish, *self._after_request):
            blueprint.after_request(after)

        blueprint.register_error_handler(Exception, self._errors.handle)
        path = COLON_PLACEHOLDER.sub(r"\1<\2>", self._service.path)

        for rule, name in ((f"/{path}", "many"), (f"/{path}/<{ID}>", "one")):
            blueprint.add_url_rule(
                rule,
                name,
                self._view,
                methods=[*VERBS, "HEAD", "OPTIONS"],
                strict_slashes=False,
                merge_slashes=False,
                provide_automatic_options=False,
            )

        return blueprint

    def _view(self, **route: t.Any) -> ResponseReturnValue:
        # The proxy finds the request anew at each use.
        current = _current_request()

        if current.method == "OPTIONS":
            return empty()

        try:
            return self._answer(current, route.pop(ID, None), route)
        except Exception as error:
            # The application's handler of a status would precede the handler of all
            # errors of the blueprint.
            return self._errors.handle(error)

    def _answer(
        self, current: Request, id: str | None, route: dict[str, t.Any]
    ) -> ResponseReturnValue:
        context = self._context(current, id, route)
        remember_call(context)
        self._service.check_access(context)
        context.params.query = self._query(current, context)

        if (
            context.method not in HAS_NO_BODY
            and context.method in self._service.methods
        ):
            context.data = read_body(current, context.method, self._body_parsers)

        self._service.call(context)
        return self._formatter(context)

    def _context(
        self, current: Request, id: str | None, route: dict[str, t.Any]
    ) -> HookContext:
        params = Params(provider=PROVIDER, route=route, headers=current.headers)

        try:
            method = self._method(current, id)
        except MethodNotAllowed:
            # Check access first: do not reveal which methods exist.
            self._service.check_access(HookContext(self._service, "create", params))
            raise

        return HookContext(self._service, method, params, id)

    def _method(self, current: Request, id: str | None) -> str:
        verb = current.method
        method = METHODS.get((verb, id is not None))

        if method is None:
            raise MethodNotAllowed(
                f"{verb} is not allowed on a record. Use /{self._service.path}."
            )

        return self._method_of_post(current) if method == "create" else method

    def _method_of_post(self, current: Request) -> str:
        # A look-up of a header that is not there costs an exception.
        name = current.environ.get(METHOD_HEADER) or "create"

        if name != "create" and name not in self._service.custom_methods:
            raise MethodNotAllowed(
                f"Method `{name}` is not supported by this endpoint."
            )

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

        query = self._query_parser(text)

        if not isinstance(query, Mapping):
            raise BadRequest("The query is not an object.")

        current_bounds().check_query(query)
        return query

    def _finish(self, response: Response) -> Response:
        request = _current_request()
        is_read = request.method in ("GET", "HEAD") and response.status_code == 200
        etag = weak_etag(response) if is_read and response.is_sequence else None
        has_callers = self._has_callers()
        cache_control = cache_control_of(remembered_call()) if has_callers else None
        complete(
            response.headers, allow=self._allow, cache_control=cache_control, etag=etag
        )

        if etag is not None and not CONDITIONS.isdisjoint(request.environ):
            response.make_conditional(request)

        return response


def _verbs(service: Service) -> Iterator[str]:
    """Yield the verbs that a service supports."""
    for verb in VERBS:
        methods = {METHODS.get((verb, has_id)) for has_id in (False, True)}

        if not methods.isdisjoint(service.methods):
            yield verb
        elif verb == "POST" and service.custom_methods:
            yield verb


def _current_request() -> Request:
    return t.cast("Request", request._get_current_object())  # type: ignore[attr-defined]  # a proxy has it


def service_at(path: str) -> tuple[str | None, dict[str, t.Any]]:
    """Return the path of the service at an address of the current application, and the
    values of its placeholders. ``None`` if there is no service.
    """
    try:
        urls = current_app.url_map.bind("")
        endpoint, route = urls.match(f"/{path.strip('/')}", method="GET")
    except HTTPException:
        return None, {}

    name, _, kind = endpoint.rpartition(".")

    if kind != "many" or not name.startswith(PREFIX):
        return None, {}

    return name.removeprefix(PREFIX).replace("%2E", "."), dict(route)


def blueprint_name(path: str) -> str:
    """Return the name of the blueprint of a service."""
    return PREFIX + path.replace(".", "%2E")
