"""A short way from the URL of a service to its view.

Werkzeug binds its map to each request and walks it: a sixth of the time of a get. The
URLs of services without placeholders are looked up in a dict here. Flask does all that
follows: contexts, sessions, signals, functions after requests, teardown, errors. Its
look for functions before requests, another twenty-fifth, is left out where there are
none. Werkzeug matches a request as always where anything else could be meant:

- a path in other than ASCII, with another number of slashes, or a verb of no method;
- a host that was not seen before, which Werkzeug checks, or a WebSocket;
- an application in debug mode, with ``TRUSTED_HOSTS``, hosts or subdomains in its
  rules, or with a ``create_url_adapter`` of its own;
- a rule of the application below the URL of a service.

Flask dispatches a request itself where the application or the blueprint has functions
before requests or URL processors, or where its methods are not Flask's own.
"""

from __future__ import annotations

import typing as t
from types import FunctionType

from flask import Flask, request_finished, request_started
from flask.globals import request_ctx

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Request, Response
    from werkzeug.routing import MapAdapter, Rule

MAX_HOSTS: t.Final = 1000
"""The number of names of hosts that are remembered."""

PLACEHOLDER: t.Final = "<"
"""The beginning of a placeholder in a URL rule."""

DISPATCHING: t.Final = (
    *("full_dispatch_request", "preprocess_request", "dispatch_request"),
    *("make_response", "finalize_request", "handle_user_exception", "ensure_sync"),
)
"""The methods of an application between the match of a request and its response."""


class Lane:
    """The URLs of services in one application, looked up before its URL map.

    :param app: The application, whose ``create_url_adapter`` this replaces, and its
        ``full_dispatch_request``.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._fallback = app.create_url_adapter
        self._dispatch = app.full_dispatch_request
        self._is_usual = type(app).create_url_adapter is Flask.create_url_adapter
        self._rules: dict[str, Rule] = {}
        self._below: dict[str, tuple[Rule, str]] = {}
        self._hosts: set[str] = set()
        self._names: set[str | None] = set()
        t.cast("t.Any", app).create_url_adapter = self.create_url_adapter

    def open(self, endpoints: Collection[str]) -> None:
        """Look up services by their URLs from now on, given their endpoints."""
        app, rules = self._app, {}
        self._rules, self._below = {}, {}

        if (
            not self._is_usual
            or app.debug
            or app.subdomain_matching
            or app.url_map.host_matching
            or app.config["TRUSTED_HOSTS"] is not None
        ):
            return

        others = []

        for rule in app.url_map.iter_rules():
            if rule.endpoint in endpoints:
                rules[rule.rule] = rule
            else:
                others.append(rule.rule.partition(PLACEHOLDER)[0])

        for text, rule in rules.items():
            url, _, placeholder = text.partition(f"/{PLACEHOLDER}")

            if not placeholder:
                self._rules[url] = rule
            elif (
                placeholder[:-1].isidentifier()
                and url in rules
                and not any(each.startswith(f"{url}/") for each in others)
            ):
                self._below[url] = rule, placeholder.rstrip(">")

        self._names = {None, *[each.rpartition(".")[0] for each in endpoints]}

        if _dispatches_as_flask(app):
            t.cast("t.Any", app).full_dispatch_request = self.full_dispatch_request

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the adapter that matches a request, if there is one.

        :raises werkzeug.exceptions.HTTPException: The host is not valid.
        """
        if request is None:
            return self._fallback(request)

        environ = request.environ
        host, path = environ.get("HTTP_HOST"), environ["PATH_INFO"]

        if host not in self._hosts:
            adapter = self._fallback(request)

            if host is not None and len(self._hosts) < MAX_HOSTS:
                self._hosts.add(host)

            return adapter

        match = self._rule_of(path)

        if (
            match is None
            or environ["REQUEST_METHOD"] not in (match[0].methods or ())
            or "HTTP_UPGRADE" in environ
            or not path.isascii()
        ):
            return self._fallback(request)

        return ServiceAdapter(self._fallback, request, match)  # type: ignore[return-value]  # it has what Flask asks for

    def full_dispatch_request(self) -> Response:
        """Return the response to the current request."""
        app: t.Any = self._app
        context = request_ctx._get_current_object()  # type: ignore[attr-defined]  # a proxy has it

        if (
            not isinstance(context.url_adapter, ServiceAdapter)
            or not self._names.isdisjoint(app.before_request_funcs)
            or not self._names.isdisjoint(app.url_value_preprocessors)
        ):
            return self._dispatch()

        current = context.request

        try:
            request_started.send(app, _async_wrapper=app.ensure_sync)
            result = app.view_functions[current.endpoint](**current.view_args)
        except Exception as error:
            failure: Response = app.finalize_request(app.handle_user_exception(error))
            return failure

        response: Response = app.process_response(app.make_response(result))
        request_finished.send(app, _async_wrapper=app.ensure_sync, response=response)
        return response

    def _rule_of(self, path: str) -> tuple[Rule, dict[str, t.Any]] | None:
        rule = self._rules.get(path)

        if rule is not None:
            return rule, {}

        url, _, value = path.rpartition("/")
        below = self._below.get(url)

        if below is None or not value:
            return None

        return below[0], {below[1]: value}


class ServiceAdapter:
    """The adapter of a request for a service. It has matched already, and is Werkzeug's
    for all else, such as ``url_for``.
    """

    def __init__(
        self, create: t.Any, request: Request, match: tuple[Rule, dict[str, t.Any]]
    ) -> None:
        self._create = create
        self._request = request
        self._match = match
        self._adapter: MapAdapter | None = None

    def match(self, *args: t.Any, **options: t.Any) -> t.Any:
        """Return what Werkzeug's adapter would match."""
        if args or options != {"return_rule": True}:
            return self.__getattr__("match")(*args, **options)

        return self._match

    def __getattr__(self, name: str) -> t.Any:
        if self._adapter is None:
            self._adapter = self._create(self._request)

        return getattr(self._adapter, name)


def _dispatches_as_flask(app: Flask) -> bool:
    """Return ``True`` if nobody has changed how an application dispatches requests, as
    tools do that measure it.
    """
    methods = [getattr(type(app), name) for name in DISPATCHING]
    return vars(app).keys().isdisjoint(DISPATCHING) and all(
        type(method) is FunctionType
        and method.__module__ in ("flask.app", "flask.sansio.app")
        and not hasattr(method, "__wrapped__")
        for method in methods
    )
