"""The routes of services in one application."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from flask import current_app
from flask import request_started
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.routing import Map
from werkzeug.routing import Rule

from .blueprint import current_request
from .blueprint import METHODS
from .placeholders import PLACEHOLDER
from .placeholders import rule_of
from .sent_paths import match
from .sent_paths import match_as_sent
from .sent_paths import sent_path
from .unknown_urls import UnknownURLs
from .yielding_routes import YieldingRoutes

if t.TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from flask import Blueprint
    from flask import Flask
    from flask import Request
    from flask.blueprints import BlueprintSetupState
    from werkzeug.routing import BaseConverter

    from .error_handler import ErrorHandler

EXTENSION: t.Final = "records_routes"
"""The key of ``app.extensions`` with the routes."""

ONE_PART: t.Final = "<>"
"""Stands for a placeholder of one part of a URL."""

MANY_PARTS: t.Final = "<*>"
"""Stands for a placeholder of all parts that follow."""

TAKEN: t.Final = """\
The service '{path}' and the view '{endpoint}' have the same URL: {verbs} {rule}. Give \
the service another path, or all services a prefix: FlaskRecords(url_prefix="/api").\
"""

WITHOUT_HOST: t.Final = """\
The service '{path}' has no host, and host_matching=True finds no rule without one. \
Use subdomain_matching=True and a blueprint with a subdomain, or serve it by an \
application of its own.\
"""

Shape: t.TypeAlias = "tuple[str, ...]"
"""The parts of a URL, with the same text for all placeholders of a kind."""


@dataclass(frozen=True)
class Mount:
    """The place of all services in an application."""

    url_prefix: str = ""
    """The beginning of their URLs, without a slash at its end."""

    name: str = ""
    """The name of the blueprint that has them, or nothing."""

    subdomain: str | None = None
    """The subdomain of their URLs."""

    @classmethod
    def of(cls, state: BlueprintSetupState, url_prefix: str) -> Mount:
        """Return the place in a blueprint that is being registered.

        :param url_prefix: The prefix after that of the blueprint.
        """
        prefix = join_prefixes(state.url_prefix, url_prefix)
        name = f"{state.name_prefix}.{state.name}".lstrip(".")
        return cls(prefix, name, state.subdomain)


class Routes:
    """Registers the blueprints of services, and refuses those that would take a URL of
    the application.

    A route has the verbs of its service and no others, so that the application may have
    views for the others, and lists of its routes are true. A request with another verb
    is answered by the service all the same.
    """

    def __init__(self, app: Flask, mount: Mount, errors: ErrorHandler) -> None:
        self.mount = mount
        """The place of the services."""
        self._paths: dict[str, str] = {}
        self._literal_paths: set[str] = set()
        self._parts: set[str] = set()
        self._names = Map(converters=app.url_map.converters)
        self._is_checked = False
        self._unknown = UnknownURLs(
            app, mount, errors, lambda path: self.service_at(path)[0] is not None
        )
        self._yielding = YieldingRoutes(app)
        app.extensions[EXTENSION] = self
        request_started.connect(self._begin, app, weak=False)

    def add(self, app: Flask, blueprint: Blueprint) -> None:
        """Register a blueprint in the place of the services."""
        prefix = join_prefixes(self.mount.url_prefix, blueprint.url_prefix or "")
        options = {"url_prefix": prefix or None, "subdomain": self.mount.subdomain}
        app.register_blueprint(blueprint, name_prefix=self.mount.name, **options)

    def add_service(self, app: Flask, path: str, blueprint: Blueprint) -> None:
        """Register the blueprint of a service.

        :param path: The path of the service.
        :raises RuntimeError: The application has a view with the same URL.
        """
        self.add(app, blueprint)
        name = f"{self.mount.name}.{blueprint.name}".lstrip(".")
        self._paths |= {f"{name}.{kind}": path for kind in ("many", "one")}
        self._parts |= set(path.split("/"))
        rule = rule_of(path)
        self._names.add(Rule(rule, endpoint=path))

        if "<" not in rule:
            self._literal_paths.add(path)

        self._is_checked = False
        self.check(app)

    def add_pages(
        self, app: Flask, blueprint: Blueprint, is_on: Callable[[Flask], bool]
    ) -> None:
        """Register a blueprint whose ``build_only`` rules answer URLs that no view and
        no service has.

        :param is_on: Returns whether the application has these pages: a function of the
            application.
        """
        self.add(app, blueprint)
        name = f"{self.mount.name}.{blueprint.name}".lstrip(".")

        for rule in app.url_map.iter_rules():
            if rule.build_only and rule.endpoint.startswith(f"{name}."):
                self._yielding.add(rule, is_on)

    def check(self, app: Flask) -> None:
        """Check that requests reach the services, and that no view of the application
        has a URL of one.

        :raises RuntimeError: One has, and the message names both, or the application
            matches hosts and a service has none.
        """
        services: list[tuple[Rule, Shape]] = []
        views: dict[tuple[t.Any, ...], list[Rule]] = {}

        for rule in app.url_map.iter_rules():
            shape = _shape_of(rule, app.url_map.converters)

            if rule.endpoint in self._paths:
                services.append((rule, shape))
            elif not rule.build_only:
                views.setdefault((rule.subdomain, rule.host, shape), []).append(rule)

        for rule, shape in services:
            if app.url_map.host_matching and rule.host is None:
                path = self._paths[rule.endpoint]
                raise RuntimeError(WITHOUT_HOST.format(path=path))

            for taken in _shapes_that_take(shape):
                for view in views.get((rule.subdomain, rule.host, taken), ()):
                    self._refuse(rule, view)

    def endpoint_of(self, path: str) -> str:
        """Return the endpoint of a service, for ``url_for``.

        :param path: The path of the service.
        """
        names = [name for name, its in self._paths.items() if its == path]
        return next(name for name in names if name.endswith(".many"))

    def service_at(self, path: str) -> tuple[str | None, dict[str, t.Any]]:
        """Return the path of the service with a name, if any, and its placeholders.

        :param path: Its path without the prefix of URLs, as clients of sockets name it.
        """
        path = path.strip("/")

        # This saves the search. Paths without placeholders come before others there.
        if path in self._literal_paths:
            return path, {}

        try:
            found, route = self._names.bind("").match(f"/{path}")
        except HTTPException:
            return None, {}

        return t.cast("str", found), dict(route)

    def _refuse(self, rule: Rule, view: Rule) -> None:
        """Refuse a service that has a verb of a view.

        :raises RuntimeError: It has.
        """
        verbs = _verbs_of(rule) & _verbs_of(view)

        if verbs:
            path, shown = self._paths[rule.endpoint], ", ".join(sorted(verbs))
            endpoint = view.endpoint
            raise RuntimeError(
                TAKEN.format(path=path, endpoint=endpoint, verbs=shown, rule=view.rule)
            )

    def _begin(self, app: Flask, **options: t.Any) -> None:
        """Find the service of a request by the path that was sent. It answers the verbs
        that it does not have, too.

        :raises RuntimeError: A view that was added late has a URL of a service.
        """
        if not self._is_checked:
            self.check(app)
            rules = app.url_map.iter_rules()
            self._unknown.look_up([r for r in rules if r.endpoint not in self._paths])
            self._is_checked = True

        current = current_request()
        match_as_sent(app, current)

        if current.method in METHODS and self._is_doubtful(current):
            self._route_by_others(app, current)

        if current.url_rule is None and not self._yielding.answer(app, current):
            self._unknown.answer(app, current)

    def _is_doubtful(self, current: Request) -> bool:
        """Return whether another service may have the URL but not the verb."""
        rule = current.url_rule

        if rule is None:
            is_refused = isinstance(current.routing_exception, MethodNotAllowed)
            return is_refused or sent_path(current.environ) is not None

        if rule.endpoint not in self._paths:
            return False

        values = map(str, (current.view_args or {}).values())
        return not self._parts.isdisjoint(values)

    def _route_by_others(self, app: Flask, current: Request) -> None:
        """Route the request as one with another verb that reaches a service, if any."""
        # All routes of services have OPTIONS.
        for method in ("OPTIONS",) if current.url_rule else ("OPTIONS", *METHODS):
            if self._route(app, current, method):
                return

    def _route(self, app: Flask, current: Request, method: str) -> bool:
        """Route the request as one with another verb, if that reaches a service."""
        try:
            rule, values = match(app, current, method)
        except (HTTPException, UnicodeError):
            return False

        if rule.endpoint not in self._paths:
            return False

        current.url_rule, current.view_args = rule, values
        current.routing_exception = None
        return True


def routes_of(app: Flask) -> Routes:
    """Return the routes of services in an application."""
    return t.cast("Routes", app.extensions[EXTENSION])


def current_routes() -> Routes:
    """Return the routes of services in the current application."""
    return routes_of(current_app)


def join_prefixes(first: str | None, second: str) -> str:
    """Return two prefixes of URLs as one, without a slash at its end."""
    parts = [part.strip("/") for part in (first or "", second)]
    return "".join(f"/{part}" for part in parts if part)


def _verbs_of(rule: Rule) -> set[str]:
    return (rule.methods or set(METHODS)) - {"HEAD", "OPTIONS"}


def _shape_of(rule: Rule, converters: Mapping[str, type[BaseConverter]]) -> Shape:
    def stand_in(match: re.Match[str]) -> str:
        converter = converters[match["converter"] or "default"]
        return ONE_PART if converter.part_isolating else MANY_PARTS

    return tuple(PLACEHOLDER.sub(stand_in, rule.rule).strip("/").split("/"))


def _shapes_that_take(shape: Shape) -> Iterator[Shape]:
    """Yield the shapes of rules that match the URLs of a rule as closely as it does."""
    yield shape

    for size in range(len(shape) - 1, -1, -1):
        if shape[size] != ONE_PART:
            return

        yield (*shape[:size], MANY_PARTS)
