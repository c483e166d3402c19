"""Errors, turned into responses and log entries."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

from flask import current_app
from flask import got_request_exception
from flask import make_response
from flask import render_template
from flask import request
from flask import Response
from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import NotFound as UnknownURL

from ..errors import is_answer
from ..errors import NotFound
from ..errors import RecordsError
from ..errors import to_records_error
from ..query.redaction import without_parameters
from .formatter import dumps
from .formatter import json_response
from .headers import forbid_sniffing

if t.TYPE_CHECKING:
    from flask import Flask
    from flask.typing import ResponseReturnValue

    from ..typing import ErrorPages

TITLES: t.Final = {401: "Not Authorized", 404: "Page Not Found"}
"""The titles of pages by status. Other pages have the name of the error."""

TEMPLATES: t.Final = {
    401: "flask_records/401.html",
    404: "flask_records/404.html",
}
"""The templates of pages by status. Templates of an application of these names
override them.
"""

OTHER_TEMPLATE: t.Final = "flask_records/error.html"


class Logger(t.Protocol):
    """A logger of errors, for example one of the standard library."""

    def error(self, message: str, *args: t.Any, **options: t.Any) -> None:
        """Log an error, with its traceback in ``exc_info``."""


class ErrorHandler:
    """Turns errors into responses, and logs those of the server. See section 7 of the
    specification.

    :param html: A function that returns the page of an error, the paths of HTML files
        by status, or ``False`` for JSON only. The pages of the extension by default.
    :param logger: The logger of server errors, or ``False`` for none. The logger of the
        application by default.
    """

    def __init__(
        self,
        html: ErrorPages = None,
        logger: Logger | t.Literal[False] | None = None,
        verbose: bool = False,
    ) -> None:
        self._html = html
        self._logger = logger
        self._verbose = verbose

    def handle(self, error: Exception) -> ResponseReturnValue:
        """Return the response to any error of a request, as :meth:`report` shows it."""
        if is_answer(error):
            return t.cast(HTTPException, error)

        failure = "%s %r failed."
        return self.answer(self.report(error, failure, request.method, request.path))

    def report(self, error: Exception, failure: str, *args: t.Any) -> RecordsError:
        """Return an error as the client of any transport sees it. An error of the
        server is logged with its traceback.
        """
        app = _current_app()
        visible = to_records_error(error, debug=app.debug)

        if visible.code is None or visible.code >= 500:
            got_request_exception.send(app, exception=error)

            if self._logger is not False:
                logger = app.logger if self._logger is None else self._logger
                logger.error(failure, *args, exc_info=_traceback(error))

        return visible

    def handle_http_error(self, error: HTTPException) -> ResponseReturnValue:
        """Return the response to an HTTP error of the application itself. That to an
        unknown URL names it.
        """
        if error is request.routing_exception and isinstance(error, UnknownURL):
            return self.answer(self._not_found())

        # Flask has logged the error that it wraps.
        if getattr(error, "original_exception", None) is not None:
            return self.answer(to_records_error(error))

        return self.handle(error)

    def answer(self, error: RecordsError) -> Response:
        """Return the response to an error as the client sees it."""
        response = self._page(error) if self._wants_html() else _json(error)
        headers = response.headers

        if error.headers:
            headers.update(error.headers)

        headers.add("Vary", "Accept")

        if error.code == 401:
            headers.setdefault("WWW-Authenticate", "Bearer")

        return forbid_sniffing(response)

    def _not_found(self) -> NotFound:
        query = request.query_string.decode("utf-8", "replace")
        url = f"{request.path}?{query}" if query else request.path
        message = f"Page not found: {url}" if self._verbose else "Page not found"
        return NotFound(message, data={"url": url})

    def _wants_html(self) -> bool:
        environ = request.environ
        types = f"{environ.get('CONTENT_TYPE', '')} {environ.get('HTTP_ACCEPT', '')}"
        return self._html is not False and "json" not in types and "html" in types

    def _page(self, error: RecordsError) -> Response:
        code = error.code or 500

        if callable(self._html):
            page = self._html(error)
            return make_response((page, code) if isinstance(page, str) else page)

        if isinstance(self._html, Mapping):
            path = self._html.get(code)

            if path is not None:
                return Response(
                    Path(path).read_text(encoding="utf-8"), code, mimetype="text/html"
                )

        title = TITLES.get(code) or _words(error.name)
        page = render_template(
            TEMPLATES.get(code, OTHER_TEMPLATE), error=error, code=code, title=title
        )
        return Response(page, code, mimetype="text/html")


def _current_app() -> Flask:
    return t.cast("Flask", current_app._get_current_object())  # type: ignore[attr-defined]  # a proxy has it


def _json(error: RecordsError) -> Response:
    return json_response(dumps(error.to_dict()), error.code or 500)


def _words(name: str) -> str:
    return "".join(
        f" {letter}" if letter.isupper() else letter for letter in name
    ).strip()


def _traceback(error: Exception) -> t.Any:
    return (type(error), without_parameters(error), error.__traceback__)
