"""One blueprint for each service."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

from flask import Blueprint, current_app, Response
from werkzeug.exceptions import PreconditionFailed

from ..database.transaction import Transaction
from ..errors import BadRequest, MethodNotAllowed, NotFound, RecordsError
from ..names import CUSTOM, METHODS_BY_NAME
from ..query.bounds import current_bounds
from ..service.context import HookContext, Params
from ..service.globals import current_request, remember_call, remembered_call
from ..service.results import cut_throughout
from .body import has_body, max_size, parser_of, read_body
from .formatter import CALLER, empty, format_json, NO_SNIFFING, vary, weak_etag
from .lane import ID
from .routes import rule_of

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIEnvironment
    from flask import Flask, Request
    from flask.typing import ResponseReturnValue

    from ..service import Service
    from ..service.context import Formatter
    from ..typing import BodyParser, QueryParser
    from .error_handler import ErrorHandler

PROVIDER: t.Final = "rest"

PREFIX: t.Final = "records:"
"""The prefix of the names of blueprints."""

OWNER: t.Final = "service_blueprint"
"""The attribute of a view with the :class:`ServiceBlueprint` that has made it."""

BY_VERB: t.Final = {
    verb: {
        each.has_id: name for name, each in METHODS_BY_NAME.items() if each.verb == verb
    }
    for verb in ("GET", "POST", "PUT", "PATCH", "DELETE")
}
"""The names of the methods of each verb, by ``True`` if they take an identifier."""

NOT_THERE: t.Final = "There is no record that 'If-Match' could be true for."
NOT_MADE: t.Final = "A record that is not there can't be changed. Create it by a POST."
CONDITIONS_IN_BODY: t.Final = (
    "A DELETE of many has no body. Send its conditions in the query string."
)
CHANGED: t.Final = "The record has changed since you read it. Load it again."


@dataclass(eq=False, kw_only=True)
class ServiceBlueprint:
    """The HTTP side of one service. Without authentications, no response depends on its
    caller.
    """

    service: Service = field(kw_only=False)
    errors: ErrorHandler
    formatter: Formatter
    query_parser: QueryParser
    body_parsers: Mapping[str, BodyParser]
    authentications: Mapping[str, t.Any]

    def __post_init__(self) -> None:
        self.blueprint = self._make()
        """The blueprint. Its name is ``records:`` and the path."""

    @cached_property
    def _allow(self) -> str:
        """The verbs of the service, once the application is set up."""
        methods, custom = {*self.service.methods}, self.service.custom_methods
        return ",".join(
            verb
            for verb, names in BY_VERB.items()
            if methods & {*names.values()} or (verb == "POST" and custom)
        )

    def _make(self) -> Blueprint:
        blueprint = Blueprint(
            f"{PREFIX}{self.service.path.replace('.', '%2E')}", __package__
        )

        # Flask runs the last function first: this one sees what others have changed.
        blueprint.after_request(self._finish)
        self.errors.register(blueprint)
        rule = rule_of(self.service.path)

        for url, name in ((rule, "many"), (f"{rule}/<{ID}>", "one")):
            # The service refuses the verbs of other methods, after its checks.
            blueprint.add_url_rule(
                url,
                name,
                self._make_view(f"{blueprint.name}:{name}"),
                methods=[*BY_VERB, "OPTIONS"],
                strict_slashes=False,
                merge_slashes=False,
                provide_automatic_options=False,
            )

        return blueprint

    def _make_view(self, name: str) -> Callable[..., ResponseReturnValue]:
        def view(**route: t.Any) -> ResponseReturnValue:
            current = current_request()

            if current.method == "OPTIONS":
                return empty()

            try:
                return self._answer(current, route.pop(ID, None), route)
            except Exception as error:
                # A handler that the application has for the class of an error would
                # precede the one of all errors.
                return self.errors.handle(error)

        # Extensions exempt views by these names from their checks.
        view.__name__ = view.__qualname__ = name
        vars(view)[OWNER] = self
        return view

    def max_body_size(self, current: Request) -> int:
        """Return the bytes that a body may have, 0 if the caller may not call."""
        route = dict(current.view_args or {})

        try:
            context = self._context(current, route.pop(ID, None), route)
            self.service.check_access(context, is_counted=False)
        except RecordsError:
            return 0

        return max_size(current, parser_of(current, self.body_parsers))

    def _answer(
        self, current: Request, id: str | None, route: dict[str, t.Any]
    ) -> ResponseReturnValue:
        context = self._context(current, id, route)
        remember_call(context)
        self.service.check_access(context)
        context.params.query = self._query(current)
        method = METHODS_BY_NAME.get(context.method, CUSTOM)

        if method.has_data and context.method in self.service.methods:
            context.data = read_body(current, context.method, self.body_parsers)

        # The remove of a login, which has no identifier, is a logout.
        if context.method == "remove" and id is None:
            if self.service.capabilities.model is not None and has_body(current):
                raise BadRequest(CONDITIONS_IN_BODY)

        # A look-up of a header that is not there costs an exception.
        if method.changes_records and "HTTP_IF_NONE_MATCH" in current.environ:
            if current.if_none_match.star_tag:
                raise PreconditionFailed(NOT_MADE)

        if method.changes_records and "HTTP_IF_MATCH" in current.environ:
            return self._answer_if_match(current, context)

        return self.service.answer(context, self._format)

    def _format(self, context: HookContext) -> ResponseReturnValue:
        if self.formatter is not format_json:
            # A formatter of the application may encode records without cutting them.
            context.dispatch = cut_throughout(context.sent, context.params.user)

        return self.formatter(context)

    def _answer_if_match(
        self, current: Request, context: HookContext
    ) -> ResponseReturnValue:
        """Answer a call if a read of its URL has one of the tags in ``If-Match``."""
        service, id, query = self.service, context.id, deepcopy(context.params.query)
        # Nobody else writes the record until the commit.
        params = replace(context.params, query=query, extra={}, lock=True)
        read_context = HookContext(service, BY_VERB["GET"][id is not None], params, id)

        with Transaction(is_final=True):
            try:
                service.check_access(read_context, is_counted=False)
                service.call(read_context)
            except (MethodNotAllowed, NotFound) as error:
                raise PreconditionFailed(NOT_THERE) from error

            response = current_app.make_response(self._format(read_context))

            if not response.is_sequence:
                response.close()
                raise PreconditionFailed(NOT_THERE)

            if not current.if_match.contains_weak(weak_etag(response)[3:-1]):
                raise PreconditionFailed(CHANGED)

            return service.answer(context, self._format)

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
        # A HEAD is a GET without a body.
        methods = BY_VERB.get(current.method, BY_VERB["GET"])
        # Without an id, PUT, PATCH and DELETE address many records. The service decides
        # if that is allowed.
        method = methods.get(has_id, methods.get(True))

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

    def _query(self, current: Request) -> dict[str, t.Any]:
        query_string = current.query_string

        if not query_string:
            return {}

        query = self.query_parser(query_string.decode("utf-8", "replace"))

        if not isinstance(query, Mapping):
            raise BadRequest("The query is not an object.")

        current_bounds().check_query(query)
        return query

    def _finish(self, response: Response) -> Response:
        """Add the headers of all responses that this one does not have yet."""
        current, headers = current_request(), response.headers
        names = {name.lower() for name, _ in headers}
        pairs = [NO_SNIFFING, ("Allow", self._allow)]

        if self.authentications:
            call = remembered_call()
            is_private = call is not None and call.params.authenticated
            cache_control = "no-store" if is_private else "private"
            pairs += [("Cache-Control", cache_control), ("Vary", CALLER)]

            if "vary" in names:
                vary(headers, CALLER)

        is_read = current.method in ("GET", "HEAD") and response.status_code == 200

        if is_read and response.is_sequence:
            pairs.append(("ETag", weak_etag(response)))

        # One slice takes a fraction of the time of a look-up and an addition for each.
        headers[len(headers) :] = [
            each for each in pairs if each[0].lower() not in names
        ]

        # A look-up of a header that is not there costs an exception.
        if is_read and "HTTP_IF_NONE_MATCH" in current.environ:
            # The application may have set another tag.
            if current.if_none_match.contains_weak(response.get_etag()[0] or ""):
                response.status_code = 304

        return response


def max_body_size(app: Flask, environ: WSGIEnvironment, *, default: int) -> int:
    """Return the bytes of a body that a service takes from the caller of a request, or
    the default if no service answers it.
    """
    with app.request_context(environ):
        current = current_request()
        view = app.view_functions.get(current.endpoint or "")
        blueprint: ServiceBlueprint | None = getattr(view, OWNER, None)
        return default if blueprint is None else blueprint.max_body_size(current)
