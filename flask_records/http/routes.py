"""The routes of services in one application."""

from __future__ import annotations

import re
import typing as t
from functools import cached_property

from flask import current_app, request_started
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from .lane import Lane

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Blueprint, Flask


EXTENSION: t.Final = "records_routes"
"""The key of ``app.extensions`` with the routes."""

PLACEHOLDER = re.compile(r"<(?:(?P<converter>\w+)(?:\([^<>]*\))?:)?(?P<name>\w+)>")
"""A placeholder of a URL rule."""

COLON_PLACEHOLDER = re.compile(r"(^|/):(\w+)")
"""A placeholder of a path as FeathersJS has it."""

SAME_URL: t.Final = """\
The views '{}' and '{}' have the same URL: {}. Give one of them another path, or all \
services a prefix: FlaskRecords(url_prefix="/api"). RECORDS_OPENAPI has the paths of \
the OpenAPI document and its page.\
"""

NO_HOST: t.Final = """\
The view '{}' has no host, and this application matches hosts: no request would reach \
it. Give the application a 'url_rule_class' that has a host for such rules.\
"""


class Routes:
    """Registers blueprints, and refuses those with a URL of another view."""

    def __init__(self, app: Flask, url_prefix: str) -> None:
        self.url_prefix = join_prefixes(url_prefix)
        """The beginning of the URLs of all services, without a slash at its end."""
        self._blueprints: set[str] = set()
        self._endpoints: dict[str, str] = {}
        self._converters = app.url_map.converters
        self._lane = Lane(app)
        app.extensions[EXTENSION] = self

    def add(self, app: Flask, blueprint: Blueprint) -> str:
        """Register a blueprint below the prefix of services, and return its name."""
        prefix = join_prefixes(self.url_prefix, blueprint.url_prefix or "")
        app.register_blueprint(blueprint, url_prefix=prefix or None)
        request_started.connect(self._begin, app, weak=False)
        self._blueprints.add(blueprint.name)
        return blueprint.name

    def add_service(self, app: Flask, path: str, blueprint: Blueprint) -> None:
        """Register the blueprint of the service at a path."""
        self._endpoints[path] = f"{self.add(app, blueprint)}.many"
        vars(self).pop("_names", None)

    def check(self, app: Flask) -> None:
        """Check that requests reach the services, and that no other view of the
        application has a URL of a service.
        """
        rules: dict[tuple[str, str, str], Rule] = {}

        for rule in app.url_map.iter_rules():
            if rule.build_only:
                continue

            other = rules.setdefault(_place_of(rule), rule)
            names = {_blueprint_of(rule.endpoint), _blueprint_of(other.endpoint)}

            if self._blueprints.isdisjoint(names):
                continue

            if app.url_map.host_matching and not rule.host:
                raise RuntimeError(NO_HOST.format(rule.endpoint))

            if len(names) > 1:
                endpoints = other.endpoint, rule.endpoint
                raise RuntimeError(SAME_URL.format(*endpoints, rule.rule))

    def endpoint_of(self, path: str) -> str:
        """Return the endpoint of the service at a path, for ``url_for``."""
        return self._endpoints[path]

    @cached_property
    def _names(self) -> Map:
        """The URL rules of the services, without the prefix. Sockets alone need it."""
        rules = [Rule(rule_of(path), endpoint=path) for path in self._endpoints]
        return Map(rules, converters=self._converters)

    def service_at(self, path: str) -> tuple[str | None, dict[str, t.Any]]:
        """Return the path of the service that clients of sockets name, if any, and its
        placeholders.
        """
        try:
            endpoint, route = self._names.bind("").match(f"/{path.strip('/')}")
        except HTTPException:
            return None, {}

        return t.cast("str", endpoint), dict(route)

    def _begin(self, app: Flask, **options: t.Any) -> None:
        """Check the views that were added since, before the first request."""
        self.check(app)
        # Blinker looks anew at each send if a receiver is async.
        request_started.disconnect(self._begin, app)
        self._lane.open([_blueprint_of(each) for each in self._endpoints.values()])


def routes_of(app: Flask) -> Routes:
    """Return the routes of services in an application."""
    return t.cast("Routes", app.extensions[EXTENSION])


def current_routes() -> Routes:
    """Return the routes of services in the current application."""
    return routes_of(current_app)


def join_prefixes(*prefixes: str) -> str:
    """Return prefixes of URLs as one, without a slash at its end."""
    parts = [prefix.strip("/") for prefix in prefixes]
    return "".join(f"/{part}" for part in parts if part)


def rule_of(path: str) -> str:
    """Return the URL rule of a service, without a prefix."""
    return "/" + COLON_PLACEHOLDER.sub(r"\1<\2>", path)


def placeholders_of(rule: str) -> list[str]:
    """Return the names of the placeholders in a URL rule, in their order."""
    return [match["name"] for match in PLACEHOLDER.finditer(rule)]


def fill_placeholders(rule: str, value_of: Callable[[str], str]) -> str:
    """Return a URL rule with values of its placeholders, by a function of the name."""
    return PLACEHOLDER.sub(lambda match: value_of(match["name"]), rule)


def _place_of(rule: Rule) -> tuple[str, str, str]:
    """Return the same value for all rules of a URL, whatever their placeholders."""
    path = PLACEHOLDER.sub("<>", rule.rule).strip("/")
    return rule.subdomain or "", rule.host or "", path


def _blueprint_of(endpoint: str) -> str:
    """Return the name of the blueprint that has an endpoint, or nothing."""
    return endpoint.rpartition(".")[0]
