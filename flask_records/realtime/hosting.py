"""The WSGI server that holds the connections."""

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
"""The keys of a request that servers keep its socket under."""

WITHOUT_WEBSOCKETS: t.Final = {
    "granian.wsgi": "granian",
    "uvicorn.middleware.wsgi": "uvicorn",
    "waitress.server": "waitress",
}
"""The modules of servers that give no socket to WSGI applications, and their names."""


def socket_of(environ: WSGIEnvironment) -> socket.socket | None:
    """Return the socket that a request came from, if the server tells it.

    :param environ: The request.
    """
    for name in SOCKETS:
        if name in environ:
            return t.cast(socket.socket, environ[name])

    if environ.get("SERVER_SOFTWARE", "").startswith("gevent/"):
        # Its own server has it behind the body, which may be wrapped.
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
