"""A short way from the URL of a service to its view.

Werkzeug binds its map to each request and walks it: a sixth of the time of a get. The
URLs of services without placeholders are looked up in a dict here. Flask does all that
follows. Werkzeug matches a request as always where anything else could be meant:

- a path in other than ASCII, with another number of slashes, or a verb of no method;
- a host that was not seen before, which Werkzeug checks, or a WebSocket;
- an application in debug mode, with ``TRUSTED_HOSTS``, hosts or subdomains in its
  rules, or with a ``create_url_adapter`` of its own;
- a rule of the application below the URL of a service.
"""

from __future__ import annotations

import typing as t

from flask import Flask

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Request
    from werkzeug.routing import MapAdapter, Rule

MAX_HOSTS: t.Final = 1000
"""The number of names of hosts that are remembered."""

ID: t.Final = "record_id_"
"""The placeholder of the identifier in URL rules."""

PLACEHOLDER: t.Final = "<"
"""The beginning of a placeholder in a URL rule."""


class Lane:
    """The URLs of services in one application, whose ``create_url_adapter`` this
    replaces.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._fallback = app.create_url_adapter
        self._is_usual = type(app).create_url_adapter is Flask.create_url_adapter
        self._rules: dict[str, Rule] = {}
        self._below: dict[str, Rule] = {}
        self._hosts: set[str] = set()
        t.cast("t.Any", app).create_url_adapter = self.create_url_adapter

    def open(self, blueprints: Collection[str]) -> None:
        """Look up services by their URLs from now on, given the names of blueprints."""
        app = self._app
        self._rules, self._below = {}, {}

        if (
            not self._is_usual
            or app.debug
            or app.subdomain_matching
            or app.url_map.host_matching
            or app.config["TRUSTED_HOSTS"] is not None
        ):
            return

        rules = {rule.endpoint: rule for rule in app.url_map.iter_rules()}
        services = [(rules[f"{n}.many"], rules[f"{n}.one"]) for n in blueprints]
        endpoints = {rule.endpoint for pair in services for rule in pair}
        others = [
            rule.rule.partition(PLACEHOLDER)[0]
            for rule in app.url_map.iter_rules()
            if rule.endpoint not in endpoints
        ]

        for many, one in services:
            url = many.rule

            if PLACEHOLDER not in url:
                self._rules[url] = many

                if not any(each.startswith(f"{url}/") for each in others):
                    self._below[url] = one

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return the adapter that matches a request, if there is one."""
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

    def _rule_of(self, path: str) -> tuple[Rule, dict[str, t.Any]] | None:
        if rule := self._rules.get(path):
            return rule, {}

        url, _, value = path.rpartition("/")
        below = self._below.get(url)
        return (below, {ID: value}) if below and value else None


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
