"""The OpenAPI document of an application over HTTP, and the page that shows it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

from flask import (
    current_app,
    make_response,
    render_template,
    request,
    send_from_directory,
    url_for,
)

from ..authentication.access import params_of_visitor
from ..globals import current_records
from ..http.developer_pages import (
    page_blueprint,
    PageSettings,
    PATH,
    protect,
    send_json,
)
from ..http.routes import current_routes
from ..settings import FLAG, TEXT

if t.TYPE_CHECKING:
    from flask import Blueprint, Flask, Response
    from flask.typing import ResponseReturnValue

    from ..context import Params
    from ..http.error_handler import ErrorHandler
    from ..http.routes import Routes

SETTING: t.Final = "RECORDS_OPENAPI"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_openapi"
"""The name of the blueprint, and the key of ``app.extensions`` with the settings."""

FILES: t.Final = Path(__file__).parent / "static"
"""The folder of the files of the page."""


@dataclass(frozen=True, kw_only=True)
class ReferenceSettings(PageSettings):
    """The settings of an application: ``RECORDS_OPENAPI``."""

    document: str = "/openapi.json"
    """The path of the OpenAPI document, below the prefix of services."""

    page: str = "/docs"
    """The path of the page that shows the OpenAPI document."""

    title: str | None = None
    """The title of the document. The name of the application by default."""

    version: str = "1"
    """The version of the document."""

    forms: bool = False
    """``True`` to name the media types of bodies beside JSON, too."""

    CHECKS = {
        **PageSettings.CHECKS,
        "document": PATH,
        "page": PATH,
        "title": TEXT.or_none(),
        "version": TEXT,
        "forms": FLAG,
    }


def init_app(app: Flask, routes: Routes, errors: ErrorHandler) -> None:
    """Add the document and the page to an application that may have them.

    :param errors: Answers errors of these.
    :raises RuntimeError: A setting is not valid.
    """
    settings = ReferenceSettings.of(app.config.get(SETTING), SETTING)
    app.extensions[NAME] = settings

    if settings.document == settings.page:
        raise RuntimeError(f"{SETTING} has the same path twice: {settings.page!r}.")

    if settings.is_on(app):
        routes.add_pages(app, Reference(settings).blueprint(errors), SETTING)


def current_settings() -> ReferenceSettings:
    """Return the settings of the current application."""
    return t.cast("ReferenceSettings", current_app.extensions[NAME])


class Reference:
    """The document and the page of one application."""

    def __init__(self, settings: ReferenceSettings) -> None:
        self._settings = settings
        self._bodies: dict[str, bytes] = {}

    def blueprint(self, errors: ErrorHandler) -> Blueprint:
        """Return the blueprint of the views and of the files of the page.

        :param errors: Answers errors of these.
        """
        blueprint = page_blueprint(NAME, __package__, errors)
        blueprint.add_url_rule(
            self._settings.document,
            "document",
            self._send_document,
            strict_slashes=False,
        )
        blueprint.add_url_rule(
            self._settings.page, "page", self._send_page, strict_slashes=False
        )
        blueprint.add_url_rule("/flask_records/openapi/<path:name>", "file", _send_file)
        return blueprint

    def _send_document(self, **route: t.Any) -> ResponseReturnValue:
        is_own, settings = request.args.get("for") == "me", self._settings

        if is_own or settings.needs_login:
            params = params_of_visitor(request.headers)
            settings.check(params)

        return send_json(_document_of(params) if is_own else self._document_of_all())

    def _document_of_all(self) -> bytes:
        """Return the document as anonymous clients may see it, which is made once for
        each path of the application on its server.
        """
        root = request.script_root

        if root not in self._bodies:
            self._bodies[root] = _document_of(None)

        return self._bodies[root]

    def _send_page(self, **route: t.Any) -> ResponseReturnValue:
        page = render_template(
            "flask_records/reference.html",
            route=route,
            login=_login(route),
            has_logins=bool(current_records.authentications),
        )
        return protect(make_response(page))


def _document_of(params: Params | None) -> bytes:
    """Return the document of what a caller may use, or of all without a caller."""
    # Applications without the page do not need it.
    from .document import document_text

    return document_text(params)


def _send_file(name: str, **route: t.Any) -> Response:
    return send_from_directory(FILES, name)


def _login(route: dict[str, t.Any]) -> dict[str, str] | None:
    """Return the address and the fields of logins with a password, if there are any.

    :param route: The values of placeholders in the prefix of services.
    """
    for path, issuer in current_records.authentications.items():
        fields = issuer.login_fields

        if fields is not None:
            url = url_for(current_routes().endpoint_of(path), **route)
            return {"url": url, **fields}

    return None
