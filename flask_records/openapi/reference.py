"""The OpenAPI document of an application over HTTP, and the page that shows it."""

from __future__ import annotations

import hashlib
import typing as t
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock

from flask import (
    Blueprint,
    make_response,
    render_template,
    request,
    send_from_directory,
    url_for,
)
from werkzeug.http import generate_etag, quote_etag

from ..authentication.visitors import params_of_visitor
from ..context import Params
from ..errors import BadRequest
from ..globals import current_records
from ..http.blueprint import current_request
from ..http.developer_pages import PageSettings, PATH, protect
from ..http.formatter import dumps, empty, json_response
from ..http.headers import CALLER, forbid_sniffing, vary
from ..http.routes import current_routes
from .description import describe
from .document import document_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from flask import Flask, Response
    from flask.typing import ResponseReturnValue

    from ..http.error_handler import ErrorHandler
    from ..http.routes import Routes
    from .description import ServiceDescription

SETTING: t.Final = "RECORDS_OPENAPI"
"""The key of ``app.config`` that has the settings of an application."""

NAME: t.Final = "records_openapi"
"""The name of the blueprint."""

FILES: t.Final = Path(__file__).parent / "static"
"""The folder of the files of the page."""

VERBS: t.Final = ("GET", "HEAD", "OPTIONS")

ANONYMOUS: t.Final = Params(provider="rest")
"""The params of a caller without a login."""

MAX_DOCUMENTS: t.Final = 16
"""The number of documents that an application keeps."""


@dataclass(frozen=True, kw_only=True)
class ReferenceSettings(PageSettings):
    """The settings of an application: ``RECORDS_OPENAPI``."""

    document: str = "/openapi.json"
    """The path of the OpenAPI document, below the prefix of services."""

    page: str = "/docs"
    """The path of the page that shows the OpenAPI document."""

    CHECKS = {**PageSettings.CHECKS, "document": PATH, "page": PATH}


def init_app(app: Flask, routes: Routes, errors: ErrorHandler) -> None:
    """Add the document and the page to an application that may have them.

    :param errors: Answers errors of these.
    :raises RuntimeError: A setting is not valid.
    """
    settings = ReferenceSettings.of(app.config.get(SETTING), SETTING)

    if settings.document == settings.page:
        raise RuntimeError(f"{SETTING} has the same path twice: {settings.page!r}.")

    if settings.is_on(app):
        routes.add_pages(app, Reference(settings).blueprint(errors), SETTING)


@dataclass(frozen=True)
class SentDocument:
    """A document as it is sent."""

    body: bytes
    """Its text."""

    etag: str
    """The ``ETag`` of its text."""


class Documents:
    """The OpenAPI documents of one application, each made once for all callers with the
    same rights.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, SentDocument] = {}
        self._lock = Lock()

    def of_all(self, root: str) -> SentDocument:
        """Return the document of all services, as anonymous clients may see it.

        :param root: The path of the application on its server.
        """
        return self._document((root, None), root, partial(describe, ANONYMOUS))

    def of_caller(self, root: str, params: Params) -> SentDocument:
        """Return the document of what one caller may use.

        :param root: The path of the application on its server.
        :param params: The params of the caller, with its login.
        """
        services = describe(params, only_usable=True)
        rights = hashlib.sha256()

        # Only its schemas tell all that a caller may see.
        for each in services:
            own = each.path, each.methods, each.schemas, [*each.events]
            rights.update(repr(own).encode())

        return self._document((root, rights.digest()), root, lambda: services)

    def _document(
        self,
        key: Hashable,
        root: str,
        services: Callable[[], Iterable[ServiceDescription]],
    ) -> SentDocument:
        """Return the document of a key, which one thread makes.

        :param services: Returns the services in it.
        """
        with self._lock:
            if key not in self._made:
                made = document_of(services())
                body = dumps({**made, "servers": [{"url": root or "/"}]})
                etag = quote_etag(generate_etag(body), weak=True)

                if len(self._made) >= MAX_DOCUMENTS:
                    self._made.clear()

                self._made[key] = SentDocument(body, etag)

            return self._made[key]


class Reference:
    """The document and the page of one application."""

    def __init__(self, settings: ReferenceSettings) -> None:
        self._settings = settings
        self._documents = Documents()

    def blueprint(self, errors: ErrorHandler) -> Blueprint:
        """Return the blueprint of the views and of the files of the page.

        :param errors: Answers errors of these.
        """
        blueprint = Blueprint(NAME, __package__, template_folder="templates")
        settings = self._settings
        blueprint.after_request(forbid_sniffing)
        blueprint.register_error_handler(Exception, errors.handle)

        for path, name, view in (
            (settings.document, "document", self._send_document),
            (settings.page, "page", self._send_page),
        ):
            blueprint.add_url_rule(
                path,
                name,
                view,
                methods=VERBS,
                strict_slashes=False,
                provide_automatic_options=False,
            )

        blueprint.add_url_rule("/flask_records/openapi/<path:name>", "file", _send_file)
        return blueprint

    def _send_document(self, **route: t.Any) -> ResponseReturnValue:
        if request.method == "OPTIONS":
            return _options()

        is_own = _is_for_caller()
        settings = self._settings
        root = request.script_root

        if is_own or settings.needs_login:
            params = params_of_visitor(request.headers)
            settings.check(params)

        documents = self._documents
        sent = documents.of_caller(root, params) if is_own else documents.of_all(root)
        response = json_response(sent.body, 200)
        response.headers.update(
            {"ETag": sent.etag, "Cache-Control": "private, no-cache"}
        )
        vary(response.headers, CALLER)
        return response.make_conditional(current_request())

    def _send_page(self, **route: t.Any) -> ResponseReturnValue:
        if request.method == "OPTIONS":
            return _options()

        page = render_template(
            "flask_records/reference.html",
            route=route,
            login=_login(route),
            has_logins=bool(current_records.authentications),
        )
        return protect(make_response(page))


def _is_for_caller() -> bool:
    """Return whether the document of what the caller may use is asked for.

    :raises BadRequest: The query asks for something else.
    """
    for name, values in request.args.lists():
        if (name, values) != ("for", ["me"]):
            raise BadRequest(f"The query takes 'for=me', not '{name}={values[0]}'.")

    return bool(request.args)


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


def _options() -> Response:
    response = empty()
    response.headers["Allow"] = ", ".join(VERBS)
    return response
