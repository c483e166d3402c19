"""The WSGI servers that can hold connections."""

from __future__ import annotations

import logging
import os
import socket
import sys
import typing as t

if t.TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

logger = logging.getLogger(__package__)

SOCKETS: t.Final = ("gunicorn.socket", "werkzeug.socket", "gunicorn.sock")
"""The keys of a request under which servers keep its socket."""

WITHOUT_WEBSOCKETS: t.Final = {
    "granian.wsgi": "granian",
    "uvicorn.middleware.wsgi": "uvicorn",
    "waitress.server": "waitress",
}
"""The servers that give WSGI applications no sockets: their modules and names."""


def socket_of(environ: WSGIEnvironment) -> socket.socket | None:
    """Return the socket of a request, or ``None`` if the server does not provide it.

    :param environ: The request.
    """
    for name in SOCKETS:
        if name in environ:
            return t.cast(socket.socket, environ[name])

    if environ.get("SERVER_SOFTWARE", "").startswith("gevent/"):
        # The server of gevent keeps it in the body, which may be wrapped.
        body = environ["wsgi.input"]
        reader = getattr(body, "rfile", body)
        return getattr(getattr(reader, "raw", None), "_sock", None)

    return None


def warn_about_server() -> None:
    """Warn if the server that loads the application cannot hold connections."""
    if os.environ.get("SERVER_SOFTWARE", "").startswith("gunicorn/"):
        if "gunicorn.workers.sync" in sys.modules:
            logger.warning(
                "Clients cannot connect: a sync worker answers one request at a time."
                " Start gunicorn with '-k gthread --threads 100' or '-k gevent'."
            )

        return

    for module, name in WITHOUT_WEBSOCKETS.items():
        if module in sys.modules:
            logger.warning(
                "Clients cannot open WebSockets: %s has none for WSGI applications."
                " Start gunicorn with '-k gthread --threads 100' or '-k gevent'.",
                name,
            )
