"""The page of the explorer on an application, with its files and its data."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from pathlib import Path

from flask import (
    abort,
    current_app,
    make_response,
    render_template,
    request,
    send_from_directory,
)

from ..authentication.access import params_of_visitor
from ..http.developer_pages import page_blueprint, PageSettings, protect, send_json
from ..http.formatter import dumps
from ..http.routes import join_prefixes, placeholders_of, routes_of
from .data import entrance, service_for, services_for

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Blueprint, Flask, Response
    from flask.typing import ResponseReturnValue

    from ..context import Params
    from ..extension import FlaskRecords
    from ..http.error_handler import ErrorHandler

SETTING: t.Final = "RECORDS_EXPLORER"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_explorer"
"""The name of the blueprint, and the key of ``app.extensions`` with the settings."""

FILES: t.Final = Path(__file__).parent / "static"
"""The folder of the files of the page."""

CLIENTS: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the files for all pages, such as the official client."""

SHARED: t.Final = ("feathers.min.js", "socket.io.min.js")
"""The files for all pages that this one loads, too."""

IMAGES: t.Final = "'self' data: blob:"
"""The sources of images: records may have some in binary fields."""


class Explorer:
    """Gives applications a page on which developers see, query and change records. It
    calls the services as the user who is logged in there, and has no right of its own.

    It is there in debug mode. Otherwise it is there if ``allow`` tells for whom, or
    ``RECORDS_EXPLORER`` has ``{"enabled": True}``.

    :param records: The extension with the services.
    :param app: The application to set up. Call :meth:`init_app` if there is none yet.
    :param url_prefix: The path of the page.
    :param allow: Returns whether a user gets data: a function of the user. It needs a
        login. By default all do, each what the services show to the user.
    :raises TypeError: ``allow`` is not a function.
    """

    def __init__(
        self,
        records: FlaskRecords,
        app: Flask | None = None,
        *,
        url_prefix: str = "/_records",
        allow: Callable[[t.Any], t.Any] | None = None,
    ) -> None:
        if allow is not None and not callable(allow):
            raise TypeError(f"'allow' must be a function of the user, not {allow!r}.")

        self._records = records
        self._url_prefix = join_prefixes(None, url_prefix)
        self._allow = allow

        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Set up an application. Call it after :meth:`.FlaskRecords.init_app`.

        :param app: The application.
        :raises RuntimeError: The application has no services of the extension, or an
            explorer already, a service has its URL, or a setting is not valid.
        """
        if app.extensions.get("records") is not self._records:
            raise RuntimeError(
                "The explorer shows the services of an application: call"
                " records.init_app(app) before explorer.init_app(app)."
            )

        if NAME in app.extensions:
            raise RuntimeError("This app has an Explorer already.")

        self._check_placeholders(app)
        settings = PageSettings.of(app.config.get(SETTING), SETTING)
        settings = replace(settings, allow=settings.allow or self._allow)
        app.extensions[NAME] = settings

        if settings.enabled is not False:
            app.register_blueprint(
                _blueprint(self._records.errors),
                url_prefix=self._url_prefix or None,
                subdomain=routes_of(app).mount.subdomain,
            )
            routes_of(app).check(app)

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the page now.

        :param app: The application.
        """
        return NAME in app.extensions and _settings_of(app).is_on(app)

    def _check_placeholders(self, app: Flask) -> None:
        """Refuse a path of the page that does not tell where the services are."""
        prefix = routes_of(app).mount.url_prefix
        own = placeholders_of(self._url_prefix)
        missing = [name for name in placeholders_of(prefix) if name not in own]

        if missing:
            example = f"{prefix}/_records"
            raise RuntimeError(
                f"The services are below {prefix!r}. Give the explorer a path with the"
                f" same placeholders: Explorer(records, url_prefix={example!r})."
            )


def _blueprint(errors: ErrorHandler) -> Blueprint:
    """Return the blueprint of the page.

    :param errors: Answers errors of the page.
    """
    blueprint = page_blueprint(NAME, __package__, errors)
    blueprint.before_request(_refuse_if_off)
    blueprint.add_url_rule("/", "page", _send_page)
    blueprint.add_url_rule("/files/<path:name>", "file", _send_file)
    blueprint.add_url_rule("/logins.json", "entrance", _send_entrance)
    blueprint.add_url_rule("/services.json", "services", _send_services)
    blueprint.add_url_rule("/service.json", "service", _send_service)
    return blueprint


def _settings_of(app: Flask) -> PageSettings:
    return t.cast("PageSettings", app.extensions[NAME])


def _refuse_if_off() -> None:
    if not _settings_of(current_app).is_on(current_app):
        abort(404)


def _send_page(**route: t.Any) -> ResponseReturnValue:
    page = render_template(
        "flask_records/explorer.html",
        name=current_app.name,
        styles=_names("*.css", "views/*.css"),
        modules=_names("*.js", "views/*.js"),
    )
    return protect(make_response(page), images=IMAGES)


def _send_file(name: str, **route: t.Any) -> Response:
    folder = CLIENTS if name in SHARED else FILES
    # Modules name each other without a version, so that none may be kept unchecked.
    return send_from_directory(folder, name, max_age=0)


def _send_entrance(**route: t.Any) -> Response:
    return send_json(dumps(entrance(route)))


def _send_services(**route: t.Any) -> Response:
    return send_json(dumps(services_for(_allowed_visitor(), route)))


def _send_service(**route: t.Any) -> Response:
    return send_json(
        dumps(service_for(_allowed_visitor(), request.args.get("path", "")))
    )


def _allowed_visitor() -> Params:
    """Return the params of the caller, who may see data."""
    params = params_of_visitor(request.headers)
    _settings_of(current_app).check(params)
    return params


def _names(*patterns: str) -> list[str]:
    """Return the names of files of the page, which match patterns."""
    found = [path for pattern in patterns for path in sorted(FILES.glob(pattern))]
    return [path.relative_to(FILES).as_posix() for path in found]
