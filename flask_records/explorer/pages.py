"""The page of the explorer, its files, and what it shows, over HTTP."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from flask import abort
from flask import Blueprint
from flask import current_app
from flask import make_response
from flask import redirect
from flask import render_template
from flask import request
from flask import send_from_directory

from ..authentication.visitors import params_of_visitor
from ..http.developer_pages import PageSettings
from ..http.developer_pages import protect
from ..http.formatter import dumps
from ..http.formatter import json_response
from ..http.headers import CALLER
from ..http.headers import forbid_sniffing
from ..http.headers import vary
from .description import description_for
from .description import entrance

if t.TYPE_CHECKING:
    from flask import Flask
    from flask import Response
    from flask.typing import ResponseReturnValue

    from ..http.error_handler import ErrorHandler

SETTING: t.Final = "RECORDS_EXPLORER"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_explorer"
"""The name of the blueprint."""

FILES: t.Final = Path(__file__).parent / "static"
"""The folder of the files of the page."""

CLIENTS: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the files for all pages, such as the official client."""

SHARED: t.Final = ("feathers.min.js", "socket.io.min.js")
"""The files for all pages that this one loads, too."""

IMAGES: t.Final = "'self' data: blob:"
"""The sources of images: records may have some in binary fields."""


@dataclass(frozen=True, kw_only=True)
class ExplorerSettings(PageSettings):
    """The settings of an application: ``RECORDS_EXPLORER``."""

    def is_on(self, app: Flask) -> bool:
        """Return whether an application has the explorer: in debug mode, or for those
        whom ``allow`` names, unless ``enabled`` tells.
        """
        if self.enabled is None and self.allow is not None:
            return True

        return super().is_on(app)


class Pages:
    """The page of one application, and its files.

    :param settings: The settings of the application.
    """

    def __init__(self, settings: ExplorerSettings) -> None:
        self._settings = settings

    def blueprint(self, errors: ErrorHandler) -> Blueprint:
        """Return the blueprint of the page.

        :param errors: Answers errors of the page.
        """
        blueprint = Blueprint(NAME, __package__, template_folder="templates")
        blueprint.before_request(self._refuse_if_off)
        blueprint.after_request(forbid_sniffing)
        blueprint.register_error_handler(Exception, errors.handle)
        blueprint.add_url_rule("/", "page", _send_page, strict_slashes=False)
        blueprint.add_url_rule("/files/<path:name>", "file", _send_file)
        blueprint.add_url_rule("/logins.json", "entrance", _send_entrance)
        blueprint.add_url_rule("/services.json", "services", self._send_services)
        return blueprint

    def _refuse_if_off(self) -> None:
        if not self._settings.is_on(current_app):
            abort(404)

    def _send_services(self, **route: t.Any) -> Response:
        params = params_of_visitor(request.headers)
        self._settings.check(params)
        return _json_for_caller(description_for(params, route))


def _send_page(**route: t.Any) -> ResponseReturnValue:
    # A path without the slash is not that of a folder, which the files are in.
    if not request.path.endswith("/"):
        # Quoted, it is no scheme.
        name = quote(request.path.rpartition("/")[2], safe="")
        return redirect(f"{name}/", 308)

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
    return _json_for_caller(entrance(route))


def _json_for_caller(value: t.Any) -> Response:
    """Return JSON for one caller, which nobody keeps."""
    response = json_response(dumps(value), 200)
    response.headers["Cache-Control"] = "no-store"
    vary(response.headers, CALLER)
    return response


def _names(*patterns: str) -> list[str]:
    """Return the names of files of the page, which match patterns."""
    found = [path for pattern in patterns for path in sorted(FILES.glob(pattern))]
    return [path.relative_to(FILES).as_posix() for path in found]
