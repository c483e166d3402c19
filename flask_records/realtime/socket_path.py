"""The path of connections, which has the scripts of the Socket.IO client, too."""

from __future__ import annotations

import logging
import typing as t
from pathlib import Path

from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.utils import send_from_directory

from ..errors import BadRequest
from ..http.error_handler import body_of
from ..http.formatter import dumps
from ..http.headers import NO_SNIFFING

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask import Flask

    from .settings import Settings

logger = logging.getLogger(__package__)

FOLDER: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the scripts."""

FILES: t.Final = {
    "socket.io.js": "socket.io.min.js",
    "socket.io.min.js": "socket.io.min.js",
}
"""The scripts by the names that Socket.IO has for them."""

LEGACY_FILES: t.Final = {
    **FILES,
    # Clients of FeathersJS 4 insist on version 2, and those of version 5 take it.
    "socket.io.js": "socket.io-2.min.js",
    "socket.io.slim.js": "socket.io-2.min.js",
}
"""The same for pages with clients of Socket.IO 2, which has no minified script."""

NO_CONNECTIONS: t.Final = (
    "This server holds no connections. Real time needs an ASGI server, such as"
    " gunicorn -k asgi, that serves realtime.asgi(app)."
)


class SocketPath:
    """Answers requests for scripts of the client. Refuses clients that connect: only a
    WSGI server lets their requests reach the application.

    :param app: The application, whose other requests are passed on.
    """

    def __init__(self, app: Flask, settings: Settings) -> None:
        self._app = app
        self.wsgi_app = app.wsgi_app
        """Answers all other requests."""
        self._path = settings.url_path
        self._files = LEGACY_FILES if settings.legacy_clients else FILES
        self._has_warned = False

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request."""
        folder, _, name = environ.get("PATH_INFO", "").rpartition("/")

        if f"{folder}/" == self._path and name:
            return self._send(name, environ, start_response)

        if self._path in (f"{folder}/", f"{folder}/{name}/"):
            return self._refuse(start_response)

        return self.wsgi_app(environ, start_response)

    def _send(
        self, name: str, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Send a script. Clients may keep it, and ask each time if it has changed."""
        try:
            if name not in self._files:
                names = ", ".join(self._files)
                raise NotFound(f"There is no '{name}'. Load one of: {names}.")

            if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
                raise MethodNotAllowed(["GET", "HEAD"])

            response = send_from_directory(
                FOLDER,
                self._files[name],
                environ,
                mimetype="text/javascript",
                max_age=None,
            )
        except HTTPException as error:
            return error(environ, start_response)

        response.headers.add(*NO_SNIFFING)
        return response(environ, start_response)

    def _refuse(self, start_response: StartResponse) -> Iterable[bytes]:
        if not self._has_warned:
            self._has_warned = True
            logger.warning("A client can't connect. %s", NO_CONNECTIONS)

        with self._app.app_context():
            body = dumps(body_of(BadRequest(NO_CONNECTIONS)))

        headers = [("Content-Type", "application/json"), NO_SNIFFING]
        start_response("400 BAD REQUEST", headers)
        return [body]
