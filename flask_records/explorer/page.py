"""The page of the explorer on an application, with its files and its data."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

from flask import current_app, make_response, render_template, request

from ..authentication.access import params_of_visitor
from ..errors import Forbidden
from ..extension import current_records
from ..http.developer_pages import (
    modules_of,
    page_blueprint,
    PageSettings,
    protect,
    send_json,
)
from ..http.formatter import dumps
from ..http.qs import parse
from ..http.routes import join_prefixes, placeholders_of, routes_of
from ..openapi.reference import current_title
from ..query.bounds import current_bounds
from .data import entrance, find_as, log_out, service_for, services_for

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask, Response

    from ..extension import FlaskRecords
    from ..http.developer_pages import Views
    from ..service.context import Params

SETTING: t.Final = "RECORDS_EXPLORER"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_explorer"
"""The name of the blueprint, and the key of ``app.extensions`` with the settings."""

FILES: t.Final = Path(__file__).parent / "static"
"""The folder of the files of the page."""

CONNECTIONS: t.Final = 6
"""Files that browsers load at the same time: the style, and the first modules."""

EARLY_VIEWS: t.Final = {"": "views/services.js", "records": "views/records.js"}
"""Views whose modules are loaded before all others."""


class Explorer:
    """Gives applications a page on which developers see, query and change records. It
    calls the services as the user who is logged in there, and has no right of its own.

    It is there if the application is in debug mode when it is set up, ``allow`` says
    for whom, or ``RECORDS_EXPLORER`` has ``{"enabled": True}``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    :param url_prefix: The path of the page.
    :param allow: Returns ``True`` for users who get data: a function of the user. It
        needs a login. By default all do, each what the services show to the user.
    :param as_user: Returns ``True`` for users who may see what others find: a function
        of the user. Nobody by default.
    :raises TypeError: ``allow`` or ``as_user`` is not a function.
    """

    def __init__(
        self,
        records: FlaskRecords,
        app: Flask | None = None,
        *,
        url_prefix: str = "/_records",
        allow: Callable[[t.Any], t.Any] | None = None,
        as_user: Callable[[t.Any], t.Any] | None = None,
    ) -> None:
        for name, rule in {"allow": allow, "as_user": as_user}.items():
            if rule is not None and not callable(rule):
                raise TypeError(
                    f"'{name}' must be a function of the user, not {rule!r}."
                )

        self._records = records
        self._url_prefix = join_prefixes(url_prefix)
        self._allow, self._as_user = allow, as_user

        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Set up an application. Call it after :meth:`.FlaskRecords.init_app`.

        :param app: The application.
        :raises RuntimeError: The application has no services of the extension, or an
            explorer already, there are placeholders in a prefix of URLs, a service has
            its URL, or a setting is not valid.
        """
        if app.extensions.get("records") is not self._records:
            raise RuntimeError(
                "The explorer shows the services of an application: call"
                " records.init_app(app) before explorer.init_app(app)."
            )

        if NAME in app.extensions:
            raise RuntimeError("This app has an Explorer already.")

        if placeholders_of(routes_of(app).url_prefix + self._url_prefix):
            raise RuntimeError(
                "The explorer is for services whose URL prefix has no placeholders, and"
                " has none itself."
            )

        settings = PageSettings.of(app.config.get(SETTING), SETTING)
        allow = settings.allow or self._allow
        settings = replace(settings, allow=allow, as_user=self._as_user)
        app.extensions[NAME] = settings

        if settings.is_on(app):
            errors, prefix = self._records.errors, self._url_prefix or None
            pages = page_blueprint(NAME, __package__, errors, "/files", VIEWS)
            # No form of another site sends this method.
            pages.delete("/logins/<user>")(_log_out)
            app.register_blueprint(pages, url_prefix=prefix)
            routes_of(app).check(app)

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the page."""
        return NAME in app.blueprints


def _send_page() -> Response:
    first = modules_of(FILES, "requests.js", "main.js")[: CONNECTIONS - 1]
    modules = {
        view: [each for each in modules_of(FILES, "main.js", name) if each not in first]
        for view, name in EARLY_VIEWS.items()
    }
    files = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*.js")}
    modules["others"] = sorted(files.difference(first))
    names = {"name": current_title(), "first": first, "modules": modules}
    page = render_template("flask_records/explorer.html", **names)
    # Records may have images in binary fields.
    return protect(make_response(page), images="'self' data: blob:")


def _send_services() -> Response:
    params = _check_visitor()
    services = services_for(params, request.args.get("path", ""))
    services["hasOthers"] = _may_see_others(params)
    return send_json(dumps(services))


def _send_service() -> Response:
    path = request.args.get("path", "")
    return send_json(dumps(service_for(_check_visitor(), path)))


def _send_found_by(user: str, path: str) -> Response:
    params = _check_visitor()

    if not _may_see_others(params):
        raise Forbidden("You may not see what other users see.")

    query = parse(request.query_string.decode("utf-8", "replace"))
    current_bounds().check_query(query)
    return send_json(dumps(find_as(params, user, path, query)))


def _log_out(user: str) -> Response:
    log_out(_check_visitor(), user)
    return send_json(dumps({}))


def _may_see_others(params: Params) -> bool:
    """Return whether a caller sees what other users see. A login for some calls only,
    or at another authentication service than the first, does not.
    """
    settings: PageSettings = current_app.extensions[NAME]
    issuer = next(iter(current_records.authentications.values()), None)
    is_own = params.authenticated and params.authenticator is issuer
    is_whole = (params.authentication or {}).get("scopes") is None
    return is_own and is_whole and settings.lets(settings.as_user, params)


def _check_visitor() -> Params:
    """Return the params of the caller, who may see data."""
    params = params_of_visitor(request.headers)
    current_app.extensions[NAME].check(params)
    return params


VIEWS: t.Final[Views] = {
    "page": ("/", _send_page),
    "entrance": ("/logins.json", lambda: send_json(dumps(entrance()))),
    "services": ("/services.json", _send_services),
    "service": ("/service.json", _send_service),
    "found_by": ("/found-by/<user>/<path:path>", _send_found_by),
}
"""The views of the page with their paths, by the names of their endpoints."""
