"""URLs below those of services that nothing answers."""

from __future__ import annotations

import typing as t

from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map
from werkzeug.routing import Rule

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Iterable

    from flask import Flask
    from flask import Request

    from .error_handler import ErrorHandler
    from .routes import Mount

REST: t.Final = "rest_"
"""The placeholder of the path below the prefix."""

ALL: t.Final = f"/<path:{REST}>"


class UnknownURLs:
    """Answers requests for an unknown service, or for an unknown path below a service,
    as services answer errors. All other URLs are those of the application, and so are
    these if the client asks for HTML.

    :param is_service: Returns whether a path without the prefix is that of a service.
    """

    def __init__(
        self,
        app: Flask,
        mount: Mount,
        errors: ErrorHandler,
        is_service: Callable[[str], bool],
    ) -> None:
        self._mount = mount
        self._errors = errors
        self._is_service = is_service
        prefix = mount.url_prefix
        rules = [Rule(f"{prefix}{ALL}", endpoint=REST)]

        if prefix:
            rules.append(Rule(prefix, endpoint=REST, strict_slashes=False))

        self._below = Map(rules, converters=app.url_map.converters, merge_slashes=False)
        self._names: Collection[str] = ()

    def look_up(self, rules: Iterable[Rule]) -> None:
        """Look up the names below the prefix that views of the application have.

        :param rules: The URL rules of the views.
        """
        start = f"{self._mount.url_prefix}/"
        urls = [rule.rule for rule in rules if not rule.build_only]
        below = [url.removeprefix(start) for url in urls if url.startswith(start)]
        self._names = {rule.partition("/")[0] for rule in below}

    def answer(self, app: Flask, current: Request) -> None:
        """Let a request that matches no route end in an error of services, if its URL
        is below theirs.
        """
        error = current.routing_exception
        path = self._path_of(app, current)

        if path is None or not isinstance(error, (NotFound, MethodNotAllowed)):
            return

        # A view for all paths may not have the verb.
        is_unknown = isinstance(error, NotFound) or not self._is_of_service(path)

        if is_unknown and self._is_below(path):
            current.routing_exception = self._errors.unknown_url() or error

    def _path_of(self, app: Flask, current: Request) -> str | None:
        """Return the path below the prefix, if the request is for that place."""
        adapter = app.create_url_adapter(current)
        subdomain = self._mount.subdomain or app.url_map.default_subdomain

        if adapter is None or adapter.subdomain != subdomain:
            return None

        try:
            values = self._below.bind("").match(current.path)[1]
        except HTTPException:
            return None

        return t.cast("str", values.get(REST, ""))

    def _is_of_service(self, path: str) -> bool:
        """Return whether a path is that of a service, or below one."""
        parts = path.split("/")
        return any(
            [self._is_service("/".join(parts[: n + 1])) for n in range(len(parts))]
        )

    def _is_below(self, path: str) -> bool:
        """Return whether a path that nothing answers belongs to services."""
        has_prefix = bool(self._mount.url_prefix)
        is_free = has_prefix and path.partition("/")[0] not in self._names
        return is_free or self._is_of_service(path)
