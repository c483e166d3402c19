"""Routes that all others of an application come before."""

from __future__ import annotations

import typing as t

from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask
    from flask import Request
    from werkzeug.routing import Rule


class YieldingRoutes:
    """Routes of pages that are in nobody's way: they answer URLs that no view and no
    service has, whichever was added first.

    Their rules in the application are ``build_only``, so that ``url_for`` knows them.
    """

    def __init__(self, app: Flask) -> None:
        self._urls = Map(converters=app.url_map.converters, merge_slashes=False)
        self._rules: dict[str, Rule] = {}
        self._is_on: dict[str, Callable[[Flask], bool]] = {}

    def add(self, rule: Rule, is_on: Callable[[Flask], bool]) -> None:
        """Add a rule of the application.

        :param is_on: Returns whether the application has the page: a function of the
            application.
        """
        own = rule.empty()
        own.build_only, own.strict_slashes = False, False
        self._urls.add(own)
        self._rules[rule.endpoint] = rule
        self._is_on[rule.endpoint] = is_on

    def answer(self, app: Flask, current: Request) -> bool:
        """Route a request that no other route answers, and return whether one of these
        does.
        """
        if not isinstance(current.routing_exception, NotFound):
            return False

        try:
            adapter = app.create_url_adapter(current)
            assert adapter is not None
            here = self._urls.bind("", subdomain=adapter.subdomain)
            endpoint, values = here.match(current.path, current.method)
        except HTTPException:
            return False

        if not self._is_on[endpoint](app):
            return False

        current.url_rule, current.view_args = self._rules[endpoint], dict(values)
        current.routing_exception = None
        return True
