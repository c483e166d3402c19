"""Errors, turned into responses and log entries."""

from __future__ import annotations

import re
import time
import typing as t
from collections.abc import Mapping
from pathlib import Path

from flask import (
    current_app,
    got_request_exception,
    make_response,
    render_template,
    request,
    Response,
)
from werkzeug.exceptions import default_exceptions, HTTPException
from werkzeug.exceptions import NotFound as UnknownURL

from ..database.database_errors import BUSY, unavailable
from ..errors import (
    is_answer,
    NotFound,
    RecordsError,
    to_records_error,
    Unavailable,
    without_parameters,
)
from ..settings import FLAG, read_settings
from .formatter import dumps, forbid_sniffing, json_response, vary

if t.TYPE_CHECKING:
    from flask import Blueprint, Flask
    from flask.typing import ResponseReturnValue

    from ..typing import ErrorPages

TITLES: t.Final = {401: "Not Authorized", 404: "Page Not Found"}
"""The titles of the pages that have their own template ``flask_records/<status>.html``.
All others share ``error.html``. Templates of an application of these names come first.
"""


SETTING: t.Final = "RECORDS_ERRORS"
"""The key of ``app.config`` that has the settings of an application."""


class Logger(t.Protocol):
    """A logger of errors, for example one of the standard library."""

    def error(self, message: str, *args: t.Any, **options: t.Any) -> None:
        """Log an error, with its traceback in ``exc_info``."""


class Outages(dict[str, float]):
    """The last times that reasons of outages were logged."""

    def is_due(self, reason: str) -> bool:
        """Return whether it is time to log a reason, which is each second."""
        now = time.monotonic()

        if now < self.get(reason, 0) + 1:
            return False

        # An application may raise an error with ever new messages.
        if len(self) >= 100:
            self.clear()

        self[reason] = now
        return True


class ErrorHandler:
    """Turns errors into responses, and logs errors of the server. See section 7 of the
    specification.
    """

    def __init__(
        self,
        html: ErrorPages,
        logger: Logger | t.Literal[False] | None,
        verbose: bool,
        app_errors: bool,
    ) -> None:
        self._html = html
        self._logger = logger
        self._verbose = verbose
        self._app_errors = app_errors
        self._outages = Outages()

    def init_app(self, app: Flask) -> None:
        """Check the setting of an application, and handle its errors."""
        settings, example = app.config.get(SETTING), {"codes": True}
        read_settings(SETTING, settings, {"codes": FLAG}, example=example)
        handlers = app.error_handler_spec[None][None]
        # Flask's own way would register it for the status of the base class alone.
        handlers[RecordsError] = self.handle

        if self._app_errors and HTTPException not in handlers:
            app.register_error_handler(HTTPException, self.handle_http_error)

    def register(self, blueprint: Blueprint) -> None:
        """Handle all errors of a blueprint."""
        # Flask asks the handlers that the application has for a status before the one
        # that a blueprint has for all errors.
        for code in (None, *default_exceptions):
            blueprint.error_handler_spec[None][code][Exception] = self.handle

    def handle(self, error: Exception) -> ResponseReturnValue:
        """Return the response to any error of a request, as :meth:`report` shows it."""
        if is_answer(error):
            return t.cast(HTTPException, error)

        # Flask has logged the error that it wraps.
        if getattr(error, "original_exception", None) is not None:
            return self.answer(to_records_error(error))

        failure = "%s %r failed."
        return self.answer(self.report(error, failure, request.method, request.path))

    def report(self, error: Exception, failure: str, *args: t.Any) -> RecordsError:
        """Return an error as clients see it. Log the server's with its traceback, but
        each reason why it is unavailable in one line a second.
        """
        reason = unavailable(error) or error
        visible = to_records_error(reason, debug=current_app.debug)

        if isinstance(visible, Unavailable):
            if self._outages.is_due(visible.message):
                args = *args, visible.message, line_of(visible.__cause__)
                # A call that others have hindered is not a fault of the server.
                level = "warning" if visible.message == BUSY.text else "error"
                self._log(visible, f"{failure} %s%s", *args, level=level)
        elif visible.code is None or visible.code >= 500:
            exc_info = type(error), without_parameters(error), error.__traceback__
            self._log(error, failure, *args, exc_info=exc_info)

        return visible

    def _log(
        self,
        error: Exception,
        text: str,
        *args: t.Any,
        level: str = "error",
        **options: t.Any,
    ) -> None:
        app = current_app._get_current_object()  # type: ignore[attr-defined]  # a proxy has it
        got_request_exception.send(app, exception=error)

        if self._logger is not False:
            logger = app.logger if self._logger is None else self._logger
            getattr(logger, level, logger.error)(text, *args, **options)

    def handle_http_error(self, error: HTTPException) -> ResponseReturnValue:
        """Return the response to an HTTP error of the application itself."""
        if error is request.routing_exception and isinstance(error, UnknownURL):
            return self.answer(self._not_found())

        return self.handle(error)

    def answer(self, error: RecordsError) -> Response:
        """Return the response to an error as the client sees it."""
        if self._wants_html():
            response = self._page(error)
        else:
            response = json_response(dumps(body_of(error)), error.code or 500)

        response.headers.update(error.headers or {})
        vary(response.headers, "Accept")

        if error.code == 401:
            response.headers.setdefault("WWW-Authenticate", "Bearer")

        return forbid_sniffing(response)

    def _not_found(self) -> NotFound:
        query = request.query_string.decode("utf-8", "replace")
        url = f"{request.path}?{query}" if query else request.path
        message = f"Page not found: {url}" if self._verbose else "Page not found"
        return NotFound(message, data={"url": url})

    def _wants_html(self) -> bool:
        environ = request.environ
        types = f"{environ.get('CONTENT_TYPE', '')} {environ.get('HTTP_ACCEPT', '')}"
        is_asked = self._html is not False and "json" not in types and "html" in types
        # A host that is not valid, or not trusted, has no address of a page's files.
        return is_asked and getattr(request.routing_exception, "code", None) != 400

    def _page(self, error: RecordsError) -> Response:
        code = error.code or 500
        path = self._html.get(code) if isinstance(self._html, Mapping) else None

        if callable(self._html):
            page = self._html(error)

            if not isinstance(page, str):
                return make_response(page)
        elif path is not None:
            page = Path(path).read_text(encoding="utf-8")
        else:
            template = f"flask_records/{code if code in TITLES else 'error'}.html"
            title = TITLES.get(code) or re.sub(r"\B(?=[A-Z])", " ", error.name)
            page = render_template(template, error=error, code=code, title=title)

        return Response(page, code, mimetype="text/html")


def body_of(error: RecordsError) -> dict[str, t.Any]:
    """Return the body of an error as the current application sends it."""
    settings = current_app.config.get(SETTING) or {}
    return error.to_dict(codes=settings.get("codes", False))


def line_of(error: BaseException | None) -> str:
    """Return the first line of an error for the log, without what was sent."""
    if error is None:
        return ""

    cause = without_parameters(getattr(error, "orig", None) or error)
    line, _, _ = str(cause).partition("\n")
    return f" ({type(cause).__name__}: {line})"
